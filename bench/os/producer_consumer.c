/*
 * A bounded queue between preparers and one feeder, as between data loaders and the thread that
 * feeds a GPU: how many items pass, and how long each lies in it.
 *
 *   condvar  a mutex and two condition variables, as Python's queue.Queue
 *   eventfd  a ring without a lock; who must wait sleeps in a read of an eventfd
 *   ring     the same ring; who must wait polls, and yields the CPU at times
 *
 * Decides: the prefetch depth (`depth_needed`), and how many items to hand over at once:
 * `item_rate` against `handover_p99`, by batch.
 *
 * **Measures** on CLOCK_MONOTONIC_RAW, the first quarter of each point not counted: `item_rate` =
 * items that the feeder got / s. `handover_p50`, `handover_p99` us from when an item is prepared to
 * when the feeder has it, with the wait for the rest of its batch. `depth_needed`: the fewest slots
 * with 95% of the best item_rate.
 * Keys: how, depth (slots of the queue), batch (items that are put, and at most are taken, at
 * once).
 * **Source** the bounded buffer of Dijkstra, Cooperating sequential processes, 1965; a full queue
 * delays an item by depth / item_rate (Little 1961).
 * **Limits** Items are 8 bytes, as a pointer to data is. The feeder has the first CPU, the
 * preparers share the others. By default both sides take 1 us for an item: that shows the cost of
 * the queue itself. To choose a depth, give the times of your own: `prepare`, `feed`, `preparers`.
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "bench/common/points.h"
#include "bench/common/team.h"
#include "bench/registry.h"
#include "harness/lib/stats.h"
#include "harness/lib/sys/clock.h"
#include "kernels/cpu/busy.h"
#include "kernels/cpu/relax.h"

enum { PREPARERS_MOST = 64, BATCH_MOST = 16, DEPTH_MOST = 64, WARM_SHARE = 4 };

static const uint64_t slice_least_ns = 5000000;

static const struct {
    unsigned depth, batch;
} pairs[] = {{1, 1}, {4, 1}, {16, 1}, {64, 1}, {4, 4}, {16, 4}, {64, 4}, {16, 16}, {64, 16}};

enum how { CONDVAR, EVENTFD, RING, HOWS };
enum { PAIRS = sizeof(pairs) / sizeof(pairs[0]), POINTS = HOWS * PAIRS };

struct exchange_params {
    double prepare_us, feed_us;
    int64_t preparers;
};

static const struct opt exchange_opts[] = {
    OPT_INT("preparers", exchange_params, preparers, "1", 1, PREPARERS_MOST, "N",
            "threads that prepare items"),
    OPT_DOUBLE("prepare", exchange_params, prepare_us, "1", 0, 1e6, "US",
               "mean time to prepare an item, in us: at random 0 to twice that"),
    OPT_DOUBLE("feed", exchange_params, feed_us, "1", 0, 1e6, "US",
               "time of the feeder for an item, in us"),
    {.name = NULL},
};

enum { BY_HOW = 1, BY_BATCH, BY_DEPTH };
static const struct bench_dim exchange_dims[] = {
    [BY_HOW] = {"how", .labels = LABELS("condvar", "eventfd", "ring"),
                .labels_long = LABELS("condition variable", "eventfd", "polled ring")},
    [BY_BATCH] = {"batch"},
    [BY_DEPTH] = {"depth"},
    {.name = NULL},
};

enum { DEPTH, RATE, P99, P50 };
static const struct bench_metric exchange_metrics[] = {
    [DEPTH] = {"depth_needed", "items", "none"},
    [RATE] = {"item_rate", "items/s", "higher", .gating = true},
    [P99] = {"handover_p99", "us", "lower"},
    [P50] = {"handover_p50", "us", "lower", .hidden = true},
    {.name = NULL},
};

static const struct bench_figure exchange_figures[] = {
    {.name = "producer_consumer",
     .kind = FIGURE_LINES,
     .metric = "handover_p99",
     .title = "99th percentile of the time that an item lies in a queue",
     .how = "From when it is prepared to when the feeder has it",
     .x = {"depth of the queue (items, log scale)", BY_DEPTH, .log = true},
     .y = {"time (log scale)", .log = true, .ticks = FIGURE_TICKS_US},
     .series = {BY_HOW}},
    {.name = NULL},
};

/* What is missing: room for a preparer, items for the feeder. */
enum side { ROOM, ITEMS, SIDES };

