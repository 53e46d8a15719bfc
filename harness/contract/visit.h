/*
 * Which CPUs a worker's threads ran on, and when: written by the threads themselves, one mark at
 * the start of each parallel region, at most one a millisecond and thread. Costs a clock read and
 * a getcpu (both vDSO), under 50 ns. Lives in shared memory, so that it outlives the worker.
 *
 * The first mark of a thread also registers it as a member of the team: the split of wall time
 * into on-CPU, run queue and blocked counts team threads only, not a driver's helpers.
 */
#ifndef CONTEND_CONTRACT_VISIT_H
#define CONTEND_CONTRACT_VISIT_H

#include <stdatomic.h>
#include <stdint.h>

enum { VISIT_THREADS = 512, VISIT_MARKS = 1024, VISIT_INTERVAL_NS = 1000000 };

struct visit {
    uint64_t at_ns; /* clock_now_ns */
    uint32_t os_cpu;
};

struct visit_thread {
    _Atomic int tid;
    _Atomic uint32_t marks; /* filled entries of mark[], the last ones: a command begins with */
    uint32_t oldest;        /* its imports */
    uint64_t last_ns;
    struct visit mark[VISIT_MARKS];
};

struct visit_log {
    _Atomic uint32_t recording; /* 0: threads register, but leave no marks (warm-up) */
    _Atomic uint32_t threads;   /* registered so far; may exceed VISIT_THREADS, then not kept */
    struct visit_thread thread[VISIT_THREADS];
};

/* The same of a thread of another process, as somebody else has seen it; one writer alone. */
void visit_note(struct visit_log *log, int tid, unsigned os_cpu, uint64_t at_ns);

/* Registers the calling thread and leaves a mark. One log a process. NULL: does nothing. */
void visit_mark(struct visit_log *log);

#endif
