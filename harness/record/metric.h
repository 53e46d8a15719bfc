/*
 * The metrics that rows carry: name, unit, which way is better, and how one round gives a value.
 * Adding one is a line in metric.c.
 */
#ifndef CONTEND_RECORD_METRIC_H
#define CONTEND_RECORD_METRIC_H

#include <stdbool.h>
#include <stddef.h>

#include "harness/record/rounds.h"

struct metric_info {
    const char *name;
    const char *unit; /* NULL: the benchmark's ops_unit per second */
    const char *better;
    enum baseline baseline; /* what the value compares with, round by round */
    /* Computes the value; NULL: it is the field of struct round_fields at `offset`. */
    double (*value)(const struct round_fields *own, const struct round_fields *base, double slices);
    size_t offset;
    const char *absent; /* reason of the skipped row if no round has a value; NULL = no row */
    bool is_step_time;  /* p95, p99, min, max and `samples` come from all samples */
    bool gating;        /* a comparison of results may fail on it; as in struct bench_metric */
    bool is_loss;       /* reports the round of the median loss, so that losses add up */
};

/* The total loss; the other metrics with `is_loss` are parts of it. */
#define METRIC_LOSS "loss_per_step"

/* One value per stage of a benchmark, with the key stage=NAME. The stages make up a step. */
#define METRIC_STAGE "stage_time"

/* Steps in a round of the worker that finished the fewest. */
#define METRIC_STEPS "round_steps"
#define METRIC_DOSE "dose" /* the level of contention that was held */

/* Work done per second by all workers. */
#define METRIC_RATE "throughput"

/* The headline: throughput of the best placement / own throughput, round by round. */
#define METRIC_VS_BEST "throughput_vs_best"

/* In the order of rows.csv; ends with name NULL. */
extern const struct metric_info metrics[];

/* NULL if there is no such metric. */
const struct metric_info *metric_find(const char *name);

/*
 * The metric's value in a round; NaN if the round or its baseline lacks it. `base` NULL = the round
 * has no baseline. `slices` is that of struct arm_rounds.
 */
double metric_value(const struct metric_info *metric, const struct round_fields *own,
                    const struct round_fields *base, double slices);

#endif
