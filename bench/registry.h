/*
 * What there is to run, as data. Adding a benchmark: write bench/<name>.c with one `const struct
 * bench bench_<name>`, and add it to the list here and in registry.c.
 */
#ifndef CONTEND_BENCH_REGISTRY_H
#define CONTEND_BENCH_REGISTRY_H

#include "harness/core/bench.h"
#include "harness/core/scenario.h"

extern const struct bench bench_pipeline;
extern const struct bench bench_prep;
extern const struct bench bench_train;
extern const struct bench bench_mem_bandwidth;
extern const struct bench bench_mem_latency;
extern const struct bench bench_loaded_latency;
extern const struct bench bench_numa_matrix;
extern const struct bench bench_core_to_core;
extern const struct bench bench_smt_pairs;
extern const struct bench bench_false_sharing;
extern const struct bench bench_cache_thrash;
extern const struct bench bench_collective;
extern const struct bench bench_gpu_launch;
extern const struct bench bench_gpu_stream;
extern const struct bench bench_gpu_matmul;
extern const struct bench bench_gpu_copy;

/* NULL-terminated, in the order in which `contend list` shows them. */
extern const struct bench *const bench_registry[];

/* Ends with name NULL (scenarios.c). */
extern const struct scenario scenario_registry[];

#endif
