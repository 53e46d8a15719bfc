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
#ifndef CONTEND_LIB_SEQUENTIAL_H
#define CONTEND_LIB_SEQUENTIAL_H

#include <stdbool.h>
#include <stddef.h>

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
