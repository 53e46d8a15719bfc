#include "bench/cpu/thrash/thrash_victims.h"

#include <math.h>

#include "bench/cpu/thrash/effective_cache_size.h"

/* What the steps of the search need. */
struct alone {
    struct fight *fight;
    struct aggressor *aggressor;
};

static double warm_load_ns(void *arg, uint64_t bytes)
{
    const struct alone *alone = arg;
    struct victim *victim = alone->fight->victim;
    if (victim->bytes != bytes || !victim->done) {
        victim_resize(victim, bytes);
        (void)fight_lap_ns(alone->fight);
    }
    return fight_lap_ns(alone->fight) / (double)victim->lines;
}

static double cold_load_ns(void *arg)
{
    const struct alone *alone = arg;
    if (alone->aggressor)
        aggressor_sum(alone->aggressor);
    return fight_lap_ns(alone->fight) / (double)alone->fight->victim->lines;
}

void thrash_victim_measure(struct thrash_victim *v, struct fight *fight,
                           struct aggressor *aggressor, double lap_most_ns)
{
    struct alone alone = {fight, aggressor};
    fight->victim = &v->victim;
    v->alone_most_ns = INFINITY;
    if (!v->most_bytes) {
        v->cold_ns = cold_load_ns(&alone) * (double)v->victim.lines;
        v->warm_ns = fight_lap_ns(fight);
        return;
    }
    struct effective_cache_size felt = {.least = v->victim.bytes,
                                        .most = v->most_bytes,
                                        .lap_most_ns = lap_most_ns,
                                        .warm = warm_load_ns,
                                        .cold = cold_load_ns,
                                        .arg = &alone};
    victim_resize(&v->victim, effective_cache_size_find(&felt));
    v->warm_ns = felt.warm_ns * (double)v->victim.lines;
    v->cold_ns = felt.cold_ns * (double)v->victim.lines;
    v->alone_most_ns = felt.limit_ns * (double)v->victim.lines / v->victim.chunks;
}
