/*
 * Who had the CPU when: a busy thread adds the CPU time that it gets to bins of time.
 *
 *   struct ran ran = {.bin_ns = 1000000, .nbins = BINS, .start_ns = clock_now_ns()};
 *   ran_busy(&ran, ns, cpu_ns, end_ns);       // in each thread, with bins ns[BINS] of its own
 */
#ifndef CONTEND_BENCH_OS_RAN_H
#define CONTEND_BENCH_OS_RAN_H

#include <stdint.h>

struct ran {
    uint64_t start_ns, bin_ns; /* clock_now_ns */
    unsigned nbins;
};

/*
 * Multiplies until the thread has had cpu_ns of CPU time or it is end_ns. Time beyond the last bin
 * is dropped; ns is NULL: all is. Errs by a few us a bin.
 */
void ran_busy(const struct ran *ran, uint64_t *ns, uint64_t cpu_ns, uint64_t end_ns);

#endif
