/*
 * The runs of one machine in time: which of its figures changed, and whether the machine itself
 * moved. A figure is the median over rounds of a row that gates (of work, bandwidth, latency), a
 * run is one value of it: a series, in which changes.h finds levels by the test of run_spread.h.
 * Pure apart from allocation.
 *
 *   rc = history_add_run(&history, &run, &at, &err);
 *   rc = history_add(&history, &figure, at, value, &err);      each figure of that run
 *   rc = history_judge(&history, threshold, &findings, &err);
 *
 * How a figure ended is its last level against the best before it: SLOWER where it is worse,
 * whatever came between. Else its last level against the first one: FASTER. Where the canary's
 * level moved in the same direction meanwhile, by a third of that or more, the machine itself may
 * be why: UNCLEAR.
 *
 * Of a whole history in which nothing changes the chance of any finding that one did is
 * HISTORY_ERROR, shared out over the figures (Bonferroni; Dunn 1961); canaries have that error
 * each.
 */
#ifndef CONTEND_VERDICT_RUNS_HISTORY_H
#define CONTEND_VERDICT_RUNS_HISTORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "harness/contract/finding.h"
#include "harness/rows/row.h"
#include "harness/verdict/runs/changes.h"

#define HISTORY_ERROR 0.01

struct history_run {
    char started[32]; /* UTC, ISO 8601: what runs are sorted by, then by their id */
    char run_id[64];
    char commit[48]; /* of the program that measured; "" = not known */
    uint32_t added;  /* by history_add_run: which it was */
};

/* The figure of a series. */
struct history_figure {
    char arm[ROW_PARAMS_MAX];        /* for people: "pipeline, none, 2 workers" */
    char params[2 * ROW_PARAMS_MAX]; /* and this tells it from others: scenario, device, params */
    char metric[64], unit[32], better[8];
    bool canary;
};

struct history_series {
    struct history_figure figure;
    size_t n, capacity;
    struct history_point {
        uint32_t run;
        double value;
    } * point;              /* owned; in the order of the runs after history_judge */
    struct changes changes; /* `at` is of points, not of runs */
};

/* Zeroed = empty. */
struct history {
    size_t nruns, runs_capacity;
    struct history_run *runs; /* owned; in the order of time after history_judge */
    size_t nseries, series_capacity;
    struct history_series *series; /* owned, in the order in which they came */
    double threshold;              /* of history_judge, as a logarithm */
};

/* Free with history_free, also after an error: -ENOMEM only. */
int history_add_run(struct history *history, const struct history_run *run, uint32_t *at,
                    struct err *err);
/* Whether a run of that id was added: one may be found twice. */
bool history_has_run(const struct history *history, const char *run_id);
/* `value` > 0; others have no ratio, and are left out. */
int history_add(struct history *history, const struct history_figure *figure, uint32_t run,
                double value, struct err *err);
void history_free(struct history *history);

/* Whether a row is a figure of a history: it gates, or is about the machine itself. */
bool history_takes(const struct row *row);
/* Which one it is. */
void history_name(const struct row *row, struct history_figure *figure);

/* Runs and points by time; history_judge does it. -ENOMEM only. */
int history_sort(struct history *history, struct err *err);

/*
 * Sorts runs and points, finds the changes, and says them: of each figure how it ended,
 * "history_change", the steps on the way as notes, "history_step", and one finding of the whole,
 * "history". What is nearer than `threshold` (relative) is not told. Figures of fewer than
 * CHANGES_RUNS runs are counted by themselves; where all are, it is UNCLEAR. findings_free also
 * after an error: -ENOMEM.
 */
int history_judge(struct history *history, double threshold, struct findings *findings,
                  struct err *err);

/* Whether the change made it worse. */
bool history_is_worse(const struct history_series *series, const struct change *change);

/* How many figures ended so. */
size_t history_count(const struct findings *findings, enum finding_outcome outcome);

#endif
