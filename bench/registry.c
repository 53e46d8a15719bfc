#include "bench/registry.h"

#include <stddef.h>

const struct bench *const bench_registry[] = {
    &bench_pipeline,       &bench_mem_bandwidth, &bench_mem_latency,
    &bench_loaded_latency, &bench_numa_matrix,   NULL,
    &bench_pipeline,       &bench_core_to_core,  &bench_smt_pairs,
    &bench_false_sharing,  &bench_cache_thrash,  NULL,
};
