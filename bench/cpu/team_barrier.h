/*
 * Where the threads of a team meet after each part of their work, by the ways in which inference
 * engines wait there when they are built without OpenMP.
 *
 * spin    until the last one comes, however long: llama.cpp's ggml_barrier
 * yield   that for 2048 looks, then sched_yield between looks: llama.cpp#29258
 * futex   asleep from the first look on, in the manner of llama.cpp#13079
 *
 * Where a team has more threads than CPUs, a thread that spins has the CPU that the last one needs.
 */
#ifndef CONTEND_BENCH_CPU_TEAM_BARRIER_H
#define CONTEND_BENCH_CPU_TEAM_BARRIER_H

#include <stdatomic.h>
#include <stdint.h>

enum team_wait { TEAM_SPIN, TEAM_YIELD, TEAM_FUTEX };

/* Set n and wait; the rest is zero. Each counter has a pair of cache lines of its own. */
struct team_barrier {
    unsigned n; /* threads that meet */
    enum team_wait wait;
    _Alignas(128) _Atomic uint32_t arrived;
    _Alignas(128) _Atomic uint32_t passed; /* raised by the last one of each meeting */
};

/* Returns when all n have come. What each wrote before is visible to all behind it. */
void team_barrier_wait(struct team_barrier *barrier);

#endif
