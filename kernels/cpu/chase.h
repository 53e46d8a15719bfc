/*
 * A chain of dependent loads, one a cache line: each line holds the address of the next, and all
 * lines together are one cycle in random order, so that neither prefetchers nor out-of-order
 * execution can start a load before the one in front of it has ended.
 *
 * `memory` is an array of `lines` struct chase_line, aligned to 64 bytes.
 * Source: S. Sattolo, "An algorithm to generate a random cyclic permutation", Information
 * Processing Letters 22 (1986); here by insertion, which grows, instead of by swaps.
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
 * Makes the cycle over lines 0..from-1 one over 0..lines-1 (from <= lines < 2^32); from 0 starts
 * anew. Each new line goes behind a uniformly random earlier one: a cycle of n lines becomes one of
 * n cycles of n + 1, none of which arises from another, so every cycle is equally likely.
 */
void chase_grow(struct chase_line *memory, size_t from, size_t lines, uint64_t seed);

/* The timed loop: `loads` dependent loads, rounded up to a multiple of CHASE_STEP. */
struct chase_line *chase_walk(struct chase_line *at, uint64_t loads);

/*
 * Is every line named by exactly one other? Returns the first line that points outside, between
 * lines, or to a line that an earlier one names too; `lines` when all is well. Sequential, so fast,
 * but blind to several cycles: chase_is_cycle walks it. `seen` has (lines + 63) / 64 words.
 */
size_t chase_find_fault(const struct chase_line *memory, size_t lines, uint64_t *seen);

/* Does a walk from line 0 come back after exactly `lines` loads, staying inside on the way? */
bool chase_is_cycle(const struct chase_line *memory, size_t lines);

#endif
