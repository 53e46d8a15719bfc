/*
 * A thread counts in memory, as programs do that keep a counter a thread in one array. The cost
 * depends on who else writes the line: false sharing.
 *
 * The increments are atomic, so each has to own the line. Plain ones stay in the store buffer while
 * the line is away, hundreds at a time, and would show the buffer's depth instead.
 *
 * Counters are bytes, so that SHARE_WRITERS threads have each their own in one cache line. One
 * thread a counter.
 *
 * Source: W. Bolosky & M. Scott, "False sharing and its effect on shared memory performance",
 * SEDMS 1993; Intel's optimisation manual, "adjacent cache line prefetch" (pairs of 64 B lines).
 */
#ifndef CONTEND_KERNELS_CPU_SHARE_H
#define CONTEND_KERNELS_CPU_SHARE_H

#include <stdatomic.h>
#include <stdint.h>

enum { SHARE_LINE_BYTES = 64, SHARE_WRITERS = SHARE_LINE_BYTES };

/* `writes` increments. */
void share_count(_Atomic uint8_t *counter, uint32_t writes);

#endif
