#include "bench/cpu/thrash_victims.h"

#include <math.h>

#include "bench/cpu/effective_cache_size.h"

/* What the steps of the search need. */
struct search_args {
    struct fight *fight;
    struct aggressor *aggressor;
};

static double warm_load_ns(void *arg, uint64_t bytes)
{
    const struct search_args *search_args = arg;
    struct victim *victim = search_args->fight->victim;
    if (victim->bytes != bytes || !victim->done) {
        victim_resize(victim, bytes);
        (void)fight_lap_ns(search_args->fight);
    }
    return fight_lap_ns(search_args->fight) / (double)victim->lines;
}

static double cold_load_ns(void *arg)
{
    const struct search_args *search_args = arg;
    if (search_args->aggressor)
        aggressor_sum(search_args->aggressor);
    return fight_lap_ns(search_args->fight) / (double)search_args->fight->victim->lines;
}

void thrash_victim_measure(struct thrash_victim *v, struct fight *fight,
                           struct aggressor *aggressor, double lap_most_ns)
{
    struct search_args search_args = {fight, aggressor};
    fight->victim = &v->victim;
    v->alone_most_ns = INFINITY;
    if (!v->most_bytes) {
        v->cold_ns = cold_load_ns(&search_args) * (double)v->victim.lines;
        v->warm_ns = fight_lap_ns(fight);
        return;
    }
    struct effective_cache_size search = {.least = v->victim.bytes,
                                          .most = v->most_bytes,
                                          .lap_most_ns = lap_most_ns,
                                          .warm = warm_load_ns,
                                          .cold = cold_load_ns,
                                          .arg = &search_args};
    victim_resize(&v->victim, effective_cache_size_find(&search));
    v->warm_ns = search.warm_ns * (double)v->victim.lines;
    v->cold_ns = search.cold_ns * (double)v->victim.lines;
    v->alone_most_ns = search.limit_ns * (double)v->victim.lines / v->victim.chunks;
}
