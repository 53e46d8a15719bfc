#include "bench/cpu/thrash_fight.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "harness/lib/stats.h"
#include "harness/lib/sys/clock.h"
#include "kernels/cpu/mix64.h"

const char *const victim_names[] = {"l1", "l2", "l3", "all", NULL};

uint64_t victim_cache_bytes(const struct bench_machine *machine, int level)
{
    for (unsigned i = 0; i < machine->ncaches; i++)
        if (machine->caches[i].level == level)
            return machine->caches[i].size_bytes;
    return 0;
}

struct victim_range victim_range(const struct bench_machine *machine, enum victim_kind kind)
{
    uint64_t l2_bytes = victim_cache_bytes(machine, 2);
    uint64_t most = victim_cache_bytes(machine, (int)kind + 1) / 2;
    if (kind != VICTIM_L3)
        return (struct victim_range){most, most};
    if (!l2_bytes || !most)
        return (struct victim_range){0, 0};
    return (struct victim_range){2 * l2_bytes < most ? 2 * l2_bytes : most, most};
}

static void set_lines(struct victim *v, uint64_t bytes)
{
    v->lines = (size_t)(bytes / CHASE_LINE_BYTES);
    v->bytes = v->lines * CHASE_LINE_BYTES;
    v->chunks = (double)v->lines / VICTIM_CHUNK_LOADS;
    v->lap = (v->lines - 1) / VICTIM_CHUNK_LOADS + 1;
}

int victim_init(struct victim *victim, enum victim_kind kind, uint64_t bytes,
                const struct bench_ctx *ctx)
{
    struct victim_range range = victim_range(ctx->machine, kind);
    *victim = (struct victim){.kind = kind, .ctx = ctx, .seed = ctx->seed};
    if (kind == VICTIM_L3 && bytes)
        range.least = range.most = bytes;
    if (range.least == 0)
        return err_set(ctx->err, -ENOTSUP, "victim %s: no such cache is reported here",
                       victim_names[kind]);
    set_lines(victim, range.least);
    return memory_map(&victim->memory, range.most, MEMORY_THP, ctx->err);
}

void victim_free(struct victim *victim)
{
    memory_unmap(&victim->memory);
}

void victim_resize(struct victim *v, uint64_t bytes)
{
    set_lines(v, bytes);
    chase_grow(v->memory.base, 0, v->lines, v->seed);
    v->at = v->memory.base;
    v->done = 0;
}

static void victim_run_chunk(struct victim *v)
{
    v->at = chase_walk(v->at, VICTIM_CHUNK_LOADS);
    v->done++;
    bench_progress(v->ctx, 1);
}

/* Repeats the loads from line 0, modulo a lap. */
int victim_check(const struct victim *v, struct err *err)
{
    struct chase_line *base = v->memory.base, *at = base;
    if (!chase_is_cycle(base, v->lines))
        return err_set(err, -EBADMSG, "the chain of victim %s is no longer one cycle",
                       victim_names[v->kind]);
    for (uint64_t left = v->done * VICTIM_CHUNK_LOADS % v->lines; left; left--)
        at = at->next;
    if (at != v->at)
        return err_set(err, -EBADMSG, "victim %s is at line %td, not %td", victim_names[v->kind],
                       v->at - base, at - base);
    return 0;
}

enum {
    SETTLE_WITH_LAPS = 4,
    SETTLE_WITHOUT_LAPS = 10,
    SETTLE_LEAST_LAPS = 2,
    SETTLE_TURNS = 4,
    CHUNKS_MAX = 1 << 16, /* enough for a lap over 4 GiB */
    LINE_BYTES = 64
};

/* Settling and measuring each last at least this long: several laps where laps are short. */
static const uint64_t phase_least_ns = 1000000;

/* If another thread had the CPU for gap_least_ns, it had a turn; interrupts are shorter. A chunk
 * below cpu_clock_least_ns has no such gap, so its CPU time is not read. */
static const double gap_least_ns = 5e5, cpu_clock_least_ns = 5e4;
static const double others_most_ns = 2e5; /* a gap may contain this much time of the kernel */
static const uint64_t turns_most_ns = 150000000; /* limit of a slice of turns */

enum order { ORDER_IDLE, ORDER_TOUCH, ORDER_END };

/* One part of a slice. */
struct phase {
    unsigned laps;
    double bytes, s; /* touched by the aggressors during the phase, and its length */
    double cpu_ns;   /* mean chunk */
};

