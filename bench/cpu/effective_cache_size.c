#include "bench/cpu/effective_cache_size.h"

#include <math.h>
#include <stdbool.h>

enum { TRIES = 8, LINE_BYTES = 64 };

/* If cold / warm is below this ratio, not even the first set fits. */
static const double cold_least = 1.5;

/* A set enters the cache over several laps, and laps may be disturbed: the fastest lap counts. */
static bool is_warm(struct effective_cache_size *search, uint64_t bytes)
{
    double ns = search->warm(search->arg, bytes);
    for (int i = 1; i < TRIES && ns > search->limit_ns; i++)
        ns = fmin(ns, search->warm(search->arg, bytes));
    if (ns <= search->limit_ns)
        search->warm_ns = ns;
    return ns <= search->limit_ns;
}

static bool is_quick(const struct effective_cache_size *search, uint64_t bytes)
{
    return (double)bytes * search->cold_ns / LINE_BYTES <= search->lap_most_ns;
}

uint64_t effective_cache_size_find(struct effective_cache_size *search)
{
    uint64_t bytes = search->least;
    search->limit_ns = INFINITY;
    (void)is_warm(search, bytes);
    search->cold_ns = fmax(search->cold(search->arg), search->warm_ns);
    if (search->cold_ns < cold_least * search->warm_ns) {
        search->limit_ns = 0;
        return bytes;
    }
    search->limit_ns = sqrt(search->warm_ns * search->cold_ns);
    bool half = false; /* bytes is 1.5 x a power of two x least */
    for (uint64_t next; bytes < search->most; bytes = next, half = !half) {
        next = half ? bytes / 3 * 4 : bytes / 2 * 3;
        next = next < search->most ? next : search->most;
        if (!is_quick(search, next) || !is_warm(search, next))
            break;
    }
    return bytes;
}
