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

/* Another CPU at a given distance from the first one that this worker may use, as reported. */
enum near {
    NEAR_SIBLING, /* another thread of its core */
    NEAR_CACHE,   /* another core under its last-level cache */
    NEAR_NODE,    /* another last-level cache, the same NUMA node and package */
    NEAR_REMOTE,  /* another NUMA node or package */
    NEARS
};

/* "all", and "sibling", "cache", "node", "remote", NULL: for options and keys. */
extern const char *const near_names[];

/* The place in machine->cpus of the first such CPU. -ENOTSUP, with the name of the missing one. */
int near_find(const struct bench_machine *machine, enum near near, unsigned *place,
              struct err *err);

#endif
