/* Statistics of gpu_launch's intervals. Pure. */
#ifndef CONTEND_BENCH_GPU_GPU_LAUNCH_STAT_H
#define CONTEND_BENCH_GPU_GPU_LAUNCH_STAT_H

#include <stddef.h>

enum launch_stat { LAUNCH_P50, LAUNCH_P99, LAUNCH_MAX, LAUNCH_STATS };

/* "p50", "p99", "max" */
extern const char *const launch_stat_names[];

/*
 * Sorts values[0..n-1], n >= 1. p50 is the median. p99 is the smallest value with 99% of all values
 * at or below it: of up to 100 values, the largest or second largest.
 */
double launch_stat(double *values, size_t n, enum launch_stat stat);

/* Units of length `one` that fill an interval of length `need`, limited to least..most. */
unsigned launch_batch(double need, double one, unsigned least, unsigned most);

#endif
