/*
 * How much separate runs of the same configuration vary if nothing changed, and so how large a
 * difference between two sides of runs must be. Used by `compare`. The values are logarithms, so
 * differences are ratios. Pure.
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
#ifndef CONTEND_VERDICT_RUNS_RUN_SPREAD_H
#define CONTEND_VERDICT_RUNS_RUN_SPREAD_H

#include <stdbool.h>
#include <stddef.h>

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

#endif
