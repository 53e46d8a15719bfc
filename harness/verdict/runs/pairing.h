/*
 * Rows of several runs that are of the same: scenario, placement, workers, role, benchmark,
 * parameters, device and metric. A parameter that other runs lack, since their contend had none,
 * counts where it is not at its default (below). Rows of `sim` are so never beside those of
 * `cuda`. Pure.
 */
#ifndef CONTEND_VERDICT_RUNS_PAIRING_H
#define CONTEND_VERDICT_RUNS_PAIRING_H

#include "harness/rows/analysis.h"

enum pairing_side { PAIRING_BASE, PAIRING_OTHER, PAIRING_HISTORY, PAIRING_SIDES };

/* Separate runs of one side; borrowed. Zeroed = none. */
struct pairing_runs {
    const char *name; /* "base" */
    size_t n;
    const struct analysis *const *runs;
};

struct paired_row {
    const struct row *row;
    const struct result *result; /* of its run */
    enum pairing_side side;
    size_t run;         /* of that side */
    const char *params; /* by which it is paired: those of the row, or less (below) */
    char *own_params;   /* where they are less */
    size_t order;       /* of all rows of all sides as they were given */
};

/* Rows of the same, side by side, of a side by run; not every run need have one. */
struct pair {
    const struct paired_row *rows[PAIRING_SIDES];
    size_t n[PAIRING_SIDES];
    size_t order; /* of the first of them */
};

/* In the order in which the first side has them, then what only later ones have. */
struct pairing {
    size_t nrows;
    struct paired_row *rows; /* owned */
    size_t n;
    struct pair *pairs; /* owned */
    size_t nparams, params_capacity;
    struct new_param *params; /* owned */
};

/*
 * Free with pairing_free, also after an error: -EINVAL one run has two rows of the same, or sides
 * give a metric in different units or directions; -ENOMEM.
 */
int pairing_make(const struct pairing_runs sides[PAIRING_SIDES], struct pairing *pairing,
                 struct err *err);
void pairing_free(struct pairing *pairing);

/* One of its rows: that of the first side that has one. */
const struct paired_row *pair_first(const struct pair *pair);

/* Whether both are of the same but for the metric. */
bool pair_is_of_same_arm(const struct pair *pair, const struct pair *other);

/* The row that says how the arm ended in a run of that side without such a row; NULL = none does.
 */
const struct row *pairing_find_end(const struct pairing *pairing, const struct pair *pair,
                                   enum pairing_side side);

/*
 * Counts the runs of that side in which the arm, or the row, was skipped, failed or hung, and so
 * has no value. *first: the row of the first such run that says why, or NULL.
 */
size_t pairing_count_ended(const struct pairing *pairing, const struct pair *pair,
                           enum pairing_side side, size_t runs, const struct row **first);

/*
 * "base lacks 'step' of fake: compared where new has its default, 0.01; ...", of base and new as
 * `sides` calls them; "" = none. Returns buf.
 */
char *new_params_format(const struct pairing *pairing,
                        const struct pairing_runs sides[PAIRING_SIDES], char *buf, size_t size);

/*
 * The params column without what this version has by default, for series over versions and fleets:
 * runs without a parameter are of the same as those that have its default. `opts`: of the
 * benchmark, NULL = not known. Returns buf.
 */
char *new_params_without_defaults(const struct opt *opts, const char *params, char *buf,
                                  size_t size);

#endif
