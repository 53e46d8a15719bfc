/*
 * The list of benchmarks, as data. To add a benchmark, write bench/<folder>/<name>.c with one
 * `const struct bench bench_<name>`, which also names its values and describes its figures. Then
 * add a line with its name and its family to the list here, next to others of that family.
 */
#ifndef CONTEND_BENCH_REGISTRY_H
#define CONTEND_BENCH_REGISTRY_H

#include "harness/engine/contract/bench.h"
#include "harness/engine/contract/scenario.h"

/* clang-format off */
#define BENCH_LIST(X)               \
    X(pipeline, "workers")          \
    X(prep, "workers")              \
    X(train, "workers")             \
    X(serve, "workers")             \
    X(grain, "workers")             \
    X(threads, "workers")           \
    X(loader, "workers")            \
    X(cgroup, "workers")            \
    X(dose, "workers")              \
    X(mem_bandwidth, "memory")      \
    X(mem_latency, "memory")        \
    X(loaded_latency, "memory")     \
    X(numa_matrix, "memory")        \
    X(cache_thrash, "memory")       \
    X(core_to_core, "CPUs")         \
    X(smt_pairs, "CPUs")            \
    X(false_sharing, "CPUs")        \
    X(cpu_speed, "CPUs")            \
    X(idle_exit, "CPUs")            \
    X(context_switch, "system")     \
    X(wakeup_latency, "system")     \
    X(spawn, "system")              \
    X(priority_inversion, "system") \
    X(fairness, "system")           \
    X(page_fault, "system")         \
    X(event_loop, "system")         \
    X(mutex, "system")              \
    X(producer_consumer, "system")  \
    X(interpreter_lock, "system")   \
    X(burn, "system")               \
    X(read_path, "I/O")             \
    X(gpu_copy, "GPUs")             \
    X(gpu_launch, "GPUs")           \
    X(gpu_stream, "GPUs")           \
    X(gpu_matmul, "GPUs")           \
    X(gpu_memory, "GPUs")           \
    X(collective, "GPUs")           \
    X(canary, "controls")           \
    X(gpu_canary, "controls")
/* clang-format on */

#define BENCH_DECLARE(name, family) extern const struct bench bench_##name;
BENCH_LIST(BENCH_DECLARE)

/* NULL-terminated, in the order in which `contend info` shows them. */
extern const struct bench *const bench_registry[];
/* The family of each benchmark, in the same order. */
extern const char *const bench_families[];

/* Ends with name NULL (scenarios.c). */
extern const struct scenario scenario_registry[];

#endif
