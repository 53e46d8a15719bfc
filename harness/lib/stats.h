/*
 * Order statistics and their intervals. Pure: no I/O, no allocation, no hidden state.
 *
 * A value that could not be measured is NaN. stats_sort drops NaN; the functions after it take its
 * output. An empty input gives NaN, never zero.
 */
#ifndef CONTEND_LIB_STATS_H
#define CONTEND_LIB_STATS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Moves the numbers to the front in ascending order, without NaN, and returns their count. */
size_t stats_sort(double *values, size_t n);

/*
 * Linear interpolation between closest ranks (Hyndman and Fan 1996, type 7; the default of numpy,
 * R and spreadsheets): h = (n - 1) * fraction, between sorted[floor(h)] and its successor. Example:
 * 1 2 3 4 at 0.25 is 1.75. `fraction` in [0, 1].
 */
double stats_percentile(const double *sorted, size_t n, double fraction);

/* The percentile at 0.5: the middle value, or the mean of the middle two. */
double stats_median(const double *sorted, size_t n);

/* stats_sort, then the median. */
double stats_sort_median(double *values, size_t n);

/* The smallest value with at least `percent` of all values at or below it; n >= 1. */
double stats_nearest_rank(const double *sorted, size_t n, unsigned percent);

/* Below STATS_RANGE_BELOW values the interval of the median is their range and covers less than
 * 95%: output must call it a range. */
enum { STATS_RANGE_BELOW = 6 };

struct stats_interval {
    double low, high;
};

/*
 * 95% interval of the median over rounds, valid whenever one looks, so also where rounds end when a
 * result is clear. Its ends are order statistics, as in the sign test (Thompson 1936), so it holds
 * for any distribution, a new one in each round. A bet on the signs never gains on average if the
 * end is on the right side of the median; the chance that it ever wins 40 times its stake is 2.5%
 * at each end (Ville 1939; Howard and Ramdas 2022).
 *
 * n = 1: NaN. n = 2 to 5: the range, which contains the median in 50 to 93.75% of cases. Six to 14:
 * also the range. Then the 2nd to the 14th of 15, the 6th to the 22nd of 27, the 34th to the 67th
 * of 100.
 */
struct stats_interval stats_median_interval(const double *sorted, size_t n);

/* How many values lie below its low end, and above its high end. */
size_t stats_median_rank(size_t n);

/* Random words from a recorded seed: splitmix64 (Steele, Lea and Flood 2014). PURE */