/* Each item is the time when it was made; 0: its preparer has ended. */
struct exchange {
    struct team team; /* rank 0 is the feeder */
    double steps_per_us;
    uint64_t slice_ns, begin_ns, seed; /* begin: of what counts */
    int fds[SIDES];                    /* of EVENTFD */
    struct err no_eventfd;
    /* The current point. */
    enum how how;
    unsigned depth, batch;
    bool puts_locked;
    uint64_t slots[DEPTH_MOST];
    _Alignas(128) pthread_mutex_t mutex;
    pthread_cond_t conds[SIDES]; /* of CONDVAR */
    _Alignas(128) _Atomic uint64_t put;
    _Alignas(128) _Atomic uint64_t got;
    _Alignas(128) _Atomic uint64_t put_sum;
    uint64_t got_sum, counted, counted_ns;
    struct times waits;
};

static int exchange_setup(struct bench_ctx *ctx)
{
    const struct exchange_params *params = ctx->params;
    struct exchange *s = ctx->state;
    unsigned os_cpus[1 + PREPARERS_MOST], n = ctx->machine->ncpus;
    s->slice_ns = points_share_ns(ctx, POINTS, slice_least_ns);
    s->steps_per_us = busy_measure_speed();
    s->seed = ctx->round_seed;
    (void)pthread_mutex_init(&s->mutex, NULL);
    for (unsigned side = 0; side < SIDES; side++) {
        (void)pthread_cond_init(&s->conds[side], NULL);
        s->fds[side] = eventfd(0, EFD_CLOEXEC);
        if (s->fds[side] < 0)
            (void)err_sys(&s->no_eventfd, -errno, "no eventfd; raise ulimit -n");
    }
    for (unsigned i = 0; i <= params->preparers; i++)
        os_cpus[i] = ctx->machine->cpus[i && n > 1 ? 1 + (i - 1) % (n - 1) : 0].os_cpu;
    return team_open(&s->team, ctx, os_cpus, 1 + (unsigned)params->preparers);
}

static void exchange_teardown(struct bench_ctx *ctx)
{
    struct exchange *s = ctx->state;
    for (unsigned side = 0; side < SIDES; side++)
        if (s->fds[side] > 0)
            (void)close(s->fds[side]);
}

/* A wake-up between the look and the sleep is not lost: the mutex or the eventfd keeps it. */
static void await(struct exchange *s, enum side side)
{
    enum { SPINS = 1000 };
    static _Thread_local unsigned spins;
    uint64_t wakeups;
    if (s->how == CONDVAR)
        (void)pthread_cond_wait(&s->conds[side], &s->mutex);
    else if (s->how == EVENTFD)
        (void)!read(s->fds[side], &wakeups, sizeof(wakeups));
    else if (++spins % SPINS)
        cpu_relax();
    else
        (void)sched_yield();
}

static void wake(struct exchange *s, enum side side)
{
    static const uint64_t one = 1;
    if (s->how == CONDVAR)
        (void)pthread_cond_signal(&s->conds[side]);
    else if (s->how == EVENTFD)
        (void)!write(s->fds[side], &one, sizeof(one));
}

static void put_batch(struct exchange *s, const uint64_t *items)
{
    if (s->puts_locked)
        (void)pthread_mutex_lock(&s->mutex);
    while (s->put + s->batch - s->got > s->depth)
        await(s, ROOM);
    uint64_t at = s->put;
    for (unsigned i = 0; i < s->batch; i++)
        s->slots[(at + i) % s->depth] = items[i];
    atomic_store_explicit(&s->put, at + s->batch, memory_order_release);
    if (s->puts_locked)
        (void)pthread_mutex_unlock(&s->mutex);
    wake(s, ITEMS);
}

/* Returns how many, at least 1. */
static unsigned get_batch(struct exchange *s, uint64_t *items)
{
    if (s->how == CONDVAR)
        (void)pthread_mutex_lock(&s->mutex);
    uint64_t at = s->got;
    while (s->put == at)
        await(s, ITEMS);
    unsigned filled = (unsigned)(s->put - at), n = filled < s->batch ? filled : s->batch;
    for (unsigned i = 0; i < n; i++)
        items[i] = s->slots[(at + i) % s->depth];
    atomic_store_explicit(&s->got, at + n, memory_order_release);
    if (s->how == CONDVAR)
        (void)pthread_mutex_unlock(&s->mutex);
    wake(s, ROOM);
    return n;
}

