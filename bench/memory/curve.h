/*
 * Finds steps in a curve of latency over working set: the effective sizes of the caches.
 *
 * The curve, on log-log axes, is first made non-decreasing (isotonic regression: removes only
 * noise). It is then cut into pieces of constant latency that minimize squared error plus a price
 * per piece (optimal partitioning). Pieces of an octave or more are plateaus, shorter pieces the
 * slopes between them. A step is a rise by half or more from one plateau to the next. Its place is
 * where the curve has risen by a quarter of the step, in log terms: a chain that repeats one order
 * misses nearly every time once it no longer fits, so the foot of a step is at the cache's size.
 * Source: B. Jackson et al., "An algorithm for optimal partitioning of data on an interval", IEEE
 * Signal Processing Letters 12 (2005).
 */
#ifndef CONTEND_BENCH_MEMORY_CURVE_H
#define CONTEND_BENCH_MEMORY_CURVE_H

#include <stddef.h>

enum { CURVE_POINTS_MAX = 128, CURVE_STEPS_MAX = 8 };

struct curve_point {
    double size_bytes; /* ascending, two or more points per octave */
    double latency_ns; /* > 0 */
};

struct curve_step {
    double size_bytes; /* of the cache that ends here */
};

/* Fills steps[] in ascending order and returns how many; n <= CURVE_POINTS_MAX. */
size_t curve_find_steps(const struct curve_point *points, size_t n,
                        struct curve_step steps[CURVE_STEPS_MAX]);

/*
 * The load at which latency first exceeds `limit_ns`, interpolated between the two points around
 * it. `load[]` and `latency_ns[]` have n entries in order of rising load. NaN: latency never
 * exceeds the limit.
 */
double curve_find_knee(const double *load, const double *latency_ns, size_t n, double limit_ns);

#endif
