#include "harness/validate/fleet/spread.h"

#include <math.h>

#include "harness/lib/stats/stats.h"

double spread_of_distances(const double *distances, size_t n)
{
    double spread = stats_median(distances, n) / 0.6745;
    return n < SPREAD_MANY ? spread : fmax(spread, stats_percentile(distances, n, 0.95) / 1.96);
}