/* Returns one well-mixed word per call. Any seed works, also 0. */
static inline uint64_t random_next(uint64_t *state)
{
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

/* Uniform in [0, 1). */
static inline double random_share(uint64_t *state)
{
    return (double)(random_next(state) >> 11) * 0x1p-53;
}

/* Fills order[] with a random permutation of 0..n-1 (Fisher-Yates). */
void random_shuffle(uint64_t seed, size_t n, size_t *order);

/*
 * Student's t distribution (Student 1908). Degrees of freedom may be fractional, as for a moderated
 * variance. Uses the continued fraction of the incomplete beta function (Abramowitz and Stegun
 * 1964, 26.5.8 and 26.7.1), evaluated after Lentz (1976). Pure.
 */

/* P(T > t), df > 0. Example: t 2.228139 at df 10 is 0.025. */
double student_tail(double t, double df);

/* The t >= 0 with P(T > t) = tail, 0 < tail <= 0.5. Example: 0.025 at df 10 is 2.228139. */
double student_quantile(double tail, double df);

/*
 * A sequential test of paired differences, and a sequential confidence interval. They may be
 * computed after every round: for any number of looks and any stopping rule, the chance that the
 * true value is ever outside the interval is at most alpha. Pure.
 *
 * The test rests on our own randomization: the order of the arms within a round is random. If
 * two arms do not differ, either could have run in the other's place. So the difference x of their
 * logarithms is positive or negative with equal chance, independent of its size and of the rounds
 * before. Drift of the machine, autocorrelation, modes and heavy tails change the size of x, not
 * that. A change by a factor moves the centre of symmetry to theta = log(factor).
 *
 * Testing by betting (Ville 1939; Robbins 1970; Shafer 2021; Waudby-Smith and Ramdas 2024): with
 * u_t = clip((x_t - theta) / c_t, -1, 1), where c_t is known before round t, and 0 < lambda < 1,
 *
 *   E_n = product over t of (1 + lambda u_t)
 *
 * is never negative. E[1 + lambda u_t | past] = 1 if x_t - theta is symmetric, as u is an odd
 * function of it. So E_n is a martingale that starts at 1, and so is the mean over several lambdas.
 * Ville's inequality: the chance that E_n ever reaches 1/alpha is at most alpha. The other
 * direction uses -lambda; each direction gets alpha / 2. Two known special cases are the sign test
 * (c_t -> 0; Robbins 1970) and, for small lambda, exp(lambda S - lambda^2 V / 2) with the sum S and
 * the sum of squares V of the x, where E <= 1 follows from cosh(y) <= exp(y^2 / 2) (de la Pena
 * 1999; Howard, Ramdas, McAuliffe and Sekhon 2021). The latter loses power to outlier rounds, which
 * are common on shared machines.
 *
 * Random order in every second round is enough, if the next round has the reverse order
 * (arms_order). If position alone decides the sign, the second round cancels the evidence of the
 * first, as (1 + lambda u)(1 - lambda u) <= 1.
 *
 * c_t is twice the median absolute deviation of the rounds before t: 1.35 standard deviations of a
 * normal distribution, where clipping costs 5% of the evidence (Huber 1964). c_t does not depend on
 * theta, so E_n falls as theta rises, and the values that are not rejected form an interval.
 *
 * Signs alone multiply the evidence by at most 2 per round, so they decide nothing before round 8.
 * The rest of the stake, a fifth, therefore assumes more: within a round, the results of two equal
 * arms are independent draws from one distribution F. F may have modes, bursts and heavy tails, and
 * may differ between rounds. Then a threshold m that is known before the round separates the arms,
 * the base below and the other above, with the chance F(m) (1 - F(m)) <= 1/4: a bet on that pays 4.
 * With the sums s_t of the two logarithms, m is half the median of the sums before t, and m
 * separates the arms if
 *
 *   x_t - theta > |s_t - median of s_1 .. s_(t-1)|
 *
 * that is, if the arms differ by more than the level of the round has moved. Theta shifts all sums
 * alike, so this evidence, too, falls as theta rises. A round with x_t > theta that does not
 * separate multiplies this part by 2 * hedge; one round with x_t <= theta ends it.
 *
 * Equal arms are not independent if the first of a round always gets more, or if the machine drifts
 * much faster than it varies. A threshold then separates them every time, and the random order
 * decides which arm is above. So this part counts only after both orders occurred, which rules that
 * out. If every round slows one of the two arms, in turns that are in step with ours, signs are
 * pure chance: equal arms are then called different in up to 3% of cases.
 */

/* Two arms, base and other, in n rounds, in order of time. All x and sums are finite. */
struct sequential {
    const double *x;     /* logarithm of the other's value minus logarithm of the base's */
    const double *sum;   /* sum of the two logarithms */
    const bool *swapped; /* true if the other ran before the base */
    double *scale;       /* c_t; n values that sequential_prepare fills */
    double *shift;       /* |s_t - median of the sums before t|, 0 for the first; n, filled too */
    double *scratch;     /* n values */
    size_t n;
};

/* Fills scale[] and shift[]. Call it before the functions below. */
void sequential_prepare(struct sequential *of);

/*
 * Logarithm of the evidence that the centre lies above, or below, theta. Evidence of 1/alpha' or
 * more rejects theta at level alpha'. The mean of the evidence of several tests is evidence against
 * their joint hypothesis, for any dependence between them (Vovk and Wang 2021).
 */
double sequential_above(const struct sequential *of, double theta);
double sequential_below(const struct sequential *of, double theta);

/*
 * All theta that are not rejected, with alpha / 2 on each side. A side without enough evidence is
 * infinite; at alpha = 1% both sides are, below SEQUENTIAL_LEAST rounds.
 */
enum {
    SEQUENTIAL_LEAST = 6,
    SEQUENTIAL_SIGNS = 12, /* rounds of equal sign that suffice at 1% without separation */
};
struct sequential_interval {
    double low, high;
};
struct sequential_interval sequential_interval(const struct sequential *of, double alpha);

#endif
