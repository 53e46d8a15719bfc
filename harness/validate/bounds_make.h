/*
 * Makes bounds (bounds.h) from the machines of a fleet.
 *
 * Figures are compared as logarithms: half a rate is as far away as twice the rate.
 *
 * - Reference: the median over machines.
 * - Spread: spread_of_distances to the reference. Few machines do not show it. Up to BOUNDS_FEW
 *   machines the prior is used, as measured on such machines: 5.2%, from 4.2% between runs and 3%
 *   between machines. Up to BOUNDS_SOME it is a mixture of both. It is widened by twice its own
 *   standard error.
 * - Distance of a bound: the probability that a good machine has any figure beyond its bounds is
 *   BOUNDS_FALSE. The distance follows from Bonferroni's inequality for normal values, times
 *   BOUNDS_HEAVIER: no tail is normal, and its far end is not seen. From BOUNDS_TAIL machines on,
 *   the tail of the figure itself counts if it gives more.
 * - A bound is at least BOUNDS_LEAST away, because less does not matter. It is at most BOUNDS_MOST
 *   away, or as far as for normal values with the spread of the closer half, which no bad batch
 *   widens. So a rate that is halved, or a time that is doubled, is found.
 *
 * Odd machines are left out and the bounds made again, a few times at most, until none is odd.
 *
 * Pure.
 */
#ifndef CONTEND_VALIDATE_BOUNDS_MAKE_H
#define CONTEND_VALIDATE_BOUNDS_MAKE_H

#include "harness/validate/bounds.h"

#define BOUNDS_FALSE 3e-4
#define BOUNDS_LEAST 0.10
#define BOUNDS_MOST 0.40
#define BOUNDS_PRIOR 0.052
#define BOUNDS_HEAVIER 1.5
enum { BOUNDS_FEW = 4, BOUNDS_SOME = 20, BOUNDS_OF_KIND = 3, BOUNDS_TAIL = 100 };

/*
 * The spread of ascending distances to a median: the median distance / 0.6745 (the median absolute
 * deviation, Hampel 1974), or from BOUNDS_TAIL distances on the 95th percentile / 1.96 if larger.
 * Both are the standard deviation if values are normal. At least 1%: equal values are luck.
 */
double spread_of_distances(const double *distances, size_t n);

/*
 * Makes bounds from the machines of the most common kind; the others are left out. -ENODATA: no
 * figures, or of several kinds none has both BOUNDS_OF_KIND machines and more than any other kind,
 * so that the odd ones are unknown; -ENOMEM. Free with bounds_free, also after an error.
 */
int bounds_make(const struct fleet *fleet, struct bounds *bounds, struct err *err);

#endif
