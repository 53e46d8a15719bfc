#include "bench/registry.h"

#include <stddef.h>

/* One a line, so that branches that add one merge. */
/* clang-format off */
const struct bench *const bench_registry[] = {
    &bench_pipeline,
    &bench_prep,
    &bench_train,
    &bench_mem_bandwidth,
    &bench_mem_latency,
    &bench_loaded_latency,
    &bench_numa_matrix,
    &bench_core_to_core,
    &bench_smt_pairs,
    &bench_false_sharing,
    &bench_cache_thrash,
    &bench_collective,
    &bench_gpu_launch,
    &bench_gpu_stream,
    &bench_gpu_matmul,
    &bench_gpu_copy,
    NULL,
};
/* clang-format on */