int fight_init(struct fight *f, struct err *err)
{
    f->chunk_ns = calloc(CHUNKS_MAX, sizeof(*f->chunk_ns));
    return f->chunk_ns ? 0 : err_set(err, -ENOMEM, "cannot allocate %d times", CHUNKS_MAX);
}

void fight_free(struct fight *f)
{
    free(f->chunk_ns);
}

void fight_begin(struct fight *f)
{
    f->npairs = 0;
    atomic_store(&f->aggressor_clock, 0);
    atomic_store(&f->order, ORDER_IDLE);
}

static double touched_bytes(const struct fight *f)
{
    uint64_t lines = 0;
    for (unsigned i = 0; i < f->n; i++)
        lines += atomic_load_explicit(&f->aggressors[i]->touched, memory_order_relaxed);
    return (double)lines * LINE_BYTES;
}

/* Runs whole laps, at least one, until `least_ns` are over. Returns the median chunk in ns. */
static double run_laps(struct fight *f, uint64_t least_ns, struct phase *phase)
{
    double before = touched_bytes(f);
    uint64_t n = 0, cpu_ns = clock_thread_cpu_ns(), start_ns = clock_now_ns(), now_ns = start_ns;
    *phase = (struct phase){.laps = 0};
    do {
        for (uint64_t i = 0; i < f->victim->lap; i++) {
            victim_run_chunk(f->victim);
            uint64_t after_ns = clock_now_ns();
            if (n < CHUNKS_MAX)
                f->chunk_ns[n++] = (double)(after_ns - now_ns);
            now_ns = after_ns;
        }
        phase->laps++;
    } while (now_ns - start_ns < least_ns);
    phase->cpu_ns =
        (double)(clock_thread_cpu_ns() - cpu_ns) / ((double)phase->laps * (double)f->victim->lap);
    phase->bytes = touched_bytes(f) - before;
    phase->s = (double)(now_ns - start_ns) * 1e-9;
    return stats_sort_median(f->chunk_ns, n);
}

double fight_lap_ns(struct fight *f)
{
    struct phase phase;
    return run_laps(f, 0, &phase) * (double)f->victim->lap;
}

/*
 * Caches do not take a set in at once: on a Zen 4, after a stream, each lap missed about half as
 * often as the lap before. The set stayed in the cache after eight laps.
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

/* Repeated touches of areas below two caches may evict nothing: count each area at most once. */
static double caches_of(const struct fight *f, double bytes)
{
    double areas = (double)f->n * (double)f->area_bytes / (double)f->llc_bytes;
    double caches = bytes / (double)f->llc_bytes;
    return areas < FIGHT_CACHES_ENOUGH && caches > areas ? areas : caches;
}

static void run_slice(struct fight *f, bool with, struct fight_pair *pair)
{
    atomic_store(&f->order, with ? ORDER_TOUCH : ORDER_IDLE);
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
    pair->cpu_ns = measured.cpu_ns;
    pair->settle_caches = caches_of(f, settled.bytes);
    pair->lap_caches = caches_of(f, measured.bytes / measured.laps);
    pair->touched_bytes = measured.bytes / measured.s;
}

void fight_run_victim(struct fight *f)
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

/* The clocks at the end of a chunk. CPU time costs a system call: only long chunks read it. */
struct clocks {
    uint64_t now_ns, cpu_ns, cpu_read_ns;
    uint64_t aggressor_ns; /* its CPU time, at the last switch */
};

/* CPU time first: the turn may end in its system call, which then returns after another turn. */
static struct clocks read_clocks(void)
{
    uint64_t cpu_ns = clock_thread_cpu_ns(), now_ns = clock_now_ns();
    return (struct clocks){now_ns, cpu_ns, now_ns, 0};
}

static uint64_t aggressor_ns(const struct fight *f)
{
    clockid_t clock = atomic_load(&f->aggressor_clock);
    return clock ? clock_read_ns(clock) : 0;
}

/* An aggressor that touches memory must have had the CPU. An idle aggressor must have been the only
 * other thread on it. */
static enum switched classify_switch(const struct fight *f, double gap_ns, double aggressor_ns)
{
    bool right = atomic_load_explicit(&f->order, memory_order_relaxed) == ORDER_TOUCH
                     ? aggressor_ns > gap_least_ns
                     : fabs(gap_ns - aggressor_ns) < others_most_ns;
    return right ? SWITCHED : SWITCHED_BY_OTHERS;
}

