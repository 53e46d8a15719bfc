/*
 * The work of an aggressor on caches: walks over an area and changes a word in every line that it
 * touches, so that lines are loaded, evict other lines and are written back.
 *
 *   walk_stream  one line after the other, repeatedly: uses bandwidth, with the prefetchers' help;
 *                if the area fits the L1: a busy core that does not use the shared caches
 *   walk_random  independent random lines: many misses at once, which prefetchers cannot predict
 *   walk_idle    no memory, few instructions: a core that is awake but nearly idle
 *
 * Every touch adds 1 to the first word of a line, so the sum over all lines is the number of
 * touches.
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
    uint64_t touches;       /* so far; determines the next line */
};

void walk_stream(struct walk *walk, size_t touches);
void walk_random(struct walk *walk, size_t touches);
void walk_idle(struct walk *walk, size_t steps);

/* The sum of the counters of all lines. */
uint64_t walk_sum(const struct walk *walk);

#endif
