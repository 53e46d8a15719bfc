/*
 * A SCHED_IDLE thread that keeps a CPU out of its idle states. Any other thread that wants the CPU
 * gets it at once.
 *
 *   rc = awake_start(&awake, os_cpu, err);
 *   ...
 *   awake_end(&awake);
 */
#ifndef CONTEND_BENCH_CPU_AWAKE_H
#define CONTEND_BENCH_CPU_AWAKE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "harness/lib/err.h"

/* Must not move between start and end. Zeroed = not started. */
struct awake {
    unsigned os_cpu;
    bool started;
    atomic_bool stop;
    _Atomic uint32_t state;
    int refused; /* -errno */
    pthread_t thread;
};

/* Returns once the thread runs. -ENOTSUP if the system refuses the thread, its CPU or its
 * policy. */
int awake_start(struct awake *awake, unsigned os_cpu, struct err *err);

/* Does nothing if not started. */
void awake_end(struct awake *awake);

#endif
