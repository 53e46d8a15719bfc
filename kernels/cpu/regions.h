/*
 * Parallel regions that only multiply (kernels/cpu/busy.h): each thread of an OpenMP team has an
 * equal part of the work, and OpenMP's implicit barrier ends the region. The time of a region
 * beyond its work is the overhead of the team.
 *
 * Source: J. M. Bull, "Measuring synchronisation and scheduling overheads in OpenMP", EWOMP 1999.
 */
#ifndef CONTEND_KERNELS_CPU_REGIONS_H
#define CONTEND_KERNELS_CPU_REGIONS_H

#include <stdint.h>

#include "kernels/cpu/busy.h"

/* The results of a thread, in its own cache lines. */
struct regions_thread {
    _Alignas(128) uint64_t chains[BUSY_CHAINS];
    uint64_t steps; /* so far */
};

/* Does one thread's part of a region, for teams that are not OpenMP's. rank: 0..team-1. */
void regions_share(struct regions_thread *thread, unsigned rank, unsigned team, uint64_t steps);

/*
 * Runs one region of `steps` steps of busy_run, divided among a team of at most `threads`. Calls
 * `mark(arg)` in each thread unless `mark` is NULL. Returns the number of threads in the team.
 */
unsigned regions_run(struct regions_thread *thread, unsigned threads, uint64_t steps,
                     void (*mark)(void *arg), void *arg);

#endif
