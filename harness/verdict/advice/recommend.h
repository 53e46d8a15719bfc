/*
 * The one recommendation: the simplest setting that is indistinguishable from the best. Whoever
 * names a setting, marks it or gives the command that applies it takes it from here. Pure.
 *
 * The evidence is throughput, paired by round. One setting is ahead of another where the median of
 * the ratio is above the tolerance and, of several rounds, its interval lies above 1
 * (stats_median_interval); else the two are indistinguishable. Of n < 6 rounds, of two equal
 * settings one is called ahead in at most one of 2^n cases (3% of five), fewer where they differ by
 * less than the tolerance. Where rounds end when it is clear, it is the sequential interval that
 * has to lie above 1, from the sixth round on: at whatever round one looks, 1% of equal pairs. A
 * setting that failed in a round, did not end within the limit, or was disturbed in all rounds that
 * it shares with the reference is no evidence: it can neither be the best nor be recommended.
 */
#ifndef CONTEND_VERDICT_ADVICE_RECOMMEND_H
#define CONTEND_VERDICT_ADVICE_RECOMMEND_H

#include "harness/rows/analysis.h"

/*
 * Of arms with the same benchmark, parameters and number of workers; of a tune of all those of its
 * fresh rounds, and no others. Arms are indices in result->arms, -1 = there is none.
 */
struct recommendation {
    int reference;   /* what gains are relative to: `none`, the default, else the slowest */
    bool is_default; /* it is `none` */
    bool lost;       /* no round of that gave a rate: it failed, or was cut off, in all */
    int best;        /* the fastest that may be recommended */
    int arm;         /* recommended; the reference: leave it as it is; -1: nothing, no evidence */
    int next;        /* the next simplest */
    bool disturbed;  /* so much that there is no evidence */
    struct paired_ratio gain, best_gain; /* of `arm` and of `best` over the reference */
};

/* Among the arms that compete with that one. */
struct recommendation recommend_make(const struct analysis *analysis, const struct arm *of);

/* True of the first one of arms that compete. */
bool recommend_is_first(const struct analysis *analysis, size_t arm);

/* Whether one of them is recommended in place of the other. */
bool recommend_competes(const struct result *result, const struct arm *a, const struct arm *b);

/* There is a setting to apply. */
bool recommend_applies(const struct recommendation *recommendation);

/* The ratio is one of a setting that is ahead of another. */
bool recommend_is_ahead(const struct result *result, const struct paired_ratio *ratio);

/*
 * What a setting asks of who applies it; less is simpler, 0 = nobody should. In this order: waiting
 * asleep (passive), fewer threads (sized), another number of threads, slices of CPUs (partition),
 * slices by cores or caches, slices by nodes, then each further change of these: cores kept free,
 * threads in slices, waiting asleep in them. `name` is a setting's, "partition+4t+r2", or NULL.
 */
unsigned recommend_effort(enum placement placement, const char *name);
unsigned recommend_effort_of(const struct arm *arm);

#endif
