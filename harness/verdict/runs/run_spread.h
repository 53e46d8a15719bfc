/*
 * The engine between runs: how far separate runs of the same lie apart with nothing changed, and so
 * what a difference between two sides of runs has to be to mean something. `compare`
 * rests on it. The values are logarithms: of ratios. Pure.
 *
 * Clearly different: the difference of the means of two sides is larger than the half width of
 * run_spread_half_width at the tail that is asked for. docs/compare.md has how often that is
 * wrong, and what it finds.
 *
 * Two levels: rounds vary within a run, and runs vary between each other by more than that
 * (METHOD 6), so the run is the unit, and its median one value. What few runs say of their spread
 * is moderated by what is known before (Smyth 2004, the moderated t; Lonnstedt and Speed 2002):
 *   variance = (SS + df0 s0^2) / (df + df0), with df + df0 degrees of freedom,
 * SS the squares around the mean of each group of runs (base, new, history), df their number less
 * one a group. With a run a side SS and df are 0, and all is s0. Many runs that vary by more than
 * s0 are not moderated: what was known before does not hold for them, and would raise false alarms
 * (of runs that vary by 6% from 1.2 to 2.1% of whole comparisons, in simulations).
 *
 * Few runs a side do not know how far runs are apart, and may look alike by chance. A difference of
 * theirs has to be beyond chance by what is known before and by their own spread alone (Student
 * 1908), and what is known before is more where rounds are short: 60 runs of two rounds of 0.05 s,
 * while others used the CPUs, varied by 20%, often more than their rounds showed.
 */
#ifndef CONTEND_VERDICT_RUNS_RUN_SPREAD_H
#define CONTEND_VERDICT_RUNS_RUN_SPREAD_H

#include <stdbool.h>
#include <stddef.h>

/*
 * s0 and df0. Run to run the medians of equal runs varied by 2.0 to 4.2% on VMs with H200s (METHOD
 * 6); in ten runs on a VM with an H100 by 2 to 8%, and by 15% where the hypervisor stole time. A
 * variance drawn with 3 degrees of freedom around 3% has its middle at 3.4% and is above 8.8% in
 * one of 20 rows and above 15% in one of 100: those figures.
 */
#define RUN_SPREAD_BEFORE 0.03
enum { RUN_SPREAD_BEFORE_DF = 3 };

/* Those runs had rounds of this length and more: below it s0 rises as the root of the time falls.
 */
#define RUN_SPREAD_ROUND_S 0.5

/*
 * Fewer runs than these on either side are few, unless a side or the history has the second number;
 * the degrees of freedom stay those of what is known before: equal runs that are in one of two
 * modes, of which 30% are in the second, fall apart by side in 1.9% of comparisons of 3 and 3 runs,
 * and look sure of it; in 0.1% of 5 and 5. A history of 8 runs has none of the second mode in one
 * of 17 cases; one of 15 in one of 200.
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
    double own_sd, own_df; /* of few runs, by themselves alone; df 0 = they say nothing */
};

enum run_spread_group { RUN_SPREAD_BASE, RUN_SPREAD_OTHER, RUN_SPREAD_HISTORY, RUN_SPREAD_GROUPS };

/* Zeroed = runs of the usual length that nothing disturbed. */
struct run_spread_known {
    bool noisy;
    double round_s; /* how long a round was measured; 0 = as usual */
    double rounds; /* what the rounds of a run leave its median uncertain by: of few runs the spread
                      is not less */
};

/* From three groups of equal runs, each around its own mean. */
struct run_spread run_spread_of(const struct moments groups[RUN_SPREAD_GROUPS],
                                const struct run_spread_known *known);

/*
 * What the difference of the means of so many runs a side stays within with nothing changed, but
 * for a share `tail` on each end.
 */
double run_spread_half_width(const struct run_spread *spread, size_t base_runs, size_t other_runs,
                             double tail);

/* The share of such differences, to either side, that are as large with nothing changed. */
double run_spread_chance(const struct run_spread *spread, size_t base_runs, size_t other_runs,
                         double difference);

/*
 * How many runs a side, of this spread, would show a difference at that tail, in nine of ten cases;
 * 0 = more than `most`.
 */
unsigned run_spread_runs_needed(const struct run_spread *spread, double difference, double tail,
                                unsigned most);

/*
 * What the median of one run is uncertain by, from the 95% interval over its rounds (row.ci_low,
 * ci_high), as a logarithm: of up to STATS_RANGE_MOST rounds that is their range, which is
 * d2 standard deviations wide (Tippett 1925). 0 = it says nothing.
 */
double run_spread_of_rounds(double low, double high, unsigned rounds);

#endif
