/*
 * Which rank the others waited for, from the times at which ranks came to the barriers of their
 * steps.
 *
 * In step i, rank r is t_i(r) - min t_i late, and waits max t_i - t_i(r). The others wait for the
 * rank of the maximum (the first, if several are equal). Pure.
 */
#ifndef CONTEND_BENCH_FEED_LATENESS_H
#define CONTEND_BENCH_FEED_LATENESS_H

#include <stddef.h>
#include <stdint.h>

/* Sums of one rank over steps; zeroed = none yet. */
struct lateness {
    uint64_t last;    /* steps in which this rank came last */
    uint64_t late_ns; /* sum over those steps: how long after the first rank it came */
    uint64_t wait_ns; /* sum over all steps: how long before the last rank it came */
};

/* Adds steps to ranks[n]. arrived_ns[r * steps + i]: when rank r came in step i, on a shared clock.
 */
void lateness_add(struct lateness *ranks, unsigned n, const uint64_t *arrived_ns, size_t steps);

#endif
