/*
 * Finds where a series of figures, one per run, changed its level, with the test of evidence.h
 * between the runs before and after a place. Nothing is random: the same figures give the same
 * changes. Pure.
 *
 * The series is divided from the top. Every place is tested against 6, 12, 24 and 48 runs on either
 * side, so that the test finds changes that were reverted, and recent ones, among many runs. The
 * best place counts if its p, times a quarter of the number of runs, is below the given error. Only
 * a quarter, because neighbouring places, and several widths at one place, give nearly the same
 * test. Each change is then tested once more against its neighbours.
 *
 * A side has at least CHANGES_SIDE runs. A run counts as at most three standard deviations from the
 * median of the runs around it (Hampel 1974). So one or two odd runs neither make a change nor hide
 * one.
 *
 * Example: logarithms of 100 101 99 100 101 99 100 120 121 119 120 -> one change, at 7, of 1.20.
 */
#ifndef CONTEND_VERDICT_RUNS_CHANGES_H
#define CONTEND_VERDICT_RUNS_CHANGES_H

#include "harness/verdict/evidence.h"

enum { CHANGES_SIDE = 4, CHANGES_RUNS = 2 * CHANGES_SIDE, CHANGES_MOST = 32 };

struct change {
    size_t at;                /* the first run of the new level */
    struct evidence evidence; /* of the new level against the one before it; 95% interval */
    bool significant;         /* at the given error */
};

struct changes {
    size_t n;
    struct change change[CHANGES_MOST];
};

/*
 * Limits each run to three standard deviations from the runs around it. `to` has room for n; both
 * are logarithms, ordered by time.
 */
void changes_limit(const double *logarithms, size_t n, double *to);

/*
 * `limited`: from changes_limit. `error`: the chance that a series without a change gets one. A
 * series of fewer than CHANGES_RUNS has no changes.
 */
void changes_find(const double *limited, size_t n, double error, struct changes *changes);

/* The first run of a level, from 0 to changes->n; n for the level after the last. */
size_t changes_begin(const struct changes *changes, size_t level, size_t n);

/* The change from runs [from, at) to runs [begin, end). */
struct change changes_between(const double *limited, size_t from, size_t at, size_t begin,
                              size_t end, double error);

#endif
