/*
 * The effective size of a cache: the largest working set that, walked again and again, still runs
 * at the speed of the cache. The reported size may be the host's, shared with other guests.
 */
#ifndef CONTEND_BENCH_CPU_EFFECTIVE_CACHE_SIZE_H
#define CONTEND_BENCH_CPU_EFFECTIVE_CACHE_SIZE_H

#include <stdint.h>

struct effective_cache_size {
    uint64_t least, most; /* bytes */
    double lap_most_ns;   /* limit of a lap from memory, at the cold speed of the first set */
    /* ns a load: of a set walked before, and of the set walked last after its eviction. */
    double (*warm)(void *arg, uint64_t bytes);
    double (*cold)(void *arg);
    void *arg;
    /* Results, ns a load: warm of the returned set, cold of the first set, and the limit between
     * warm and cold (0: not even the first set fits). */
    double warm_ns, cold_ns, limit_ns;
};

/*
 * Returns bytes: at least `least`, even if that does not fit. Tries steps of 1.5 and 1.33 up to
 * `most`. Stops when a load takes longer than the geometric mean of the first set's warm and cold
 * loads, or a lap from memory longer than lap_most_ns.
 */
uint64_t effective_cache_size_find(struct effective_cache_size *search);

#endif