/* Returns the CPU time of the next chunk, and in `switched` which thread had the CPU during it. */
static double run_chunk(struct fight *f, struct clocks *last, enum switched *switched)
{
    const struct clocks before = *last;
    victim_run_chunk(f->victim);
    last->now_ns = clock_now_ns();
    double ns = (double)(last->now_ns - before.now_ns);
    *switched = SWITCHED_NOT;
    if (ns < cpu_clock_least_ns)
        return ns;
    *last = read_clocks();
    ns = (double)(last->cpu_ns - before.cpu_ns) - (double)(before.now_ns - before.cpu_read_ns);
    double gap_ns = (double)(last->now_ns - before.now_ns) - ns;
    last->aggressor_ns = before.aggressor_ns;
    if (gap_ns > gap_least_ns) {
        last->aggressor_ns = aggressor_ns(f);
        *switched = classify_switch(f, gap_ns, (double)(last->aggressor_ns - before.aggressor_ns));
    }
    return fmax(ns, 0);
}

/* Runs until n turns that count are over. The median and the mean are of all chunks. */
static void run_turns(struct fight *f, unsigned n, struct turns *turns, double *median_ns,
                      double *mean_ns)
{
    struct clocks last = read_clocks();
    uint64_t chunks = 0, end_ns = last.now_ns + turns_most_ns;
    double sum_ns = 0;
    last.aggressor_ns = aggressor_ns(f);
    while (turns->n < n && last.now_ns < end_ns && chunks < CHUNKS_MAX) {
        enum switched switched;
        double ns = run_chunk(f, &last, &switched);
        turns_add(turns, ns, switched);
        f->chunk_ns[chunks++] = ns;
        sum_ns += ns;
    }
    *median_ns = stats_sort_median(f->chunk_ns, chunks);
    *mean_ns = sum_ns / (double)chunks;
}

/* Skips a first turn; without pressure, turns until the victim got warm, SETTLE_TURNS at most. */
static void run_slice_of_turns(struct fight *f, bool with, struct fight_pair *pair)
{
    const struct turns none = {.warm_ns = f->warm_ns, .lap = f->victim->chunks};
    struct turns settled, turns = none;
    double median_ns, mean_ns;
    atomic_store(&f->order, with ? ORDER_TOUCH : ORDER_IDLE);
    for (unsigned i = 0; i < SETTLE_TURNS; i++) {
        settled = none;
        run_turns(f, 1, &settled, &median_ns, &mean_ns);
        if (with || !settled.n || settled.turn[0].warm)
            break;
    }
    run_turns(f, TURNS_MOST, &turns, &median_ns, &mean_ns);
    if (with) {
        pair->with = turns_sum(&turns);
        pair->cpu_ns = mean_ns;
    } else {
        pair->without = turns_sum(&turns);
        pair->warm_ns = f->warm_ns = median_ns;
    }
}

void fight_run_victim_in_turns(struct fight *f)
{
    do {
        bool first = mix64(f->seed + f->npairs) % 2;
        struct fight_pair *pair = &f->pairs[f->npairs++];
        run_slice_of_turns(f, first, pair);
        run_slice_of_turns(f, !first, pair);
    } while (f->npairs < FIGHT_PAIRS_MAX && clock_now_ns() < f->end_ns);
    atomic_store(&f->order, ORDER_END);
}

void fight_run_aggressor(struct fight *f, struct aggressor *aggressor)
{
    clockid_t clock;
    if (!pthread_getcpuclockid(pthread_self(), &clock))
        atomic_store(&f->aggressor_clock, clock);
    for (int order; (order = atomic_load_explicit(&f->order, memory_order_acquire)) != ORDER_END;) {
        if (order == ORDER_TOUCH)
            aggressor_touch(aggressor, f->kind);
        else
            aggressor_idle(aggressor);
    }
}

/* A chunk counts as warm up to this many times warm_ns. */
static const double warm_most = 1.2;

static void begin(struct turns *t, bool counts)
{
    t->n += t->begun && t->n < TURNS_MOST;
    t->turn[t->n] = (struct turn){.ns = 0};
    t->begun = counts;
}

void turns_add(struct turns *t, double ns, enum switched switched)
{
    if (switched)
        begin(t, switched == SWITCHED);
    if (!t->begun)
        return;
    struct turn *turn = &t->turn[t->n];
    turn->warm = turn->warm || (turn->chunks > 0 && ns <= warm_most * t->warm_ns);
    turn->refill_ns += turn->warm ? 0 : ns - t->warm_ns;
    turn->ns += ns;
    turn->chunks++;
    /* The switch is inside the first chunk, so the first lap ends one chunk later. */
    if (turn->chunks < t->lap + 2)
        turn->first_ns = turn->refill_ns / (turn->chunks < t->lap ? turn->chunks : t->lap);
}

