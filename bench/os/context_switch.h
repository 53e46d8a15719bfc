/*
 * Runs a function in two threads or two processes at once, each pinned to a CPU. The two are called
 * members 0 and 1.
 *
 *   rc = cpu_pair_run(&(struct cpu_pair){false, {0, 1}, run, arg}, err);
 *
 * This runs run(arg, 0) on CPU 0 and run(arg, 1) on CPU 1.
 *
 * With processes, a member sees the other's writes only in shared memory.
 */
#ifndef CONTEND_BENCH_OS_CONTEXT_SWITCH_H
#define CONTEND_BENCH_OS_CONTEXT_SWITCH_H

#include <stdbool.h>

#include "harness/engine/contract/bench.h"
#include "harness/engine/contract/device.h"
#include "harness/lib/err.h"

struct cpu_pair {
    bool processes;
    unsigned os_cpus[2];
    void (*run)(void *arg, unsigned index);
    void *arg;
    struct cpu_samples *cpu_samples; /* threads register here; may be NULL */
};

/*
 * Calls `run` in both members once both are pinned, and waits until both have returned. -ENOTSUP:
 * the system refuses a thread, a process or a CPU; -EIO: a signal ended a process; -ENOMEM.
 */
int cpu_pair_run(const struct cpu_pair *cpu_pair, struct err *err);

#endif
