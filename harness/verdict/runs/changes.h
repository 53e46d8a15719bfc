/*
 * Where a series of figures, one a run, changed its level: by the test of run_spread.h, between the
 * runs before a place and those behind it. Found again by everyone who has the same figures, as
 * nothing is drawn by chance. Pure.
 *
 * The series is divided from the top: every place is tried, against 6, 12, 24 and 48 runs on either
 * side, so that neither a change that was taken back nor a young one is lost among many others. The
 * best place counts where its p, times a quarter of the number of runs, is below the error that is
 * asked for: neighbouring places, and one place against several widths, say nearly the same. Each
 * change that is found is tested once more against its neighbours.
 *
 * A side has at least CHANGES_SIDE runs, and a run counts no further from the median of the runs
 * around it than three standard deviations of theirs (Hampel 1974): a single odd run, or two, is no
 * change, and hides none.
 *
 * Example: logarithms of 100 101 99 100 101 99 100 120 121 119 120 -> one change, at 7, of 1.20.
 */
#ifndef CONTEND_VERDICT_RUNS_CHANGES_H
#define CONTEND_VERDICT_RUNS_CHANGES_H

#include <stdbool.h>
#include <stddef.h>

enum { CHANGES_SIDE = 4, CHANGES_RUNS = 2 * CHANGES_SIDE, CHANGES_MOST = 32 };

struct change {
    size_t at;               /* the first run of the new level */
    double ratio, low, high; /* new level / level before it; 95% interval */
    double before, after;    /* the levels; no logarithms */
    bool told;               /* beyond chance, by the error that was asked for */
};

struct changes {
    size_t n;
    struct change change[CHANGES_MOST];
};

/*
 * Draws runs that are far from those around them to where they count. `to` has room for n; both are
 * logarithms, in the order of time.
 */
void changes_calm(const double *logarithms, size_t n, double *to);

/*
 * Of a calm series; `error`: the chance that a series in which nothing changes has a change. Fewer
 * than CHANGES_RUNS have none.
 */
void changes_find(const double *calm, size_t n, double error, struct changes *changes);

/* The first run of a level, from 0 to changes->n; of the one behind the last, n. */
size_t changes_begin(const struct changes *changes, size_t level, size_t n);

/* From runs [from, at) to runs [begin, end). */
struct change changes_between(const double *calm, size_t from, size_t at, size_t begin, size_t end,
                              double error);

#endif
