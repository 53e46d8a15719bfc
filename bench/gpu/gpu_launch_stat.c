#include "bench/gpu/gpu_launch_stat.h"

#include <math.h>

#include "harness/lib/stats.h"

const char *const launch_stat_names[] = {"p50", "p99", "max", NULL};

double launch_stat(double *values, size_t n, enum launch_stat stat)
{
    double median = stats_sort_median(values, n);
    if (stat == LAUNCH_P50)
        return median;
    return stat == LAUNCH_MAX ? values[n - 1] : stats_nearest_rank(values, n, 99);
}

unsigned launch_batch(double need, double one, unsigned least, unsigned most)
{
    double units = one > 0 ? ceil(need / one) : most;
    return units <= least ? least : units >= most ? most : (unsigned)units;
}
