/*
 * Steps in a curve of latency over working set: the caches as they are felt.
 *
 * The curve, on log-log axes and made non-decreasing (isotonic regression: noise only), is cut
 * into pieces of constant latency so that squared error plus a price a piece is least (optimal
 * partitioning). Pieces of an octave or more are plateaus, shorter ones the slopes between them. A
 * step is a rise by half or more from one plateau to the next. It lies where the curve has gone a
 * quarter of the way up, in log terms: a chain that goes round in one order misses nearly every
 * time as soon as it no longer fits, so the foot of a step is at the cache's size.
 * Source: B. Jackson et al., "An algorithm for optimal partitioning of data on an interval", IEEE
 * Signal Processing Letters 12 (2005).
 */
#ifndef CONTEND_BENCH_MEMORY_CURVE_H
#define CONTEND_BENCH_MEMORY_CURVE_H

#include <stddef.h>

enum { CURVE_POINTS_MAX = 128, CURVE_STEPS_MAX = 8 };

struct curve_point {
    double size_bytes; /* ascending, two or more points an octave */
    double latency_ns; /* > 0 */
};

struct curve_step {
    double size_bytes; /* of the cache that ends here */
};

/* Fills steps[] in ascending order and returns how many; n <= CURVE_POINTS_MAX. */
size_t curve_find_steps(const struct curve_point *points, size_t n,
                        struct curve_step steps[CURVE_STEPS_MAX]);

/*
 * Where latency passes `limit_ns`, as loads rise: interpolated between the two points around the
 * first that lies above it. `load[]` and `latency_ns[]` have n entries in order of rising load. NaN
 * where the limit is never passed.
 */
double curve_find_knee(const double *load, const double *latency_ns, size_t n, double limit_ns);

#endif
