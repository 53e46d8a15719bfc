#include "bench/cpu/fight.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "harness/lib/stats/stats.h"
#include "harness/lib/sys/clock.h"
#include "kernels/cpu/mix64.h"

enum {
    SETTLE_WITH_LAPS = 4,
    SETTLE_WITHOUT_LAPS = 10,
    SETTLE_LEAST_LAPS = 2,
    CHUNKS_MAX = 1 << 16, /* a lap of 4 GiB */
    LINE_BYTES = 64
};

static const uint64_t phase_least_ns =
    1000000; /* short laps are settled, and measured, for longer */

enum order { ORDER_REST, ORDER_PRESS, ORDER_END };

/* One part of a slice. */
struct phase {
    unsigned laps;
    double bytes, s; /* touched by the aggressors meanwhile, and how long it was */
};

int fight_init(struct fight *f, struct err *err)
{
    f->chunk_ns = calloc(CHUNKS_MAX, sizeof(*f->chunk_ns));
    return f->chunk_ns ? 0 : err_set(err, -ENOMEM, "cannot allocate %d times", CHUNKS_MAX);
}

void fight_free(struct fight *f)
{
    free(f->chunk_ns);
    victim_free(&f->victim);
}

void fight_begin(struct fight *f)
{
    f->npairs = 0;
    atomic_store(&f->order, ORDER_REST);
}

static double touched_bytes(const struct fight *f)
{
    uint64_t lines = 0;
    for (unsigned i = 0; i < f->n; i++)
        lines += atomic_load_explicit(&f->aggressors[i]->touched, memory_order_relaxed);
    return (double)lines * LINE_BYTES;
}

/* Whole laps, at least one, until `least_ns` are over: the time of the median chunk. */
static double run_laps(struct fight *f, uint64_t least_ns, struct phase *phase)
{
    double before = touched_bytes(f);
    uint64_t n = 0, start_ns = clock_now_ns(), now_ns = start_ns;
    *phase = (struct phase){.laps = 0};
    do {
        for (uint64_t i = 0; i < f->victim.lap; i++) {
            victim_run_chunk(&f->victim);
            uint64_t after_ns = clock_now_ns();
            if (n < CHUNKS_MAX)
                f->chunk_ns[n++] = (double)(after_ns - now_ns);
            now_ns = after_ns;
        }
        phase->laps++;
    } while (now_ns - start_ns < least_ns);
    phase->bytes = touched_bytes(f) - before;
    phase->s = (double)(now_ns - start_ns) * 1e-9;
    return stats_sort_median(f->chunk_ns, n);
}

double fight_lap_ns(struct fight *f)
{
    struct phase phase;
    return run_laps(f, 0, &phase) * (double)f->victim.lap;
}

/*
 * Caches do not take a set in at once: on a Zen 4 each lap behind a stream missed about half as
 * often as the one before, and eight went by until it stayed.
 */
static struct phase settle(struct fight *f, bool with)
{
    unsigned laps = with ? SETTLE_WITH_LAPS : SETTLE_WITHOUT_LAPS;
    double want = with && f->kind != AGGRESSOR_L1 ? FIGHT_CACHES_ENOUGH * (double)f->llc_bytes : 0;
    struct phase phase = {.laps = 0};
    double before = touched_bytes(f);
    uint64_t start_ns = clock_now_ns(), spent_ns;
    do {
        (void)fight_lap_ns(f);
        phase.laps++;
        phase.bytes = touched_bytes(f) - before;
        spent_ns = clock_now_ns() - start_ns;
    } while (phase.laps < SETTLE_LEAST_LAPS || spent_ns < phase_least_ns ||
             ((phase.laps < laps || phase.bytes < want) && spent_ns < f->settle_most_ns));
    return phase;
}

static unsigned least(unsigned a, unsigned b)
{
    return a < b ? a : b;
}

/* Data that goes round in areas that a cache may hold was in it already, and pushes nothing out. */
static double caches_of(const struct fight *f, double bytes)
{
    double areas = (double)f->n * (double)f->area_bytes / (double)f->llc_bytes;
    double caches = bytes / (double)f->llc_bytes;
    return areas < FIGHT_CACHES_ENOUGH && caches > areas ? areas : caches;
}

static void run_slice(struct fight *f, bool with, struct fight_pair *pair)
{
    atomic_store(&f->order, with ? ORDER_PRESS : ORDER_REST);
    struct phase settled = settle(f, with);
    struct phase measured;
    double ns = run_laps(f, phase_least_ns, &measured);
    pair->least_settled = least(pair->least_settled, settled.laps);
    pair->least_measured = least(pair->least_measured, measured.laps);
    if (!with) {
        pair->without_ns = ns;
        return;
    }
    pair->with_ns = ns;
    pair->settle_caches = caches_of(f, settled.bytes);
    pair->lap_caches = caches_of(f, measured.bytes / measured.laps);
    pair->touched_bytes = measured.bytes / measured.s;
}

void fight_suffer(struct fight *f)
{
    while (f->npairs < FIGHT_PAIRS_MAX &&
           (f->npairs < FIGHT_PAIRS_MIN || clock_now_ns() < f->end_ns)) {
        bool first = mix64(f->seed + f->npairs) % 2;
        struct fight_pair *pair = &f->pairs[f->npairs++];
        *pair = (struct fight_pair){.least_settled = UINT_MAX, .least_measured = UINT_MAX};
        run_slice(f, first, pair);
        run_slice(f, !first, pair);
    }
    atomic_store(&f->order, ORDER_END);
}

void fight_press(struct fight *f, struct aggressor *aggressor)
{
    for (int order; (order = atomic_load_explicit(&f->order, memory_order_acquire)) != ORDER_END;) {
        if (order == ORDER_PRESS)
            aggressor_press(aggressor, f->kind);
        else
            aggressor_rest(aggressor);
    }
}
