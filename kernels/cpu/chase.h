/*
 * A chain of dependent loads, one per cache line. Each line holds the address of the next, and all
 * lines form one cycle in random order, so that neither prefetchers nor out-of-order execution can
 * start a load before the previous load has ended.
 *
 * `memory` is an array of `lines` struct chase_line, aligned to 64 bytes.
 * Source: S. Sattolo, "An algorithm to generate a random cyclic permutation", Information
 * Processing Letters 22 (1986); here by insertion instead of swaps, so that the cycle can grow.
 */
#ifndef CONTEND_KERNELS_CPU_CHASE_H
#define CONTEND_KERNELS_CPU_CHASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { CHASE_LINE_BYTES = 64, CHASE_STEP = 64 };

struct chase_line {
    struct chase_line *next;
    uint64_t unused[7];
};

/*
 * Extends the cycle over lines 0..from-1 to lines 0..lines-1 (from <= lines < 2^32); from = 0
 * starts a new cycle. Each new line is inserted after a uniformly random earlier line. So a cycle
 * of n lines becomes one of n cycles of n + 1 lines, and no two cycles of n lines lead to the same
 * cycle: every cycle is equally likely.
 */
void chase_grow(struct chase_line *memory, size_t from, size_t lines, uint64_t seed);

/* The timed loop: `loads` dependent loads, rounded up to a multiple of CHASE_STEP. */
struct chase_line *chase_walk(struct chase_line *at, uint64_t loads);

/*
 * Checks that each line is the next of exactly one line. Returns the first line that points
 * outside, between lines, or to a line that an earlier line also points to; `lines` if all are
 * right. Reads sequentially and is fast, but does not notice several cycles (see chase_is_cycle).
 * `visited`: room for (lines + 63) / 64 words.
 */
size_t chase_find_fault(const struct chase_line *memory, size_t lines, uint64_t *visited);

/* True if a walk from line 0 stays inside and returns to it after exactly `lines` loads. */
bool chase_is_cycle(const struct chase_line *memory, size_t lines);

#endif
