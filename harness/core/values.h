/*
 * Values that a benchmark emits under keys of its own, and why some could not be had; lives in
 * shared memory. See bench_emit and bench_emit_absent.
 */
#ifndef CONTEND_CORE_VALUES_H
#define CONTEND_CORE_VALUES_H

#include <stdint.h>

#include "harness/base/err.h"

/* 256 CPUs have 32,640 pairs; two metrics a pair fit. */
enum { VALUES_MAX = 1 << 17, VALUE_KEY_MAX = 68, VALUE_REASONS_MAX = 512 };

struct value {
    double value;    /* NaN where there is a reason */
    uint32_t metric; /* index in the benchmark's metrics[] */
    uint32_t reason; /* 1 + index of why there is none; 0 = there is one */
    char key[VALUE_KEY_MAX];
};

struct value_log {
    uint32_t n, nreasons;
    struct value value[VALUES_MAX];
    struct err reason[VALUE_REASONS_MAX]; /* values that are absent alike share one */
};

#endif
