/*
 * The runs of one machine in time: which of its figures changed, which drifted, and whether the
 * machine itself moved. A figure is the median over rounds of a row that gates (of work, bandwidth,
 * latency), a run is one value of it. Pure apart from allocation.
 *
 *   rc = history_add_run(&history, &run, &at, &err);
 *   rc = history_add(&history, &figure, at, value, &err);      each figure of that run
 *   rc = history_judge(&history, &options, &findings, &err);
 *
 * Of a whole history in which nothing changes the chance of any finding that one did is
 * HISTORY_ERROR, shared out over the figures (Bonferroni; Dunn 1961). Rows of the canary are looked
 * at with that error each. What they moved by over the same runs, in the same direction, is the
 * machine's and no verdict on what was measured (history_moved.h).
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

/* The machine may be seen to move a run or two from where what it carries is seen to. */
enum { HISTORY_NEAR_RUNS = 2 };

struct history_run {
    char started[32]; /* UTC, ISO 8601: what runs are sorted by, then by their id */
    char run_id[64];
    char commit[48]; /* of the program that measured; "" = not known */
    uint32_t added;  /* by history_add_run: which it was */
};

/* What a figure is of; texts are copied. */
struct history_figure {
    const char *arm;    /* for people: "pipeline, none, 2 workers" */
    const char *params; /* and this tells it from others: scenario, device, params as in rows.csv */
    const char *metric, *unit, *better;
    bool canary;
};

struct history_series {
    char *arm, *params, *metric, *unit, *better; /* owned, in one piece that begins with arm */
    bool canary;
    size_t n, capacity;
    struct history_point {
        uint32_t run;
        double value;
    } * point;              /* owned; in the order of the runs after history_judge */
    struct changes found;   /* all that were, steps also where a drift is told in their place */
    struct changes changes; /* what of it is told; `at` is of points, not of runs */
    struct change lost;     /* of the best level, at the end: changes_lost; ratio 1 = nothing */
};

/* Zeroed = empty. */
struct history {
    size_t nruns, runs_capacity;
    struct history_run *runs; /* owned; in the order of time after history_judge */
    size_t nseries, series_capacity;
    struct history_series **series; /* owned, in the order in which they came */
    void *by_name;                  /* of tsearch */
    double threshold;               /* of history_judge's options, as a logarithm */
};

struct history_options {
    double threshold; /* relative: what is nearer to the level before it, and to the one told last,
                         is not told */
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
/* What its arm and params are there; both of ROW_PARAMS_MAX bytes. */
void history_name(const struct row *row, char arm[static ROW_PARAMS_MAX],
                  char params[static ROW_PARAMS_MAX]);

/*
 * Sorts runs and points, finds the changes, and says them: of each figure its last one, or its
 * drift, as SLOWER or FASTER (UNCLEAR where the canary moved too), earlier ones as notes, and one
 * of the whole. A change for the better after which the figure is still worse than at its best is
 * SLOWER, and one that only brings it back to where it began is neither; so with a drift. Figures
 * of fewer than CHANGES_RUNS runs are counted by themselves; where all are, it is UNCLEAR.
 * findings_free also after an error: -ENOMEM.
 */
int history_judge(struct history *history, const struct history_options *options,
                  struct findings *findings, struct err *err);

/* Whether the change made it worse. */
bool history_is_worse(const struct history_series *series, const struct change *change);

/* Whether it has the runs that a change needs; of a canary, never a figure. */
bool history_is_tested(const struct history_series *series);

/* How many figures ended so. */
size_t history_count(const struct findings *findings, enum finding_outcome outcome);

#endif