/* Ends with a batch of zeros, after one at least that counts, however late it is. */
static void prepare(struct exchange *s, const struct exchange_params *params, unsigned rank)
{
    uint64_t items[BATCH_MOST] = {0}, chains[BUSY_CHAINS] = {0}, seed = s->seed + rank, sum = 0;
    uint64_t now_ns = clock_now_ns();
    double most_steps = 2 * params->prepare_us * s->steps_per_us;
    for (bool counts = false, ends = false; !ends; counts = now_ns >= s->begin_ns) {
        ends = counts && now_ns >= s->begin_ns + s->slice_ns / WARM_SHARE * (WARM_SHARE - 1);
        for (unsigned i = 0; i < s->batch; i++) {
            busy_run(chains, (uint64_t)(most_steps * random_share(&seed)));
            now_ns = clock_now_ns();
            sum += items[i] = ends ? 0 : now_ns;
        }
        put_batch(s, items);
    }
    atomic_fetch_add(&s->put_sum, sum);
}

static void feed(const struct bench_ctx *ctx)
{
    struct exchange *s = ctx->state;
    const struct exchange_params *params = ctx->params;
    uint64_t items[BATCH_MOST] = {0}, chains[BUSY_CHAINS] = {0}, now_ns = 0;
    uint64_t steps = (uint64_t)(params->feed_us * s->steps_per_us);
    for (unsigned left = (unsigned)params->preparers * s->batch; left;) {
        unsigned n = get_batch(s, items);
        now_ns = clock_now_ns();
        bench_progress(ctx, n);
        for (unsigned i = 0; i < n; i++) {
            bool counts = items[i] && now_ns >= s->begin_ns;
            left -= !items[i];
            s->got_sum += items[i];
            s->counted += counts;
            if (counts)
                times_add(&s->waits, now_ns - items[i]);
            busy_run(chains, steps);
        }
    }
    s->counted_ns = now_ns - s->begin_ns;
}

static void exchange(void *arg, unsigned rank, unsigned n)
{
    (void)n;
    struct bench_ctx *ctx = arg;
    if (rank)
        prepare(ctx->state, ctx->params, rank);
    else
        feed(ctx);
}

static struct dims place_of(size_t point)
{
    const unsigned how = (unsigned)point / PAIRS;
    return DIMS({BY_HOW, how}, {BY_BATCH, pairs[point % PAIRS].batch},
                {BY_DEPTH, pairs[point % PAIRS].depth});
}

static int measure_point(struct bench_ctx *ctx, size_t point)
{
    const struct exchange_params *params = ctx->params;
    struct exchange *s = ctx->state;
    const struct dims at = place_of(point);
    s->how = (enum how)at.of[0].at;
    s->batch = (unsigned)at.of[1].at;
    s->depth = (unsigned)at.of[2].at;
    s->puts_locked = s->how == CONDVAR || params->preparers > 1;
    s->no_eventfd.code = s->no_eventfd.code ? -ENOTSUP : 0;
    if (s->how == EVENTFD && bench_emit_absent(ctx, RATE, &s->no_eventfd, at))
        return 0;
    s->put = s->got = s->put_sum = 0;
    s->got_sum = s->counted = 0;
    s->waits = (struct times){0};
    s->begin_ns = clock_now_ns() + s->slice_ns / WARM_SHARE;
    (void)team_run(&s->team, NULL, 1 + (unsigned)params->preparers, exchange, ctx);
    bench_emit(ctx, RATE, (double)s->counted * 1e9 / (double)s->counted_ns, at);
    bench_emit(ctx, P50, times_percentile(&s->waits, 0.5) / 1e3, at);
    bench_emit(ctx, P99, times_percentile(&s->waits, 0.99) / 1e3, at);
    return s->put_sum == s->got_sum
               ? 0
               : err_set(ctx->err, -EBADMSG, "the feeder got other items than were put");
}

/* Once for each batch: at its smallest queue. */
static void emit_depth_needed(struct bench_ctx *ctx, size_t point)
{
    const struct dims at = place_of(point);
    if (at.of[1].at == at.of[2].at)
        points_emit_least(ctx, DEPTH, RATE, &at, BY_DEPTH);
}

static int exchange_scan(struct bench_ctx *ctx)
{
    return points_run(ctx, POINTS, measure_point, emit_depth_needed);
}

const struct bench bench_producer_consumer = {
    .name = "producer_consumer",
    .summary = "a bounded queue between preparers and a feeder: prefetch depth and batch",
    .opts = exchange_opts,
    .params_size = sizeof(struct exchange_params),
    .metrics = exchange_metrics,
    .figures = exchange_figures,
    .dims = exchange_dims,
    .state_size = sizeof(struct exchange),
    .setup = exchange_setup,
    .scan = exchange_scan,
    .teardown = exchange_teardown,
};
