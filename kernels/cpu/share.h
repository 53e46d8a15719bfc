/*
 * A thread increments its counter in memory, as in programs with an array of one counter per
 * thread. The cost depends on which other threads write the same cache line: false sharing.
 *
 * The increments are atomic, so each needs ownership of the line. Plain increments would stay in
 * the store buffer while another CPU owns the line, and would show the depth of the buffer instead.
 *
 * Counters are bytes, so that a cache line has one for each of SHARE_WRITERS threads. Only one
 * thread may use a counter.
 *
 * Source: W. Bolosky & M. Scott, "False sharing and its effect on shared memory performance",
 * SEDMS 1993; Intel's optimisation manual, "adjacent cache line prefetch" (pairs of 64 B lines).
 */
#ifndef CONTEND_KERNELS_CPU_SHARE_H
#define CONTEND_KERNELS_CPU_SHARE_H

#include <stdatomic.h>
#include <stdint.h>

enum { SHARE_LINE_BYTES = 64, SHARE_WRITERS = SHARE_LINE_BYTES };

/* Makes `writes` increments. */
void share_count(_Atomic uint8_t *counter, uint32_t writes);

#endif
