/*
 * The cost of a switch to a thread that shares a CPU, from the CPU times of its chunks of work.
 * After a switch the first chunks take longer than warm chunks, until the thread's working set is
 * back in its cache. Pure.
 *
 *   struct turns turns = {.warm_ns = warm_ns, .lap = 8};
 *   while (turns.n < TURNS_MOST)
 *       turns_add(&turns, ns, SWITCHED_NOT); // CPU time of a chunk
 *   turns_sum(&turns).refill_ns ...
 *
 * A turn begins with a chunk in which another thread had the CPU, and ends before the next such
 * chunk. Chunks before the first switch or after the last switch do not count. Turns that begin
 * with SWITCHED_BY_OTHERS (another program had the CPU) do not count either.
 */
#ifndef CONTEND_BENCH_CPU_TURNS_H
#define CONTEND_BENCH_CPU_TURNS_H

#include <stdbool.h>

enum { TURNS_MOST = 4 };
enum switched { SWITCHED_NOT, SWITCHED, SWITCHED_BY_OTHERS };

struct turns {
    double warm_ns; /* time of a chunk from the cache */
    double lap;     /* chunks of a lap over the working set; < 1 for a small set */
    unsigned n;     /* whole turns so far */
    struct turn {
        double refill_ns;   /* time beyond that of warm chunks, up to the first warm chunk */
        double first_ns;    /* time beyond a warm chunk, per chunk of the first lap */
        double ns, chunks;  /* CPU time of the turn, and its chunks */
        bool warm;          /* the turn lasted until a chunk was warm */
    } turn[TURNS_MOST + 1]; /* turn[n] is the current turn */
    bool begun;
};

void turns_add(struct turns *turns, double ns, enum switched switched);

/* Medians over whole turns, NaN without a turn; warm: at least half of the turns were. */
struct turn turns_sum(const struct turns *turns);

#endif
