/*
 * Work with which one thread fills an execution unit, so that a second thread on the same core
 * takes time from the first: a probe for SMT siblings.
 *
 * BUSY_CHAINS independent chains x' = A x + C (mod 2^64). A 64-bit multiplication takes 3 to 5
 * cycles, and cores start one per cycle (a few start two), so the chains together keep the
 * multiplier full. One step of all chains takes about BUSY_CHAINS cycles alone, and twice that with
 * a busy sibling. Touches no memory.
 *
 * Source: constants of D. Knuth's MMIX generator; latencies and throughput of IMUL and MADD in
 * A. Fog, "Instruction tables", and Arm's software optimisation guides.
 */
#ifndef CONTEND_KERNELS_CPU_BUSY_H
#define CONTEND_KERNELS_CPU_BUSY_H

#include <stdbool.h>
#include <stdint.h>

enum { BUSY_CHAINS = 8 };

/* Advances all chains by `steps`. */
void busy_run(uint64_t chains[BUSY_CHAINS], uint64_t steps);

/* The value of a chain after `steps` from `start`; takes O(log steps). */
uint64_t busy_expect(uint64_t start, uint64_t steps);

/* busy_begin sets start values from `seed`; busy_is_right: `chains` are `steps` steps from them. */
void busy_begin(uint64_t chains[BUSY_CHAINS], uint64_t seed);
bool busy_is_right(const uint64_t chains[BUSY_CHAINS], uint64_t seed, uint64_t steps);

#endif
