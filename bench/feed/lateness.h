/*
 * Who was waited for: from the times at which ranks came to the barriers of their steps.
 *
 * In step i, rank r is t_i(r) - min t_i late, and waits max t_i - t_i(r). The rank of the maximum
 * is the one that was waited for (of equal ones the first). Pure.
 */
#ifndef CONTEND_BENCH_FEED_LATENESS_H
#define CONTEND_BENCH_FEED_LATENESS_H

#include <stddef.h>
#include <stdint.h>

/* Sums of one rank over steps; zeroed = none yet. */
struct lateness {
    uint64_t last;    /* steps in which all others waited for it */
    uint64_t late_ns; /* in those: from when the first rank came until it did */
    uint64_t wait_ns; /* in all steps: from when it came until the last one did */
};

/* came_ns[r * steps + i]: when rank r came in step i, by a clock that all ranks share. */
void lateness_add(struct lateness *ranks, unsigned n, const uint64_t *came_ns, size_t steps);

#endif
