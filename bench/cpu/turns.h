/*
 * What a switch costs somebody who shares a CPU, by the time of what it does, chunk by chunk:
 * behind a switch the first chunks take longer than warm ones, until its working set is back in its
 * cache. Pure.
 *
 *   struct turns turns = {.warm_ns = warm_ns, .lap = 8};
 *   while (turns.n < TURNS_MOST)
 *       turns_add(&turns, ns, SWITCHED_NOT); // CPU time of a chunk
 *   turns_sum(&turns).refill_ns ...
 *
 * A turn begins with the chunk in which others had the CPU, and ends in front of the next such one.
 * What stands before the first switch, or behind the last one, is not counted, nor are turns that
 * follow somebody else's.
 */
#ifndef CONTEND_BENCH_CPU_TURNS_H
#define CONTEND_BENCH_CPU_TURNS_H

#include <stdbool.h>

enum { TURNS_MOST = 4 };
enum switched { SWITCHED_NOT, SWITCHED, SWITCHED_BY_OTHERS };

struct turns {
    double warm_ns; /* a chunk from the cache */
    double lap;     /* chunks that go over the working set once; less than 1 of a small one */
    unsigned n;     /* whole turns so far */
    struct turn {
        double refill_ns;   /* beyond warm chunks, up to the first warm one */
        double first_ns;    /* beyond a warm chunk, of each chunk of the first lap */
        double ns, chunks;  /* CPU time, and of how many */
        bool warm;          /* it lasted until a chunk was warm */
    } turn[TURNS_MOST + 1]; /* the last one is the one that runs */
    bool begun;
};

void turns_add(struct turns *turns, double ns, enum switched switched);

/* Medians over whole turns, NaN without one; warm: at least half of them were. */
struct turn turns_sum(const struct turns *turns);

#endif
