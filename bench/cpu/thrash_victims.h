/*
 * The victims of cache_thrash as they are alone: the size of one in the L3, and how long a lap
 * takes from the cache and from memory.
 */
#ifndef CONTEND_BENCH_CPU_THRASH_VICTIMS_H
#define CONTEND_BENCH_CPU_THRASH_VICTIMS_H

#include "bench/cpu/aggressor.h"
#include "bench/cpu/fight.h"
#include "bench/cpu/victim.h"

/* Zeroed = not there. */
struct thrash_victim {
    struct victim victim;
    uint64_t most_bytes;     /* of one whose size is to be found; 0: it has its size */
    double warm_ns, cold_ns; /* about, of a lap from its cache and from memory */
    double alone_most_ns;    /* a chunk that takes longer is no longer one from the cache */
};

/*
 * In the victim's thread, the others asleep. `aggressor`, or NULL, has an area that is twice the
 * cache: reading it leaves nothing of the victim there.
 */
void thrash_victim_measure(struct thrash_victim *victim, struct fight *fight,
                           struct aggressor *aggressor, double lap_most_ns);

#endif
