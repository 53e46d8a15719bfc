/*
 * Values that a benchmark emits, where along its dimensions each stands, why some could not be had,
 * and what others may not show; lives in shared memory. See bench_emit, bench_emit_absent and
 * bench_emit_doubt.
 */
#ifndef CONTEND_CONTRACT_VALUES_H
#define CONTEND_CONTRACT_VALUES_H

#include <stdint.h>

#include "harness/contract/dims.h"
#include "harness/lib/base/err.h"

/* 256 CPUs have 32,640 pairs; two metrics a pair fit. */
enum { VALUES_MAX = 1 << 17, VALUE_REASONS_MAX = 512 };

struct value {
    double value;    /* NaN = there is none */
    uint32_t metric; /* index in the benchmark's metrics[] */
    uint32_t reason; /* 1 + index of why there is none, or what it may not show; 0 = of neither */
    struct dims dims;
};

struct value_log {
    uint32_t n, nreasons;
    uint32_t lost; /* for which there was no room */
    struct value value[VALUES_MAX];
    struct err reason[VALUE_REASONS_MAX]; /* shared by values alike; code 0 = of a doubt */
};

#endif
