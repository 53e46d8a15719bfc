/*
 * A barrier for the threads of a team. Threads wait in one of the ways of inference engines that
 * are built without OpenMP:
 *
 * spin    polls until the last thread comes: llama.cpp's ggml_barrier
 * yield   polls 2048 times, then calls sched_yield between polls: llama.cpp#29258
 * futex   sleeps from the first poll on, in the manner of llama.cpp#13079
 *
 * With more threads than CPUs, a spinning thread occupies the CPU that the last thread needs.
 */
#ifndef CONTEND_BENCH_CPU_GRAIN_H
#define CONTEND_BENCH_CPU_GRAIN_H

#include <stdatomic.h>
#include <stdint.h>

enum team_wait { TEAM_SPIN, TEAM_YIELD, TEAM_FUTEX };

/* Set n and wait; the rest is zero. Each counter has two cache lines of its own. */
struct team_barrier {
    unsigned n; /* threads */
    enum team_wait wait;
    _Alignas(128) _Atomic uint32_t arrived;
    _Alignas(128) _Atomic uint32_t passed; /* raised by the last thread to arrive */
};

/* Returns when all n threads have arrived. Their earlier writes are then visible to all of them. */
void team_barrier_wait(struct team_barrier *barrier);

#endif
