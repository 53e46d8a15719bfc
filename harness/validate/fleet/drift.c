#include "harness/validate/fleet/drift.h"

#include <math.h>

#include "harness/lib/stats/stats.h"
#include "harness/validate/fleet/spread.h"

double drift_change(const double *logarithms, size_t n)
{
    double slopes[DRIFT_RUNS_MOST * (DRIFT_RUNS_MOST - 1) / 2];
    size_t count = 0;
    for (size_t i = 0; i < n; i++)
        for (size_t j = i + 1; j < n; j++)
            slopes[count++] = (logarithms[j] - logarithms[i]) / (double)(j - i);
    return stats_sort_median(slopes, count) * (double)(n - 1);
}

double drift_spread(size_t n)
{
    double runs = (double)n;
    return (runs - 1) * sqrt(12 / (runs * (runs * runs - 1)));
}

double drift_noise(const struct fleet *fleet, uint32_t metric, double *scratch)
{
    size_t count = 0;
    for (size_t i = fleet->first[metric]; i < fleet->first[metric + 1]; i++) {
        const struct fleet_cell *cell = &fleet->cells[i];
        for (size_t v = cell->first + 1; v < cell->first + cell->nvalues; v++) {
            double before = (double)fleet->values[v - 1].value;
            double after = (double)fleet->values[v].value;
            if (before > 0 && after > 0)
                scratch[count++] = fabs(log(after / before));
        }
    }
    count = stats_sort(scratch, count);
    if (count < DRIFT_PAIRS)
        return DRIFT_PRIOR;
    /* Of a difference of two. */
    return fmax(spread_of_distances(scratch, count), SPREAD_LEAST) / sqrt(2);
}
