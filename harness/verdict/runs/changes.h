/*
 * Where a series of figures, one a run, changed its level, and whether it drifts: found again by
 * everyone who has the same figures, as nothing is drawn by chance. Pure.
 *
 * The series is divided from the top, as E-divisive does (Matteson and James 2014), with a test in
 * place of permutations, as Hunter does (Fleming et al. 2023): every place is tried, against 6, 12,
 * 24 and 48 runs on either side, so that neither a change that was taken back nor a young one is
 * lost among many others. The best place counts where both hold:
 * - Yuen's test (1974) of the 20% trimmed means, with a pooled winsorized variance: a spike moves
 * neither. Its p, times a quarter of the number of runs, is below the error that is asked for.
 * - The ranks agree (Wilcoxon 1945, Mann and Whitney 1947): to that error, or, where so few runs
 *   cannot, within twice of what they say of two sides that do not overlap. Two modes that
 *   runs fall into by chance are no change.
 * A side has at least CHANGES_SIDE runs, so one or two spikes are none either. Each change that is
 * found is tested once more against its neighbours.
 *
 * Drift is the median slope of all pairs (Theil 1950, Sen 1968) where the ranks ascend or descend
 * with time (Mann 1945, Kendall 1975). A drift looks like some small changes and the other way
 * round: of the two descriptions the one with the lower information criterion (Schwarz 1978) is
 * kept.
 *
 * Example: logarithms of 100 101 99 100 101 99 100 120 121 119 120 -> one change, at 7, of 1.20.
 */
#ifndef CONTEND_VERDICT_RUNS_CHANGES_H
#define CONTEND_VERDICT_RUNS_CHANGES_H

#include <stdbool.h>
#include <stddef.h>

enum {
    CHANGES_SIDE = 4,
    CHANGES_RUNS = 2 * CHANGES_SIDE,
    CHANGES_MOST = 32,
    CHANGES_TREND = 128,
    CHANGES_WIDTH = 48
};

struct changes {
    size_t n;
    struct change {
        size_t at;               /* the first run of the new level */
        double ratio, low, high; /* new level / level before it; 95% interval */
        double before, after;    /* the levels; no logarithms */
    } change[CHANGES_MOST];
    size_t found; /* n, and those behind them in the place of which the drift stands */
    bool drifts;
    size_t drift_from;  /* over how much of the series: the last CHANGES_TREND at most */
    double drift;       /* last / first run of that, by the trend */
    double drift_after; /* the level of the last run, by the trend; no logarithm */
};

/*
 * Of logarithms, in the order of time; `error`: the chance that a series in which nothing changes
 * has a change, or drift. Fewer than CHANGES_RUNS have none. `scratch` has room for n.
 */
void changes_find(const double *logarithms, size_t n, double error, double *scratch,
                  struct changes *changes);

/*
 * What of an earlier level is lost at the end: the last level against the best of those that it is
 * worse than, to that `error` by the same test; `at` is the first run behind that level. `changes`
 * are those of the series, all that were found. A ratio of 1: nothing is.
 */
struct change changes_lost(const double *logarithms, size_t n, double error, bool lower_is_better,
                           const struct changes *changes);

/*
 * The level of `after` less that of `before`, both in logarithms, and of CHANGES_WIDTH at most
 * each; 0 where chance may be it (with that `error`, by the same test), or either has fewer than
 * CHANGES_SIDE.
 */
double changes_shift(const double *before, size_t nbefore, const double *after, size_t nafter,
                     double error);

#endif
