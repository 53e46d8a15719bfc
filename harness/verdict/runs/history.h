/*
 * The runs of one machine over time: which of its figures changed, and whether the machine itself
 * changed. A figure is the median over rounds of a gating row (throughput, bandwidth, latency), one
 * value per run. changes.h finds the levels of this series with the test of evidence.h. Pure
 * apart from allocation.
 *
 *   rc = history_add_run(&history, &run, &at, &err);
 *   rc = history_add(&history, &figure, at, value, &err);      each figure of that run
 *   rc = history_judge(&history, threshold, &findings, &err);
 *
 * The outcome compares the last level with the best level before it: SLOWER if it is worse,
 * regardless of the levels between. Otherwise with the first level: FASTER. UNCLEAR if the
 * control's level changed in the same direction meanwhile, by at least a third as much: the machine
 * itself may be the cause.
 *
 * If nothing changes in a whole history, the chance of any finding of a change is HISTORY_ERROR.
 * The figures share it (Bonferroni; Dunn 1961). Each control has an error of its own.
 */
#ifndef CONTEND_VERDICT_RUNS_HISTORY_H
#define CONTEND_VERDICT_RUNS_HISTORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "harness/lib/finding.h"
#include "harness/record/row.h"
#include "harness/verdict/runs/changes.h"

#define HISTORY_ERROR 0.01

struct history_run {
    char started[32]; /* UTC, ISO 8601: sorts the runs, before run_id */
    char run_id[64];
    char commit[48]; /* of the program that measured; "" = unknown */
    uint32_t added;  /* set by history_add_run: its number */
};

/* Identifies the figure of a series. */
struct history_figure {
    char arm[ROW_PARAMS_MAX];        /* to print: "pipeline, none, 2 workers" */
    char params[2 * ROW_PARAMS_MAX]; /* makes it unique: scenario, device, params */
    char metric[64], unit[32], better[8];
    bool is_control;
};

struct history_series {
    struct history_figure figure;
    size_t n, capacity;
    struct history_point {
        uint32_t run;
        double value;
    } * point;              /* owned; ordered by run after history_judge */
    struct changes changes; /* `at` is an index of points, not of runs */
};

/* Zeroed = empty. */
struct history {
    size_t nruns, runs_capacity;
    struct history_run *runs; /* owned; ordered by time after history_judge */
    size_t nseries, series_capacity;
    struct history_series *series; /* owned; in the order of addition */
    double threshold;              /* of history_judge, as a logarithm */
};

/* Free with history_free, also after an error: -ENOMEM only. */
int history_add_run(struct history *history, const struct history_run *run, uint32_t *at,
                    struct err *err);
/* True if a run with this id was added: the same run may be found twice. */
bool history_has_run(const struct history *history, const char *run_id);
/* `value` > 0; other values have no ratio, and are ignored. */
int history_add(struct history *history, const struct history_figure *figure, uint32_t run,
                double value, struct err *err);
void history_free(struct history *history);

/* True if the row is a figure of a history: it gates, or is a control. */
bool history_takes(const struct row *row);
/* Fills the figure that the row belongs to. */
void history_name(const struct row *row, struct history_figure *figure);

/*
 * Sorts runs and points, finds the changes, and reports them. Findings: "history_change", the
 * outcome of a figure; "history_step", a note for each of several steps; "history_canary", a change
 * of a control; "history", one for the whole. Changes below `threshold` (relative) are not
 * reported. Figures of fewer than CHANGES_RUNS runs are only counted; if no figure has more, the
 * whole is UNCLEAR. Call findings_free also after an error: -ENOMEM.
 */
int history_judge(struct history *history, double threshold, struct findings *findings,
                  struct err *err);

/* True if the change made the figure worse. */
bool history_is_worse(const struct history_series *series, const struct change *change);

/* The number of figures with this outcome. */
size_t history_count(const struct findings *findings, enum finding_outcome outcome);

#endif
