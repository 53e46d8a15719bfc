/*
 * The one judge of differences: is one thing faster than another, and by how much? It answers for
 * arms that were measured in the same rounds, and for two sides of separate runs; outlier.h answers
 * for one of several equal units. All commands ask here, and all carry the answer as a struct
 * evidence. Pure apart from allocation.
 */
#ifndef CONTEND_VERDICT_EVIDENCE_H
#define CONTEND_VERDICT_EVIDENCE_H

#include "harness/lib/finding.h"
#include "harness/record/analysis.h"

struct evidence {
    double base, other;      /* medians of both sides in the metric's unit; NaN = unknown; without
                                common rounds those of their own */
    double ratio, low, high; /* of other / base; NaN = unknown */
    double level;            /* of low and high: 0.95; 0 = they are the range of the rounds */
    /*
     * FASTER, SLOWER: shown. SAME: what would count is excluded. UNCLEAR: neither. NONE: no rounds.
     * ERROR: no memory.
     */
    enum finding_outcome outcome;
    double more; /* rounds until the nearest verdict, if UNCLEAR; or runs a side; NaN = unknown */

    /* Of arms in the same rounds. */
    size_t rounds;         /* that both have */
    size_t disturbed;      /* of these, rounds in which either was disturbed */
    size_t one_sided;      /* of these, rounds in which only the base was: they favour the other */
    size_t at_least;       /* rounds whose ratio is at or above `low` */
    double foreign, steal; /* shares of the CPUs that others and the hypervisor took from the more
                              disturbed arm, medians over its rounds; 0 = unknown */
    double against_same;   /* log evidence against "no change" of the test; NaN = not tested */

    /* Of two sides of runs, as logarithms. */
    double reach;  /* equal runs differ by so much */
    double spread; /* of single runs */
};

/* Without any rounds. */
extern const struct evidence evidence_none;

/* Error probability of the test of two arms: of equal ones, this share is called different. */
#define EVIDENCE_ALPHA 0.01

struct evidence_rule {
    double within; /* a share: smaller changes do not count */
    /*
     * The question of ab: has the other changed? Its interval is that of the test. FASTER and
     * SLOWER: the test shows it. SAME: it lies within `within`, or the difference below `least`.
     * Without it, the question of a recommendation: is the other ahead? FASTER then needs a ratio
     * above 1 + within too, and SAME says that no gain of `within` is left.
     */
    bool is_change;
    bool is_tested;      /* rounds end when the result is clear: only the test counts */
    bool less_is_better; /* of the values; changes what FASTER means */
    double least;        /* in the unit of the values */
};

/*
 * Arms in the same rounds, in order of time; drift of the machine cancels. All rounds count, as in
 * every table and figure: load that strikes either arm at random cancels in the median.
 *
 * The test (stats.h) takes the rounds from SEQUENTIAL_LEAST on, and stays valid whenever one
 * looks. A recommendation whose rounds were fixed needs an interval above 1; with one round, the
 * ratio alone decides. If most rounds were disturbed, what is claimed is the low end of the
 * interval, beside that load. It has to be above 1, and either the test shows a gain, or the low
 * end of EVIDENCE_ROUNDS or more exceeds what the load explains: taking the share f of the CPUs
 * from one of two equal settings leaves it 1 - f, squared because threads that wait for each other
 * lose more. The test does not count if load slowed the base alone in most rounds, as where a
 * setting keeps off CPUs that others use.
 */
enum { EVIDENCE_ROUNDS = 3 };

/* The values of one metric and key of an arm, one a round. */
struct evidence_group {
    size_t arm, n; /* n = 0: none */
    const struct round_value *values;
};
struct evidence_group evidence_find_group(const struct analysis *analysis, size_t arm,
                                          const struct round_value *like);

/* The rounds that both have, base first. */
struct evidence evidence_of_groups(const struct analysis *analysis,
                                   const struct evidence_group groups[2],
                                   const struct evidence_rule *rule);

/* Is `fast` ahead of `slow`, in the metric and key of `what`? evidence_none if `slow` is -1. */
struct evidence evidence_of_arms(const struct analysis *analysis, const struct round_value *what,
                                 int slow, size_t fast);
/* The same for throughput. */
struct evidence evidence_of_rates(const struct analysis *analysis, int slow, size_t fast);

#define VALUE_RATE (&(const struct round_value){.metric = METRIC_RATE})

/* True if most rounds were disturbed: the ratio holds beside such load, which its text must say. */
bool evidence_is_disturbed(const struct evidence *evidence);

/* "range" or "95%": what low and high are of arms that were asked for a recommendation. */
const char *evidence_interval_name(const struct evidence *evidence);

