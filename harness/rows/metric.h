/*
 * The metrics that rows carry: name, unit, which way is better, and how one round gives a value.
 * Adding one is a line in metric.c.
 */
#ifndef CONTEND_ROWS_METRIC_H
#define CONTEND_ROWS_METRIC_H

#include <stdbool.h>
#include <stddef.h>

#include "harness/rows/rounds.h"

struct metric_info {
    const char *name;
    const char *unit; /* NULL: the benchmark's ops_unit per second */
    const char *better;
    enum baseline baseline; /* what the value compares with, round by round */
    /* Either the field of struct round_fields at `offset`, or: */
    double (*value)(const struct round_fields *own, const struct round_fields *base, double slices);
    size_t offset;
    const char *absent; /* reason of a skipped row where no round has a value; NULL = no row */
    bool is_step_time;  /* p95, p99, min, max and `samples` come from all samples */
    bool gating;        /* a comparison of results may fail on it; as in struct bench_metric */
    bool is_loss;       /* all of these report the round of the median loss, so that they add up */
};

/* The sum of the metrics with `is_loss`. */
#define METRIC_LOSS "loss_per_step"

/* Benchmarks with stages have it at stage=NAME: together a step. */
#define METRIC_STAGE "stage_time"

/* Counted in a round, of the worker that finished the fewest. */
#define METRIC_STEPS "round_steps"
#define METRIC_DOSE "dose" /* the level that was held */

/* Work done per second by all workers. */
#define METRIC_RATE "throughput"

/* The headline: how many times less that is than the best placement's, round by round. */
#define METRIC_VS_BEST "throughput_vs_best"

/* In the order of rows.csv; ends with name NULL. */
extern const struct metric_info metrics[];

/* NULL where there is no such metric. */
const struct metric_info *metric_find(const char *name);

/*
 * NaN where the round, or its baseline, does not know. `base` may be NULL without a baseline;
 * `slices` is that of struct arm_rounds.
 */
double metric_value(const struct metric_info *metric, const struct round_fields *own,
                    const struct round_fields *base, double slices);

#endif
