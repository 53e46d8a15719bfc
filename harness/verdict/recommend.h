/*
 * The one recommendation: the simplest setting that is indistinguishable from the best. All code
 * that names or marks a setting, or prints the command for it, takes it from here. Pure.
 *
 * The evidence is throughput, paired by round (evidence.h): a setting is ahead of another where
 * that says FASTER, else the two are indistinguishable. With n < 6 rounds, one of two equal
 * settings is called ahead in at most one of 2^n cases (3% of five), less often where they differ
 * by less than the tolerance; from the sixth round on, in runs that end when the result is clear,
 * in 1% of cases, whenever one looks. A setting is no evidence if it failed in a round or did not
 * end within the limit: it can be neither the best nor recommended.
 */
#ifndef CONTEND_VERDICT_RECOMMEND_H
#define CONTEND_VERDICT_RECOMMEND_H

#include "harness/verdict/evidence.h"

/*
 * Does an arm keep the run's bound: by its whole interval, where it has one? Unclear: the bound
 * lies within. Other unit: only one of bound and row has a unit of time.
 */
enum slo_answer { SLO_HOLDS, SLO_BROKEN, SLO_UNCLEAR, SLO_OTHER_UNIT, SLO_NOT_MEASURED };
enum slo_answer slo_judge(const struct slo *slo, const struct row *row); /* NULL = no row */
/* The same for the run's bound, also one relative to alone; SLO_HOLDS without one. */
enum slo_answer slo_judge_arm(const struct analysis *analysis, const struct arm *arm);

/* Of a bound relative to alone: its metric of the arm against that of its job alone. */
struct evidence slo_against_alone(const struct analysis *analysis, const struct arm *arm);
/* How many times worse than alone the ratio is: above 1 is worse. */
double slo_worse(const struct analysis *analysis, double ratio);

/* Appends where the run's --slo holds or, if nowhere, which arm is the nearest. */
void slo_find(const struct analysis *analysis, struct findings *findings);

/*
 * For arms with the same benchmark, parameters and number of workers. In a tune: for all arms of
 * its fresh rounds, and only those. Arms are indices in result->arms, -1 = none.
 */
struct recommendation {
    int reference;         /* what gains are relative to: `none`, the default, else the slowest */
    bool is_default;       /* the reference is `none` */
    bool reference_failed; /* it gave no rate: it failed, or was cut off, in all rounds */
    bool must_leave;       /* it failed, or does not surely hold --slo: what does may be slower */
    int best;              /* the fastest that may be recommended */
    int arm;               /* recommended; = reference: leave it as it is; -1: no evidence */
    int next;              /* the next simplest after `arm` */
    bool disturbed;        /* most rounds were, and they do not agree on any gain */
    struct evidence gain, best_gain; /* of `arm` and of `best` over the reference */
};

/* Makes the recommendations of an analysis, once for all who ask (analysis.h). */
void recommend_all(struct analysis *analysis);

/* The recommendation among the arms that compete with `of`; made here if it is not made yet. */
struct recommendation recommend_make(const struct analysis *analysis, const struct arm *of);

/* True for the first of the arms that compete with each other. */
bool recommend_is_first(const struct analysis *analysis, size_t arm);

/* True if there is a setting to apply. */
bool recommend_applies(const struct recommendation *recommendation);

/*
 * The effort of applying a setting: less is simpler; 0 = nobody should apply it. In this order:
 * waiting asleep (passive), fewer threads (sized), another number of threads, slices of CPUs
 * (partition), slices by cores or caches, slices by nodes. Each further change adds more than any
 * of these: cores kept free, threads in slices, waiting asleep in slices. `variant` may be NULL.
 */
unsigned recommend_effort(enum placement placement, const struct variant *variant);
unsigned recommend_effort_of(const struct arm *arm);

/*
 * When a run has shown enough, and which arms further rounds need. Two questions: is the
 * recommended setting better than the default, and is it indistinguishable from the fastest? The
 * sequential test of the paired rounds answers both, and may be looked at after every round. The
 * gain has to be above 1 or, if nothing is recommended, below the tolerance. The gain of the
 * fastest over the recommended setting has to be below the tolerance.
 */

/* A simpler setting than the recommended one that may be as good; -1 = none. */
int clear_simpler(const struct analysis *analysis, const struct recommendation *recommendation);

/* True if the recommendation is clear for all arms that have a choice; false if no arm has one. */
bool clear_is_reached(const struct analysis *analysis);

/*
 * Call after each round. If all is clear, plans no further round. Otherwise marks arms that no open
 * question needs as idle: arms that were 10% behind the best in each of three or more rounds, or
 * half as fast in each of two; and the default once the gain over it is clear. Adds a round, even
 * if time is up, if each round had a gain but the rounds are too few to prove it.
 */
void clear_next(const struct analysis *analysis, struct result *result);

#endif
