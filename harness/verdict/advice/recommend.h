/*
 * The one recommendation: the simplest setting that is indistinguishable from the best. All code
 * that names or marks a setting, or prints the command for it, takes it from here. Pure.
 *
 * The evidence is throughput, paired by round. A setting is ahead of another if the median of the
 * ratio is above the tolerance and, with several rounds, its interval lies above 1
 * (stats_median_interval); else the two are indistinguishable. With n < 6 rounds, one of two equal
 * settings is called ahead in at most one of 2^n cases (3% of five), less often where they differ
 * by less than the tolerance. In runs that end when the result is clear, the sequential test
 * has to show a ratio above 1, from the sixth round on: whenever one looks, this errs for 1% of
 * equal pairs. A setting is no evidence if it failed in a round or did not end within the limit: it
 * can be neither the best nor recommended.
 *
 * All rounds count, also disturbed ones: a round has every setting once, in random order, so that
 * load of others strikes equal settings alike. If most rounds were disturbed, what is claimed is
 * the low end of the interval, beside that load (advice_format_gain). It has to be above 1, and
 * either the sequential test shows a gain, or the low end of RECOMMEND_ROUNDS or more exceeds what
 * the load explains: taking the share f of the CPUs from one of two equal settings leaves it 1 - f,
 * squared because threads that wait for each other lose more. The test does not count if load
 * slowed only the other setting in most rounds, as where a setting keeps off CPUs that others use.
 */
#ifndef CONTEND_VERDICT_ADVICE_RECOMMEND_H
#define CONTEND_VERDICT_ADVICE_RECOMMEND_H

#include "harness/rows/analysis.h"

enum { RECOMMEND_ROUNDS = 3 };

/*
 * For arms with the same benchmark, parameters and number of workers. In a tune: for all arms of
 * its fresh rounds, and only those. Arms are indices in result->arms, -1 = none.
 */
struct recommendation {
    int reference;         /* what gains are relative to: `none`, the default, else the slowest */
    bool is_default;       /* the reference is `none` */
    bool reference_failed; /* it gave no rate: it failed, or was cut off, in all rounds */
    int best;              /* the fastest that may be recommended */
    int arm;               /* recommended; = reference: leave it as it is; -1: no evidence */
    int next;              /* the next simplest after `arm` */
    bool disturbed;        /* most rounds were, and they do not agree on any gain */
    struct paired_ratio gain, best_gain; /* of `arm` and of `best` over the reference */
};

/* The recommendation among the arms that compete with `of`. */
struct recommendation recommend_make(const struct analysis *analysis, const struct arm *of);

/* True for the first of the arms that compete with each other. */
bool recommend_is_first(const struct analysis *analysis, size_t arm);

/* True if either arm could be recommended in place of the other. */
bool recommend_competes(const struct result *result, const struct arm *a, const struct arm *b);

/* True if there is a setting to apply. */
bool recommend_applies(const struct recommendation *recommendation);

/* True if the ratio is that of a setting that is ahead of another. */
bool recommend_is_ahead(const struct result *result, const struct paired_ratio *ratio);

/*
 * The effort of applying a setting: less is simpler; 0 = nobody should apply it. In this order:
 * waiting asleep (passive), fewer threads (sized), another number of threads, slices of CPUs
 * (partition), slices by cores or caches, slices by nodes. Each further change adds more than any
 * of these: cores kept free, threads in slices, waiting asleep in slices. `name` is the setting's
 * name, "partition+4t+r2", or NULL.
 */
unsigned recommend_effort(enum placement placement, const char *name);
unsigned recommend_effort_of(const struct arm *arm);

#endif
