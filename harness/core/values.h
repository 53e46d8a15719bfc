/* Values that a benchmark emits under keys of its own; lives in shared memory. See bench_emit. */
#ifndef CONTEND_CORE_VALUES_H
#define CONTEND_CORE_VALUES_H

#include <stdint.h>

/* 256 CPUs have 32,640 pairs; two metrics a pair fit. */
enum { VALUES_MAX = 1 << 17, VALUE_KEY_MAX = 68 };

struct value {
    double value;
    uint32_t metric; /* index in the benchmark's metrics[] */
    char key[VALUE_KEY_MAX];
};

struct value_log {
    uint32_t n;
    struct value value[VALUES_MAX];
};

#endif
