/*
 * A standard deviation from distances to a median, or between neighbours, that sees heavy tails
 * where there are values enough, and that 5% of wild distances do not move. Pure.
 */
#ifndef CONTEND_VALIDATE_FLEET_SPREAD_H
#define CONTEND_VALIDATE_FLEET_SPREAD_H

#include <stddef.h>

/* Equal values are luck: a spread of logarithms is taken as this much at least. */
#define SPREAD_LEAST 0.01

/* Below so many the far points of a distribution are those of single values. */
enum { SPREAD_MANY = 100 };

/*
 * Of ascending distances, all >= 0: the larger of their median / 0.6745 (the median absolute
 * deviation, Hampel 1974) and, of SPREAD_MANY or more, their 95% point / 1.96: both are the
 * standard deviation where values are normal. NaN of none.
 */
double spread_of_distances(const double *distances, size_t n);

#endif
