/*
 * The list of benchmarks, as data. To add one: write bench/<folder>/<name>.c with one `const struct
 * bench bench_<name>`, which also says what its values are called and how they are drawn, and a
 * line with its name in the list here.
 */
#ifndef CONTEND_BENCH_REGISTRY_H
#define CONTEND_BENCH_REGISTRY_H

#include "harness/contract/bench.h"
#include "harness/contract/scenario.h"

/* clang-format off */
#define BENCH_LIST(X)     \
    X(pipeline)       \
    X(prep)           \
    X(train)          \
    X(serve)          \
    X(mem_bandwidth)  \
    X(mem_latency)    \
    X(loaded_latency) \
    X(numa_matrix)    \
    X(core_to_core)   \
    X(smt_pairs)      \
    X(false_sharing)  \
    X(cache_thrash)   \
    X(grain)          \
    X(threads)        \
    X(loader)         \
    X(cgroup)         \
    X(cpu_speed)      \
    X(idle_exit)      \
    X(context_switch) \
    X(wakeup_latency) \
    X(mutex) \
    X(priority_inversion) \
    X(fairness)           \
    X(migration)          \
    X(spawn)              \
    X(producer_consumer)  \
    X(read_path)      \
    X(event_loop)     \
    X(collective)     \
    X(gpu_launch)     \
    X(gpu_stream)     \
    X(gpu_matmul)     \
    X(gpu_copy)       \
    X(canary)         \
    X(gpu_canary)
/* clang-format on */

#define BENCH_DECLARE(name) extern const struct bench bench_##name;
BENCH_LIST(BENCH_DECLARE)

/* NULL-terminated, in the order in which `contend info` shows them. */
extern const struct bench *const bench_registry[];

/* Ends with name NULL (scenarios.c). */
extern const struct scenario scenario_registry[];

#endif