struct turn turns_sum(const struct turns *t)
{
    double refill_ns[TURNS_MOST], first_ns[TURNS_MOST], ns[TURNS_MOST];
    unsigned warm = 0;
    for (unsigned i = 0; i < t->n; i++) {
        refill_ns[i] = t->turn[i].refill_ns;
        first_ns[i] = t->turn[i].first_ns;
        ns[i] = t->turn[i].ns;
        warm += t->turn[i].warm;
    }
    return (struct turn){.refill_ns = stats_sort_median(refill_ns, t->n),
                         .first_ns = stats_sort_median(first_ns, t->n),
                         .ns = stats_sort_median(ns, t->n),
                         .warm = 2 * warm >= t->n};
}

enum {
    BURST = 512, /* touches a call of aggressor_touch */
    IDLE_STEPS = 256,
    MEMORY_SHARE = 4 /* all areas take at most 1 / this of the available memory */
};

static const uint64_t area_most_bytes = 1ull << 30, area_least_bytes = 1ull << 20;

const char *const aggressor_names[] = {"l1", "stream", "random", "all", NULL};

struct aggressor_sizes aggressor_choose_sizes(const struct bench_machine *machine,
                                              uint64_t llc_bytes, unsigned n)
{
    uint64_t l1_bytes = victim_cache_bytes(machine, 1), bytes = 2 * llc_bytes;
    uint64_t room = memory_available_bytes() / MEMORY_SHARE / (n ? n : 1);
    bytes = bytes > area_most_bytes ? area_most_bytes : bytes;
    bytes = bytes > room ? room : bytes;
    bytes = bytes < area_least_bytes ? area_least_bytes : bytes;
    return (struct aggressor_sizes){.area_bytes = memory_round_down(bytes, 4096),
                                    .l1_bytes = l1_bytes ? (size_t)l1_bytes / 2 : 16384};
}

int aggressor_map(struct aggressor *a, const struct aggressor_sizes *sizes, struct err *err)
{
    if (a->memory.base)
        return 0;
    return memory_map(&a->memory, sizes->area_bytes + sizes->l1_bytes, MEMORY_THP, err);
}

void aggressor_free(struct aggressor *a)
{
    memory_unmap(&a->memory);
}

void aggressor_fill(struct aggressor *a, const struct aggressor_sizes *sizes)
{
    if (!a->memory.base)
        return;
    memset(a->memory.base, 0, a->memory.bytes);
    const struct walk big = {.area = a->memory.base,
                             .lines = sizes->area_bytes / sizeof(*big.area)};
    const struct walk small = {.area = big.area + big.lines,
                               .lines = sizes->l1_bytes / sizeof(*small.area)};
    a->walks[AGGRESSOR_L1] = small;
    a->walks[AGGRESSOR_STREAM] = a->walks[AGGRESSOR_RANDOM] = big;
}

void aggressor_touch(struct aggressor *a, enum aggressor_kind kind)
{
    if (kind == AGGRESSOR_RANDOM)
        walk_random(&a->walks[kind], BURST);
    else
        walk_stream(&a->walks[kind], BURST);
    /* This thread is the only writer: a locked addition is not needed. */
    uint64_t touched = atomic_load_explicit(&a->touched, memory_order_relaxed);
    atomic_store_explicit(&a->touched, touched + BURST, memory_order_relaxed);
}

void aggressor_idle(struct aggressor *a)
{
    walk_idle(&a->walks[AGGRESSOR_L1], IDLE_STEPS);
}

void aggressor_sum(struct aggressor *a)
{
    if (!a->memory.base)
        return;
    a->found[AGGRESSOR_L1] = walk_sum(&a->walks[AGGRESSOR_L1]);
    a->found[AGGRESSOR_STREAM] = walk_sum(&a->walks[AGGRESSOR_STREAM]);
}

int aggressor_check(const struct aggressor *a, unsigned os_cpu, struct err *err)
{
    uint64_t small = a->walks[AGGRESSOR_L1].touches;
    uint64_t big = a->walks[AGGRESSOR_STREAM].touches + a->walks[AGGRESSOR_RANDOM].touches;
    if (a->found[AGGRESSOR_L1] == small && a->found[AGGRESSOR_STREAM] == big)
        return 0;
    return err_set(err, -EBADMSG,
                   "the aggressor of CPU %u touched %llu and %llu lines, but left %llu and %llu",
                   os_cpu, (unsigned long long)big, (unsigned long long)small,
                   (unsigned long long)a->found[AGGRESSOR_STREAM],
                   (unsigned long long)a->found[AGGRESSOR_L1]);
}
