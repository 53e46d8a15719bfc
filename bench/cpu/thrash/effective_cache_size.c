#include "bench/cpu/thrash/effective_cache_size.h"

#include <math.h>
#include <stdbool.h>

enum { TRIES = 8, LINE_BYTES = 64 };

/* If cold / warm is below this ratio, not even the first set fits. */
static const double cold_least = 1.5;

/* A set enters the cache over several laps, and laps may be disturbed: the fastest lap counts. */
static bool is_warm(struct effective_cache_size *felt, uint64_t bytes)
{
    double ns = felt->warm(felt->arg, bytes);
    for (int i = 1; i < TRIES && ns > felt->limit_ns; i++)
        ns = fmin(ns, felt->warm(felt->arg, bytes));
    if (ns <= felt->limit_ns)
        felt->warm_ns = ns;
    return ns <= felt->limit_ns;
}

static bool is_quick(const struct effective_cache_size *felt, uint64_t bytes)
{
    return (double)bytes * felt->cold_ns / LINE_BYTES <= felt->lap_most_ns;
}

uint64_t effective_cache_size_find(struct effective_cache_size *felt)
{
    uint64_t bytes = felt->least;
    felt->limit_ns = INFINITY;
    (void)is_warm(felt, bytes);
    felt->cold_ns = fmax(felt->cold(felt->arg), felt->warm_ns);
    if (felt->cold_ns < cold_least * felt->warm_ns) {
        felt->limit_ns = 0;
        return bytes;
    }
    felt->limit_ns = sqrt(felt->warm_ns * felt->cold_ns);
    bool half = false; /* bytes is 1.5 x a power of two x least */
    for (uint64_t next; bytes < felt->most; bytes = next, half = !half) {
        next = half ? bytes / 3 * 4 : bytes / 2 * 3;
        next = next < felt->most ? next : felt->most;
        if (!is_quick(felt, next) || !is_warm(felt, next))
            break;
    }
    return bytes;
}
