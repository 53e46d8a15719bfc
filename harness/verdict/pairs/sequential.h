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
 * c_t is twice the median distance of the rounds before t from their median: 1.35 standard
 * deviations of a normal distribution, where clipping costs 5% of the evidence (Huber 1964). It
 * does not depend on theta, so E_n falls as theta rises, and what is not rejected is an interval.
 */
#ifndef CONTEND_VERDICT_PAIRS_SEQUENTIAL_H
#define CONTEND_VERDICT_PAIRS_SEQUENTIAL_H

#include <stddef.h>

/* About n differences, in the order of their rounds. */
struct sequential {
    const double *x;
    double *scale;   /* c_t, n of them: sequential_scale */
    double *scratch; /* n, for that */
    size_t n;
};

/* Fills scale[]; `scratch` has room for n. All x are finite. */
void sequential_scale(struct sequential *of);

/*
 * Logarithm of the evidence that the centre lies above theta, and below it: of 1/alpha' and more
 * it rejects at the level alpha'. The mean of the evidence of several is evidence against all of
 * them together, however they depend on each other (Vovk and Wang 2021).
 */
double sequential_above(const struct sequential *of, double theta);
double sequential_below(const struct sequential *of, double theta);

/*
 * All theta that are not rejected, with alpha / 2 on each side; infinite on a side where no
 * evidence could be enough yet: below log(2 / alpha) / log(2) rounds it never is.
 */
struct sequential_interval {
    double low, high;
};
struct sequential_interval sequential_interval(const struct sequential *of, double alpha);

#endif
