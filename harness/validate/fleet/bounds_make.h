/*
 * Makes bounds (bounds.h) from the machines of a fleet.
 *
 * Figures are compared as logarithms: a rate that is halved is as far away as one that is doubled.
 *
 * - Reference: the median over machines.
 * - Spread: spread_of_distances to the reference. Of few machines it is not known: up to BOUNDS_FEW
 *   it is the prior, what was seen of such machines (5.2%: 4.2% from run to run, 3% from machine to
 *   machine), up to BOUNDS_SOME a mixture. It is widened by twice its own standard error.
 * - How far away a bound is: so that of all figures of a good machine together one is beyond its
 *   bounds with the probability BOUNDS_FALSE. By Bonferroni's inequality for normal values, times
 *   BOUNDS_HEAVIER, since no tail is normal, and the far end of one is not seen. Where BOUNDS_TAIL
 *   machines or more are there, also by the tail of the figure itself, where that gives more.
 * - A bound is at least BOUNDS_LEAST away: less is of no concern to anyone. It is at most
 *   BOUNDS_MOST away, or as far as normal values of the closer half are, which no bad batch widens:
 *   more is of concern, whatever the tails. So a rate that is halved, or a time that is doubled, is
 *   found.
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
#define BOUNDS_HEAVIER 1.5
enum { BOUNDS_FEW = 4, BOUNDS_SOME = 20, BOUNDS_OF_KIND = 3, BOUNDS_TAIL = 100 };

/*
 * Of ascending distances to a median: the larger of their median / 0.6745 (the median absolute
 * deviation, Hampel 1974) and, of BOUNDS_TAIL or more, their 95% point / 1.96: both are the
 * standard deviation where values are normal. At least 1%: equal values are luck.
 */
double spread_of_distances(const double *distances, size_t n);

/*
 * Makes them from the machines of the common kind; the others are left out. -ENODATA: there are no
 * figures; or of several kinds none has BOUNDS_OF_KIND machines, and more than any other: which of
 * them are the odd ones nobody can say; -ENOMEM. Free with bounds_free, also after an error.
 */
int bounds_make(const struct fleet *fleet, struct bounds *bounds, struct err *err);

#endif
