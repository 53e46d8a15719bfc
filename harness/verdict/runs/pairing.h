/*
 * Pairs equal rows of several runs: same scenario, placement, workers, role, benchmark, parameters,
 * device and metric. Parameters count only where they differ from their default, as other runs may
 * lack them: their version of contend had none. The device is part of the key, so rows of `sim`
 * are never paired with those of `cuda`. Pure.
 */
#ifndef CONTEND_VERDICT_RUNS_PAIRING_H
#define CONTEND_VERDICT_RUNS_PAIRING_H

#include "harness/record/analysis.h"

enum pairing_side { PAIRING_BASE, PAIRING_OTHER, PAIRING_HISTORY, PAIRING_SIDES };

/* Separate runs of one side; borrowed. Zeroed = none. */
struct pairing_runs {
    const char *name; /* "base" */
    size_t n;
    const struct analysis *const *runs;
    const char *const *busy; /* of each run: what disturbed it, or NULL; NULL: none was */
    /*
     * NULL = all rows. Else only those of this placement, which are paired with those of the other
     * side's placement; controls are always paired by their own.
     */
    const char *placement;
};

struct paired_row {
    const struct row *row;
    const struct result *result; /* of the run */
    enum pairing_side side;
    size_t run;            /* index within the side */
    const char *placement; /* key for pairing; "" across placements */
    char *params;          /* owned; key for pairing: without defaults */
    size_t order;          /* among all rows of all sides, as given */
};

/* Equal rows of all sides, ordered by run within a side. A run may have none. */
struct pair {
    const struct paired_row *rows[PAIRING_SIDES];
    size_t n[PAIRING_SIDES];
    size_t order; /* of the first row */
    /* Of compare.h: it may get a verdict; the pair with the other metric of the same measurement,
     * NULL = none, or several. */
    bool is_judged;
    const struct pair *other_metric;
};

/* Pairs in the order of the first side; then those that only later sides have. */
struct pairing {
    size_t nrows;
    struct paired_row *rows; /* owned */
    size_t n;
    struct pair *pairs; /* owned */
};

/*
 * Free with pairing_free, also after an error. -EINVAL: one run has two equal rows, or sides give a
 * metric in different units or directions; -ENOMEM.
 */
int pairing_make(const struct pairing_runs sides[PAIRING_SIDES], struct pairing *pairing,
                 struct err *err);
void pairing_free(struct pairing *pairing);

/* The first row of the first side that has one. */
const struct paired_row *pair_first(const struct pair *pair);

/* True if both pairs differ only in the metric. */
bool pair_is_of_same_arm(const struct pair *pair, const struct pair *other);

/*
 * Counts the runs of that side in which the arm, or the row, was skipped, failed or hung, and so
 * has no value. *first: the row of the first such run that gives a reason, or NULL.
 */
size_t pairing_count_ended(const struct pairing *pairing, const struct pair *pair,
                           enum pairing_side side, size_t runs, const struct row **first);

/*
 * The params column without this version's defaults: a run without a parameter equals a run with
 * its default. `opts`: of the benchmark, NULL = unknown. Returns buf.
 */
const char *params_without_defaults(const struct opt *opts, const char *params);

#endif