/*
 * How much separate runs of the same configuration vary if nothing changed, and so how large a
 * difference between two sides of runs must be. The values are logarithms, so
 * differences are ratios.
 *
 * Clearly different: the difference of the means of two sides is larger than run_spread_half_width
 * at the given tail. docs/compare.md lists its error rate and its power.
 *
 * There are two levels: rounds vary within a run, and runs vary more than that between each other
 * (METHOD 6). So the unit is the run, and its median is one value. The spread of few runs is
 * moderated by prior knowledge (Smyth 2004, the moderated t; Lonnstedt and Speed 2002):
 *   variance = (SS + df0 s0^2) / (df + df0), with df + df0 degrees of freedom,
 * where SS is the sum of squares around the mean of each group of runs (base, new, history), and df
 * is the number of runs less one per group. With one run a side SS and df are 0, and only s0
 * counts. Many runs that vary by more than s0 are not moderated: the prior does not hold for them
 * and would raise false alarms (for runs that vary by 6% from 1.2 to 2.1% of whole comparisons, in
 * simulations).
 *
 * Few runs a side do not show how much runs vary, and may agree by chance. Their difference has to
 * be significant by the prior, and by their own spread alone (Student 1908). The prior is larger
 * for short rounds: 60 runs of two rounds of 0.05 s, while others used the CPUs, varied by 20%,
 * often more than their rounds showed.
 */
/*
 * s0 and df0. The medians of equal runs varied by 2.0 to 4.2% on VMs with H200s (METHOD 6); in ten
 * runs on a VM with an H100 by 2 to 8%, and by 15% where the hypervisor stole time. A variance
 * drawn with 3 degrees of freedom around 3% reproduces this: its median is 3.4%, one of 20 rows is
 * above 8.8% and one of 100 above 15%.
 */
#define RUN_SPREAD_BEFORE 0.03
enum { RUN_SPREAD_BEFORE_DF = 3 };

/* The length of the rounds in those runs. For shorter rounds s0 grows with the root of the
 * ratio. */
#define RUN_SPREAD_ROUND_S 0.5

/*
 * Sides with fewer than RUN_SPREAD_RUNS_LEAST runs are few, unless a side or the history has
 * RUN_SPREAD_LONG; then the degrees of freedom remain those of the prior. Why: with equal runs in
 * one of two modes, 30% in the second, comparisons of 3 and 3 runs separate by side in 1.9% of
 * cases, and look certain; those of 5 and 5 in 0.1%. A history of 8 runs has no run of the second
 * mode in one of 17 cases; a history of 15 in one of 200.
 */
enum { RUN_SPREAD_RUNS_LEAST = 5, RUN_SPREAD_LONG = 15 };

/* The factor on the spread of disturbed (noisy) rows. */
enum { RUN_SPREAD_NOISY = 2 };

/* Running mean and variance (Welford 1962). Zeroed = none. */
struct moments {
    size_t n;
    double mean, squares; /* sum of squares around the mean */
};
void moments_add(struct moments *moments, double value);

struct run_spread {
    double sd; /* of a single run around what it would be on average */
    double df;
    double own_sd, own_df; /* few runs: of these runs alone; df 0 = unknown */
};

enum run_spread_group { RUN_SPREAD_BASE, RUN_SPREAD_OTHER, RUN_SPREAD_HISTORY, RUN_SPREAD_GROUPS };

/* Zeroed = undisturbed runs of the usual length. */
struct run_spread_known {
    bool nothing; /* neither s0 nor rounds count: only the spread of these runs */
    bool noisy;
    double round_s; /* how long a round was measured; 0 = usual */
    double rounds;  /* uncertainty of a run's median from its rounds; a lower bound on the spread of
                       few runs */
};

/* The spread from three groups of equal runs, each around its own mean. */
struct run_spread run_spread_of(const struct moments groups[RUN_SPREAD_GROUPS],
                                const struct run_spread_known *known);

/*
 * If nothing changed, the difference of the means of this many runs a side stays within this,
 * except for a share `tail` at each end.
 */
double run_spread_half_width(const struct run_spread *spread, size_t base_runs, size_t other_runs,
                             double tail);

/* The chance of a difference this large, in either direction, if nothing changed. */
double run_spread_chance(const struct run_spread *spread, size_t base_runs, size_t other_runs,
                         double difference);

/*
 * How many runs a side, with this spread, would show the difference at that tail in nine of ten
 * cases; 0 = more than `most`.
 */
unsigned run_spread_runs_needed(const struct run_spread *spread, double difference, double tail,
                                unsigned most);

/*
 * The uncertainty of one run's median, as a logarithm, from the interval over its rounds
 * (row.ci_low, ci_high): the distance of two of their order statistics (stats_median_rank). 0 =
 * unknown.
 */
double run_spread_of_rounds(double low, double high, unsigned rounds);

/*
 * Has the other side changed? FASTER and SLOWER: by more than equal runs differ, and by more than
 * `within`. SAME: the 90% interval lies within it (two one-sided tests of 5%; Schuirmann 1987); the
 * interval is then this one.
 */
struct evidence_runs {
    struct moments sides[RUN_SPREAD_GROUPS]; /* logarithms, more is better; base: n = 0 if the
                                                other has differences from it */
    struct run_spread_known known;
    double tail;   /* of each end of the interval */
    double within; /* a logarithm: smaller changes do not count */
    double drift;  /* so much the machine itself changed, as a logarithm: it widens all intervals */
};
struct evidence evidence_of_runs(const struct evidence_runs *runs);

#endif
