/*
 * How far away a value is that is beyond with a small probability: of normal values, and of maxima
 * whose distribution is known up to some point. Pure.
 */
#ifndef CONTEND_VALIDATE_FLEET_TAIL_H
#define CONTEND_VALIDATE_FLEET_TAIL_H

#include <stddef.h>

/* Of a standard normal: above it with that probability, 1e-12 to 0.5. 0.025 gives 1.96. */
double tail_normal(double probability);

/*
 * What is exceeded with the probability `beyond`, of values that are each the largest of many: the
 * generalised extreme value distribution (Jenkinson 1955) through three points: the median, the
 * point that 5% are above, of more than 1000 values 50 of them, but no fewer than 0.5%, and one in
 * between. Half as many wild values hardly move it. Its shape, 0 (Gumbel) to 0.5, is drawn towards
 * 0 where `n` is small, as n / (n + 500). Sorts the values; NaN of fewer than 20.
 */
double tail_of_maxima(double *maxima, size_t n, double beyond);

#endif
