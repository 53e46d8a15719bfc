/* Counts of threads or workers that a scan goes through. */
#ifndef CONTEND_BENCH_COMMON_COUNTS_H
#define CONTEND_BENCH_COMMON_COUNTS_H

#include <stddef.h>

/* Writes 1, 2, 4, ... and `most` itself, at most `n` (>= 1) of them; returns how many. */
size_t counts_doubled(unsigned most, unsigned *counts, size_t n);

#endif
