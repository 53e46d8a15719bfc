/* A curve of work per second over cores: how many are enough. Pure. */
#ifndef CONTEND_VERDICT_SEARCH_KNEE_H
#define CONTEND_VERDICT_SEARCH_KNEE_H

#include <stddef.h>

struct knee_point {
    unsigned cores; /* ascending */
    double rate;    /* NaN = not measured */
};

/* Index of the smallest count whose rate is within `share` of the best one; n without any. */
size_t knee_enough(const struct knee_point *points, size_t n, double share);

/*
 * Index of the knee of a curve that rises and flattens: with both axes scaled to 0..1, where it
 * lies furthest above the straight line between its ends (Kneedle: Satopaa, Albrecht, Irwin and
 * Raghavan 2011, without smoothing). n where it is nowhere a tenth above it, as a line is not.
 */
size_t knee_find(const struct knee_point *points, size_t n);

#endif
