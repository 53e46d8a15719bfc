/*
 * Makes bounds (bounds.h) from the machines of a fleet.
 *
 * Figures are compared as logarithms: a rate that is halved is as far away as one that is doubled.
 *
 * - Reference: the median over machines.
 * - Spread: as spread.h makes it of the distances to the reference, on each side of it. Of few
 *   machines it is not known: up to BOUNDS_FEW it is the prior, what was seen of such machines
 *   (5.2%: 4.2% from run to run, 3% from machine to machine), up to BOUNDS_SOME a mixture. It is
 *   widened by twice its own standard error, of half of the machines on each side: 1 + 3.3 /
 *   sqrt(n).
 * - How many spreads away a bound is: so that of all figures of a good machine together one is
 *   beyond its bounds with the probability BOUNDS_FALSE. By Bonferroni's inequality for normal
 *   values, times 1.15 + 3 / sqrt(n), n of 100 or more, since no tail is normal, and that of few
 *   machines is not seen. And, where it is more, from the machines themselves: of each machine the
 *   figure that is farthest away, of all machines the distribution of those (the maximum statistic
 *   of Westfall and Young 1993, which needs no independence), continued as tail.h does. Figures of
 *   which a larger share of machines is more than 4 spreads away than normal values are classes of
 *   their own: they do not widen the bounds of the others.
 * - A bound is at least BOUNDS_LEAST away: less is of no concern to anyone. It is at most
 *   BOUNDS_MOST away, or as far as normal values of that spread are: more is of concern, whatever
 *   the tails. So a rate that is halved, or a time that is doubled, is found.
 *
 * Odd machines are left out and the bounds made again, until none is left.
 *
 * Pure.
 */
#ifndef CONTEND_VALIDATE_FLEET_BOUNDS_MAKE_H
#define CONTEND_VALIDATE_FLEET_BOUNDS_MAKE_H

#include "harness/validate/fleet/bounds.h"

#define BOUNDS_FALSE 3e-4
#define BOUNDS_LEAST 0.10
#define BOUNDS_MOST 0.40
#define BOUNDS_PRIOR 0.052
enum { BOUNDS_FEW = 4, BOUNDS_SOME = 20, BOUNDS_OF_KIND = 3 };

/*
 * Makes them from the machines of the common kind; the others are left out. -ENODATA: there are no
 * figures; or of several kinds none has BOUNDS_OF_KIND machines, and more than any other: which of
 * them are the odd ones nobody can say; -ENOMEM. Free with bounds_free, also after an error.
 */
int bounds_make(const struct fleet *fleet, struct bounds *bounds, struct err *err);

#endif
