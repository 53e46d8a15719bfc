/*
 * A thread of the policy SCHED_IDLE that keeps a CPU out of its idle states: whoever else wants to
 * run there does so at once.
 *
 *   rc = awake_start(&awake, os_cpu, err);
 *   ...
 *   awake_end(&awake);
 */
#ifndef CONTEND_BENCH_COMMON_AWAKE_H
#define CONTEND_BENCH_COMMON_AWAKE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "harness/lib/base/err.h"

/* Stays where it is from start to end. Zeroed, it is none. */
struct awake {
    unsigned os_cpu;
    bool started;
    atomic_bool over;
    _Atomic uint32_t state;
    int refused; /* -errno */
    pthread_t thread;
};

/* Returns when it runs. -ENOTSUP where the system refuses the thread, its CPU or its policy. */
int awake_start(struct awake *awake, unsigned os_cpu, struct err *err);

/* Fine for one that is none. */
void awake_end(struct awake *awake);

#endif
