/*
 * Parallel regions that do nothing but multiply (kernels/cpu/busy.h): each thread of an OpenMP team
 * has an equal part of the work, and at the end they wait for each other, as OpenMP has it. The
 * time of a region beyond its work is the price of the team.
 *
 * Source: J. M. Bull, "Measuring synchronisation and scheduling overheads in OpenMP", EWOMP 1999.
 */
#ifndef CONTEND_KERNELS_CPU_REGIONS_H
#define CONTEND_KERNELS_CPU_REGIONS_H

#include <stdint.h>

#include "kernels/cpu/busy.h"

/* The results of a thread, in cache lines of its own. */
struct regions_thread {
    _Alignas(128) uint64_t chains[BUSY_CHAINS];
    uint64_t steps; /* so far */
};

/* A thread's part of a region, for teams of another kind: rank 0..team-1. */
void regions_share(struct regions_thread *thread, unsigned rank, unsigned team, uint64_t steps);

/*
 * One region of `steps` steps of busy_run, divided among a team of at most `threads`; `mark(arg)`
 * is called in each thread, or NULL. Returns the threads of the team.
 */
unsigned regions_run(struct regions_thread *thread, unsigned threads, uint64_t steps,
                     void (*mark)(void *arg), void *arg);

#endif
