/*
 * The size of a cache as felt: the largest set that, walked round and round, still runs at the
 * speed of caches. The reported cache may be the host's, full of other guests' lines.
 */
#ifndef CONTEND_BENCH_CPU_EFFECTIVE_CACHE_SIZE_H
#define CONTEND_BENCH_CPU_EFFECTIVE_CACHE_SIZE_H

#include <stdint.h>

struct effective_cache_size {
    uint64_t least, most; /* bytes */
    double lap_most_ns;   /* a lap from memory may take so long, at the speed of the first one */
    /* ns a load: of a set that was walked before, and of the one walked last after its eviction. */
    double (*warm)(void *arg, uint64_t bytes);
    double (*cold)(void *arg);
    void *arg;
    /* Found: warm of the set returned, cold of the first one; the limit, 0: not even that fits. */
    double warm_ns, cold_ns, limit_ns;
};

/*
 * Bytes: least, whether it fits or not, then steps of 1.5 and 1.33 up to most, until a set takes
 * longer a load than halfway (of the logarithms) from the first one's warm lap to its cold lap.
 */
uint64_t effective_cache_size_find(struct effective_cache_size *felt);

#endif
