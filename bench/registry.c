#include "bench/registry.h"

#include <stddef.h>

/* clang-format off: one a line, so that adding one is one line */
const struct bench *const bench_registry[] = {
    &bench_pipeline,
    &bench_mem_bandwidth,
    &bench_mem_latency,
    &bench_loaded_latency,
    &bench_numa_matrix,
    &bench_core_to_core,
    &bench_smt_pairs,
    &bench_false_sharing,
    &bench_cache_thrash,
    NULL,
};
/* clang-format on */
