#include "harness/verdict/pairs/floor.h"

#include <math.h>
#include <string.h>

double floor_of(const struct bench *bench, const char *metric, const char *unit)
{
    static const struct {
        const char *unit;
        double floor;
    } floors[] = {
        /* Two calls of the clock take some 50 ns; what is timed in batches has a share of that. */
        {"s", 1e-6},
        {"us", 0.1},
        {"ns", 0.2},
    };
    const struct bench_metric *own = bench_metric_find(bench, metric);
    double least = own ? own->least : 0;
    for (size_t i = 0; i < sizeof(floors) / sizeof(floors[0]); i++)
        if (!strcmp(unit, floors[i].unit))
            least = fmax(least, floors[i].floor);
    return least;
}
