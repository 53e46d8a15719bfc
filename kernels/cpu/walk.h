/*
 * The work of an aggressor on caches: it walks over an area and changes a word in every line it
 * meets, so that lines come in, push others out and have to be written back.
 *
 *   walk_stream  one line after the other, round and round: bandwidth, with the prefetchers' help;
 *                over an area that fits the L1, a busy core that leaves all shared caches alone
 *   walk_random  independent random lines: misses that no prefetcher foresees, many at a time
 *   walk_rest    no memory at all, and few instructions: a core that is awake but idle
 *
 * Every touch adds 1 to the first word of a line: over all lines they sum up to the touches.
 *
 * Source: C. Delimitrou & C. Kozyrakis, "iBench", IISWC 2013 (L3 and memory bandwidth sources);
 * J. Mars et al., "Bubble-Up", MICRO 2011 (streaming and random bubbles).
 */
#ifndef CONTEND_KERNELS_CPU_WALK_H
#define CONTEND_KERNELS_CPU_WALK_H

#include <stddef.h>
#include <stdint.h>

struct walk_line {
    uint64_t touched;
    uint64_t unused[7];
};

struct walk {
    struct walk_line *area; /* aligned to 64 bytes */
    size_t lines;           /* >= 1 */
    uint64_t touches;       /* so far; the place of the next one follows from it */
};

void walk_stream(struct walk *walk, size_t touches);
void walk_random(struct walk *walk, size_t touches);
void walk_rest(struct walk *walk, size_t steps);

/* Sum of all touches found in the area. */
uint64_t walk_sum(const struct walk *walk);

#endif
