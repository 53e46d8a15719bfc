/*
 * A test of paired differences that may be looked at after every round, and an interval with the
 * same property: however often one looks and whenever one stops, the chance that the truth was ever
 * outside is at most alpha. Pure.
 *
 * What it rests on is chance that is ours: within a round the order of the arms is drawn. Where an
 * arm does not differ from another, either could have had the other's place, so that the difference
 * x of their logarithms has the sign + or - with equal chance, whatever its size and whatever came
 * before: drift of the machine, autocorrelation, modes and heavy tails change sizes, not that. A
 * change by a factor moves the centre of symmetry to theta = log(factor).
 *
 * Testing by betting (Ville 1939; Robbins 1970; Shafer 2021; Waudby-Smith and Ramdas 2024): with
 * u_t = clip((x_t - theta) / c_t, -1, 1), where c_t is known before round t, and 0 < lambda < 1,
 *
 *   E_n = product over t of (1 + lambda u_t)
 *
 * is never negative, and E[1 + lambda u_t | past] = 1 where x_t - theta is symmetric: u is an odd
 * function of it. So E_n is a martingale that starts at 1, and so is the mean of several lambdas.
 * Ville's inequality: the chance that it is ever 1/alpha or more is at most alpha. The same with
 * -lambda for the other direction, each with alpha / 2. Two ready forms of this idea are the sign
 * test (c_t -> 0; Robbins 1970) and, for small lambda, exp(lambda S - lambda^2 V / 2) with the sum
 * S and the sum of squares V of the x, for which E <= 1 as cosh(y) <= exp(y^2 / 2) (de la Pena
 * 1999; Howard, Ramdas, McAuliffe and Sekhon 2021); that one loses its power where single rounds
 * are far out, which on shared machines they are.
 *
 * The order may be drawn for every second round alone, with its reverse in the next (arms_order):
 * where place alone decides the sign, the second takes back what the first had won, as
 * (1 + lambda u)(1 - lambda u) <= 1.
 *
 * c_t is twice the median distance of the rounds before t from their median: 1.35 standard
 * deviations of a normal distribution, where clipping costs 5% of the evidence (Huber 1964). It
 * does not depend on theta, so E_n falls as theta rises, and what is not rejected is an interval.
 *
 * Signs alone win at most a factor of 2 a round, so nothing could be called before the eighth. The
 * rest of the stake, a fifth, therefore assumes more: what two equal arms get within a round are
 * independent draws of one distribution F. F may be any, with modes, bursts and heavy tails, and
 * another one in each round. Then a line m that is known before the round separates the two, the
 * base below and the other above, with the chance F(m) (1 - F(m)) <= 1/4: a bet on that pays 4.
 * With the sums s_t of the two logarithms, m is half the median of the sums before t, and it
 * separates where
 *
 *   x_t - theta > |s_t - median of s_1 .. s_(t-1)|
 *
 * that is, where the arms differ by more than the level of the round moved. Both sums shift by
 * theta alike, so here too evidence falls as theta rises. A bet that is lost without x_t <= theta
 * leaves 2 * hedge; one round on the other side of theta ends this part.
 *
 * Equal arms are not independent where the first of a round always gets more, or the machine
 * drifts much faster than it varies: then a line separates them every time, and the drawn order
 * says which is above. So this part counts once both orders were drawn, which that explanation
 * does not survive. Where every round slows one of the two, in turns that are in step with ours,
 * signs alone are chance: equal arms are then called in up to 3%.
 */
#ifndef CONTEND_LIB_STATS_SEQUENTIAL_H
#define CONTEND_LIB_STATS_SEQUENTIAL_H

#include <stdbool.h>
#include <stddef.h>

/* Two arms in n rounds, in the order of those. All x and sums are finite. */
struct sequential {
    const double *x;     /* logarithm of the other's figure less that of the base's */
    const double *sum;   /* both together */
    const bool *swapped; /* the other came before the base */
    double *scale;       /* c_t, n of them: sequential_prepare */
    double *shift;       /* n, |s_t - median of those before|, 0 for the first: as scale */
    double *scratch;     /* n, for that */
    size_t n;
};

/* Fills scale[] and shift[]. */
void sequential_prepare(struct sequential *of);

/*
 * Logarithm of the evidence that the centre lies above theta, and below it: of 1/alpha' and more
 * it rejects at the level alpha'. The mean of the evidence of several is evidence against all of
 * them together, however they depend on each other (Vovk and Wang 2021).
 */
double sequential_above(const struct sequential *of, double theta);
double sequential_below(const struct sequential *of, double theta);

/*
 * All theta that are not rejected, with alpha / 2 on each side; infinite on a side where no
 * evidence could be enough yet: at 1% below six rounds it never is.
 */
enum {
    SEQUENTIAL_LEAST = 6,
    SEQUENTIAL_SIGNS = 12, /* rounds of one sign that nothing separates are enough */
};
struct sequential_interval {
    double low, high;
};
struct sequential_interval sequential_interval(const struct sequential *of, double alpha);

#endif
