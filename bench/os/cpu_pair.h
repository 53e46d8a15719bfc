/*
 * Two players that hand a ball to each other: two threads, or two processes, each pinned to a CPU.
 *
 *   rc = cpu_pair_run(&(struct cpu_pair){false, {0, 1}, play, arg}, err);    // play(arg, who)
 * in both
 *
 * The other side sees a process's writes only in memory that is shared.
 */
#ifndef CONTEND_BENCH_OS_CPU_PAIR_H
#define CONTEND_BENCH_OS_CPU_PAIR_H

#include <stdbool.h>

#include "harness/contract/bench.h"
#include "harness/contract/cpu_samples.h"
#include "harness/lib/base/err.h"

struct cpu_pair {
    bool processes;
    unsigned os_cpus[2];
    void (*play)(void *arg, unsigned who);
    void *arg;
    struct cpu_samples *cpu_samples; /* of threads; may be NULL */
};

/*
 * Runs both from the moment that both are on their CPUs, to their ends. -ENOTSUP where the system
 * starts no more, or refuses a CPU; -EIO where a process was ended by something else.
 */
int cpu_pair_run(const struct cpu_pair *cpu_pair, struct err *err);

#endif
