#include "harness/verdict/search/knee.h"

#include <math.h>

static const double knee_least = 0.1;

static double best_of(const struct knee_point *points, size_t n)
{
    double best = NAN;
    for (size_t i = 0; i < n; i++)
        best = fmax(best, points[i].rate); /* passes over NaN */
    return best;
}

size_t knee_enough(const struct knee_point *points, size_t n, double share)
{
    double best = best_of(points, n);
    for (size_t i = 0; i < n; i++)
        if (points[i].rate >= best * (1 - share))
            return i;
    return n;
}

size_t knee_find(const struct knee_point *points, size_t n)
{
    size_t first = 0, last = n, knee = n;
    double highest = knee_least;
    while (first < n && isnan(points[first].rate))
        first++;
    while (last > first && isnan(points[last - 1].rate))
        last--;
    if (last < first + 3)
        return n;
    double best = best_of(points, n), lowest = points[first].rate;
    double width = (double)points[last - 1].cores - points[first].cores;
    for (size_t i = first; i < last; i++) {
        double x = ((double)points[i].cores - points[first].cores) / width;
        double y = (points[i].rate - lowest) / (best - lowest);
        if (y - x > highest) {
            highest = y - x;
            knee = i;
        }
    }
    return knee;
}
