/*
 * The victims of cache_thrash without aggressors: the size of victim l3, and how long a lap takes
 * from the cache and from memory.
 */
#ifndef CONTEND_BENCH_CPU_THRASH_VICTIMS_H
#define CONTEND_BENCH_CPU_THRASH_VICTIMS_H

#include "bench/cpu/aggressor.h"
#include "bench/cpu/thrash_fight.h"
#include "bench/cpu/victim.h"

/* Zeroed = no cell has this victim. */
struct thrash_victim {
    struct victim victim;
    uint64_t most_bytes;     /* limit of the search for its size; 0: the size is fixed */
    double warm_ns, cold_ns; /* about the time of a lap from its cache and from memory */
    double alone_most_ns;    /* a chunk that takes longer does not come from the cache */
};

/*
 * Call it in the victim's thread while all other threads sleep. Reading the area of `aggressor` (or
 * NULL), which is twice the cache, evicts the victim. No lap of the search takes longer than
 * lap_most_ns.
 */
void thrash_victim_measure(struct thrash_victim *victim, struct fight *fight,
                           struct aggressor *aggressor, double lap_most_ns);

#endif
