/* Statistics of gpu_launch's intervals. Pure. */
#ifndef CONTEND_BENCH_GPU_GPU_LAUNCH_STAT_H
#define CONTEND_BENCH_GPU_GPU_LAUNCH_STAT_H

#include <stddef.h>

enum launch_stat { LAUNCH_P50, LAUNCH_P99, LAUNCH_MAX, LAUNCH_STATS };

/* "p50", "p99", "max" */
extern const char *const launch_stat_names[];

/*
 * Sorts values[0..n-1], n >= 1. p50 is the median; p99 the least value that 99% of all are not
 * above, so of 100 or fewer values the largest but one or the largest.
 */
double launch_stat(double *values, size_t n, enum launch_stat stat);

/* How many units of `one` an interval needs to be `need` long, within least..most. */
unsigned launch_batch(double need, double one, unsigned least, unsigned most);

#endif
