/*
 * The cost to hand items over through a buffer that holds only so many: threads that put, on one
 * side, and threads that get, on the other, do nothing else and sleep where it is full or empty, as
 * loaders and the worker that they feed.
 *
 * **Measures** on CLOCK_MONOTONIC_RAW, the first quarter not counted: `item_rate` = items got /
 * time. `item_sleeps` = voluntary switches of all threads / items: how often somebody had to be
 * woken for one. `item_wait` us, the median, and `item_wait_p99` = from when an item is in the
 * buffer to when it was got; a full buffer has a wait of capacity / item_rate (Little 1961). Keys:
 * how (`condvar`, `semaphore`: see bounded.h), threads (`4x1`: 4 put, 1 gets), capacity, sides: all
 * threads on `one` CPU; each side on one, the second a `sibling`, under the same `cache`, of the
 * same `node` or `remote`; `spread`: each thread has a CPU of its own.
 * **Source** the bounded buffer of Dijkstra, Cooperating sequential processes, 1965; Python's
 * queue.Queue is `condvar`.
 * **Limits** Nobody works on the items: this is the most that a buffer can do. Two reads of the
 * clock are in the time of an item. Pairs other than 1x1 run at capacity 16 alone, unless one is
 * asked for. Distances are those that the system reports.
 */
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#include "bench/common/points.h"
#include "bench/common/team.h"
#include "bench/os/bounded.h"
#include "bench/os/cpu_pair.h"
#include "bench/registry.h"
#include "harness/lib/stats/stats.h"
#include "harness/lib/sys/clock.h"
#include "kernels/cpu/mix64.h"

/* Sides: one CPU, the second as near as enum near says, each thread its own. */
enum { ONE, FIRST_NEAR, SPREAD = FIRST_NEAR + NEARS, SIDES };
enum { TEAMS = 4, CAPACITIES = 3, POINTS = BOUNDED_HOWS * SIDES * TEAMS * CAPACITIES };
enum { SIDE_MOST = 64, CAPACITY_MOST = 65536, WAITS_MOST = 1 << 14, WARM_SHARE = 4 };

static const uint64_t slice_least_ns = 2000000;

/* "all" is the first of each. */
static const char *const how_names[] = {"all", "condvar", "semaphore", NULL};
static const char *const sides_names[] = {"all",  "one",    "sibling", "cache",
                                          "node", "remote", "spread",  NULL};

struct exchange_params {
    int64_t producers, consumers, capacity;
    int how, sides;
};

static const struct opt exchange_opts[] = {
    OPT_INT("producers", exchange_params, producers, "0", 0, SIDE_MOST, "N",
            "threads that put; 0 = 1 and 4"),
    OPT_INT("consumers", exchange_params, consumers, "0", 0, SIDE_MOST, "N",
            "threads that get; 0 = 1 and 4"),
    OPT_INT("capacity", exchange_params, capacity, "0", 0, CAPACITY_MOST, "ITEMS",
            "that the buffer holds; 0 = 1, 16 and 256"),
    OPT_CHOICE("how", exchange_params, how, "all", how_names, "HOW",
               "condition variables, or semaphores"),
    OPT_CHOICE("sides", exchange_params, sides, "all", sides_names, "WHERE",
               "the CPUs of those that put and of those that get"),
    {.name = NULL},
};

enum { BY_HOW = 1, BY_SIDES, BY_THREADS, BY_CAPACITY };
static const struct bench_dim exchange_dims[] = {
    [BY_HOW] = {"how", .labels = how_names + 1, .said = how_names + 1},
    [BY_SIDES] = {"sides", .labels = sides_names + 1,
                  .said = LABELS("one CPU", "SMT siblings", "same cache", "same node", "two nodes",
                                 "a CPU each")},
    [BY_THREADS] = {"threads"}, /* "4x1": that put, that get */
    [BY_CAPACITY] = {"capacity"},
    {.name = NULL},
};

enum { RATE, SLEEPS, WAIT, WAIT_P99 };
static const struct bench_metric exchange_metrics[] = {
    [RATE] = {"item_rate", "items/s", "higher", .gating = true},
    [SLEEPS] = {"item_sleeps", "1", "lower"},
    [WAIT] = {"item_wait", "us", "lower"},
    [WAIT_P99] = {"item_wait_p99", "us", "lower", .hidden = true},
    {.name = NULL},
};

static const struct bench_figure exchange_figures[] = {
    {.name = "producer_consumer",
     .kind = FIGURE_LINES,
     .metric = "item_rate",
     .only = &(struct dims){.of = {{BY_THREADS}}, .n = 1, .text_at = {1}, .text = "1x1"},
     .title = "items that one thread hands to another, by the size of the buffer",
     .how = "Without work on them",
     .x = {"capacity (items, log scale)", BY_CAPACITY, .log = true},
     .y = {"items a second (log scale)", .log = true},
     .series = {BY_HOW, BY_SIDES}},
    {.name = "producer_consumer_threads",
     .kind = FIGURE_BARS,
     .metric = "item_rate",
     .only = &DIMS({BY_CAPACITY, 16}),
     .title = "items handed over, by how many threads put and get",
     .how = "Through a buffer of 16 items",
     .x = {"threads that put x threads that get", BY_THREADS},
     .y = {"items a second"},
     .series = {BY_HOW, BY_SIDES}},
    {.name = NULL},
};

struct point {
    enum bounded_how how;
    unsigned sides, producers, consumers, capacity;
    unsigned other; /* CPU of those that get, in machine->cpus, where sides is of two CPUs */
    struct err absent;
};

/* One thread, of either side. */
struct hand {
    _Alignas(128) uint64_t items, tags; /* put or got, and the sum of what they are */
    uint64_t sleeps;
    /* On the side that gets, for items that count. */
    uint64_t counted, last_ns;
    unsigned nwaits, stride; /* every so many are kept: again one in two when there is no room */
    float wait_us[WAITS_MOST];
};

struct exchange {
    unsigned npoints;
    struct point points[POINTS];
    uint64_t slice_ns, seed;
    double *waits; /* of all who get */
    /* The current point. */
    const struct point *point;
    struct bounded buffer;
    struct hand *hands; /* [2 * SIDE_MOST]; those that put come first */
    _Alignas(128) _Atomic uint64_t start_ns;
    _Alignas(128) atomic_bool some_counted;
    _Alignas(128) _Atomic unsigned producing;
};

static void add_point(struct exchange *s, const struct bench_machine *machine, struct point point)
{
    unsigned threads = point.producers + point.consumers;
    if (point.sides >= FIRST_NEAR && point.sides < SPREAD)
        (void)near_find(machine, (enum near)(point.sides - FIRST_NEAR), &point.other,
                        &point.absent);
    else if (point.sides == SPREAD && threads > machine->ncpus)
        (void)err_set(&point.absent, -ENOTSUP, "%u threads on a CPU each need more than %u CPUs",
                      threads, machine->ncpus);
    s->points[s->npoints++] = point;
}

/* Capacities for 1x1, pairs of sides at the middle capacity; all of them where only one is left. */
static void list_points(struct exchange *s, const struct exchange_params *params,
                        const struct bench_machine *machine)
{
    static const unsigned sides_of[2] = {1, 4}, capacities[CAPACITIES] = {1, 16, 256};
    unsigned nputs = params->producers ? 1 : 2, ngets = params->consumers ? 1 : 2;
    unsigned nteams = nputs * ngets, ncapacities = params->capacity ? 1 : CAPACITIES;
    for (unsigned i = 0; i < POINTS; i++) {
        unsigned how = i / (SIDES * TEAMS * CAPACITIES), sides = i / (TEAMS * CAPACITIES) % SIDES;
        unsigned team = i / CAPACITIES % TEAMS, capacity = i % CAPACITIES;
        if (team >= nteams || capacity >= ncapacities || !points_asked(params->how, how) ||
            !points_asked(params->sides, sides) ||
            (team && nteams > 1 && ncapacities > 1 && capacities[capacity] != 16))
            continue;
        struct point point = {
            .how = (enum bounded_how)how,
            .sides = sides,
            .producers = params->producers ? (unsigned)params->producers : sides_of[team % nputs],
            .consumers = params->consumers ? (unsigned)params->consumers : sides_of[team / nputs],
            .capacity = params->capacity ? (unsigned)params->capacity : capacities[capacity],
        };
        if (sides == SPREAD && point.producers + point.consumers == 2)
            continue; /* two CPUs are the other sides */
        add_point(s, machine, point);
    }
}

static int exchange_validate(const void *params, struct err *err)
{
    const struct exchange_params *asks = params;
    if (asks->sides == SPREAD + 1 && asks->producers == 1 && asks->consumers == 1)
        return err_set(err, -EINVAL,
                       "sides=spread is for more than two threads: of one producer "
                       "and one consumer the other sides tell");
    return 0;
}

static int exchange_setup(struct bench_ctx *ctx)
{
    struct exchange *s = ctx->state;
    size_t possible = 0;
    list_points(s, ctx->params, ctx->machine);
    for (unsigned i = 0; i < s->npoints; i++)
        possible += !s->points[i].absent.code;
    s->slice_ns = points_share_ns(ctx, possible, slice_least_ns);
    s->seed = ctx->round_seed;
    s->waits = bench_array(ctx, (size_t)SIDE_MOST * WAITS_MOST, sizeof(*s->waits));
    s->hands = bench_array(ctx, (size_t)2 * SIDE_MOST, sizeof(*s->hands));
    return s->waits && s->hands ? 0 : -ENOMEM;
}

/* ---- those who put ---- */

/* The slice begins where the first thread is there. */
static void note_start(struct exchange *s)
{
    uint64_t none = 0;
    (void)atomic_compare_exchange_strong(&s->start_ns, &none, clock_now_ns());
}

/* The last one to end tells all who get. */
static void put_items(struct exchange *s, unsigned rank, struct hand *hand)
{
    uint64_t end_ns = atomic_load(&s->start_ns) + s->slice_ns, put_ns = 0;
    while (put_ns < end_ns || !atomic_load_explicit(&s->some_counted, memory_order_relaxed)) {
        uint64_t tag = mix64(s->seed + ((uint64_t)rank << 48) + hand->items) | 1;
        put_ns = bounded_put(&s->buffer, tag);
        hand->items++;
        hand->tags += tag;
    }
    if (atomic_fetch_sub(&s->producing, 1) == 1)
        for (unsigned i = 0; i < s->point->consumers; i++)
            (void)bounded_put(&s->buffer, 0);
}

/* ---- those who get ---- */

static void keep_wait(struct hand *hand, double wait_us)
{
    if (hand->counted % hand->stride)
        return;
    if (hand->nwaits == WAITS_MOST) {
        for (unsigned i = 0; i < WAITS_MOST / 2; i++)
            hand->wait_us[i] = hand->wait_us[(size_t)2 * i];
        hand->nwaits /= 2;
        hand->stride *= 2;
        if (hand->counted % hand->stride)
            return;
    }
    hand->wait_us[hand->nwaits++] = (float)wait_us;
}

static void get_items(struct exchange *s, struct hand *hand)
{
    uint64_t begin_ns = atomic_load(&s->start_ns) + s->slice_ns / WARM_SHARE;
    for (;;) {
        struct bounded_item item = bounded_get(&s->buffer);
        if (!item.tag)
            return;
        uint64_t now_ns = clock_now_ns();
        hand->items++;
        hand->tags += item.tag;
        if (now_ns < begin_ns)
            continue;
        keep_wait(hand, (double)(now_ns - item.put_ns) / 1e3);
        hand->counted++;
        hand->last_ns = now_ns;
        if (hand->counted == 1)
            atomic_store_explicit(&s->some_counted, true, memory_order_relaxed);
    }
}

static uint64_t switches(void)
{
    struct rusage usage;
    return getrusage(RUSAGE_THREAD, &usage) ? 0 : (uint64_t)usage.ru_nvcsw;
}

static void lend_a_hand(void *arg, unsigned rank, unsigned n)
{
    struct exchange *s = arg;
    struct hand *hand = &s->hands[rank];
    (void)n;
    hand->items = hand->tags = hand->counted = hand->last_ns = 0;
    hand->nwaits = 0;
    hand->stride = 1;
    note_start(s);
    uint64_t before = switches();
    if (rank < s->point->producers)
        put_items(s, rank, hand);
    else
        get_items(s, hand);
    hand->sleeps = switches() - before;
}

/* ---- points ---- */

static struct dims place_of(const struct point *point)
{
    char threads[24];
    struct dims at = DIMS({BY_HOW, point->how}, {BY_SIDES, point->sides});
    (void)snprintf(threads, sizeof(threads), "%ux%u", point->producers, point->consumers);
    return dims_with(dims_with_text(at, BY_THREADS, threads), BY_CAPACITY, point->capacity);
}

/* Each item came once. */
static int emit_point(struct bench_ctx *ctx, const struct point *point)
{
    const struct exchange *s = ctx->state;
    const struct dims at = place_of(point);
    uint64_t put = 0, got = 0, tags = 0, sleeps = 0, counted = 0, last_ns = 0;
    size_t nwaits = 0;
    for (unsigned i = 0; i < point->producers + point->consumers; i++) {
        const struct hand *hand = &s->hands[i];
        sleeps += hand->sleeps;
        if (i < point->producers) {
            put += hand->items;
            tags += hand->tags;
            continue;
        }
        got += hand->items;
        tags -= hand->tags;
        counted += hand->counted;
        last_ns = hand->last_ns > last_ns ? hand->last_ns : last_ns;
        for (unsigned wait = 0; wait < hand->nwaits; wait++)
            s->waits[nwaits++] = (double)hand->wait_us[wait];
    }
    uint64_t begin_ns = atomic_load(&s->start_ns) + s->slice_ns / WARM_SHARE;
    nwaits = stats_sort(s->waits, nwaits);
    bench_emit(ctx, RATE, (double)counted * 1e9 / (double)(last_ns - begin_ns), at);
    bench_emit(ctx, SLEEPS, (double)sleeps / (double)got, at);
    bench_emit(ctx, WAIT, stats_median(s->waits, nwaits), at);
    bench_emit(ctx, WAIT_P99, stats_percentile(s->waits, nwaits, 0.99), at);
    return put != got || tags ? err_set(ctx->err, -EBADMSG, "an item was got twice, or never") : 0;
}

static unsigned cpu_of(const struct bench_machine *machine, const struct point *point,
                       unsigned rank)
{
    if (point->sides == SPREAD)
        return machine->cpus[rank].os_cpu;
    bool gets = rank >= point->producers;
    return machine->cpus[point->sides != ONE && gets ? point->other : 0].os_cpu;
}

static int measure_point(struct bench_ctx *ctx, size_t which)
{
    struct exchange *s = ctx->state;
    const struct point *point = &s->points[which];
    unsigned os_cpus[2 * SIDE_MOST], threads = point->producers + point->consumers;
    struct team team = {0};
    bool said = which && s->points[which - 1].sides == point->sides;
    if (point->absent.code) { /* what there is not is said once */
        if (!said)
            (void)bench_emit_absent(ctx, RATE, &point->absent, place_of(point));
        return 0;
    }
    for (unsigned rank = 0; rank < threads; rank++)
        os_cpus[rank] = cpu_of(ctx->machine, point, rank);
    s->point = point;
    atomic_store(&s->start_ns, 0);
    atomic_store(&s->some_counted, false);
    atomic_store(&s->producing, point->producers);
    int rc = bounded_open(&s->buffer, point->how, point->capacity, ctx->err);
    if (!rc)
        rc = team_start(&team, ctx, os_cpus, threads);
    if (!rc) {
        (void)team_run(&team, NULL, threads, lend_a_hand, s);
        rc = emit_point(ctx, point);
    }
    team_stop(&team);
    bounded_close(&s->buffer);
    return rc;
}

static int exchange_scan(struct bench_ctx *ctx)
{
    const struct exchange *s = ctx->state;
    return points_run(ctx, s->npoints, measure_point, NULL);
}

const struct bench bench_producer_consumer = {
    .name = "producer_consumer",
    .summary = "items through a bounded buffer: rate, sleeps and waits, by capacity and CPUs",
    .opts = exchange_opts,
    .params_size = sizeof(struct exchange_params),
    .metrics = exchange_metrics,
    .figures = exchange_figures,
    .dims = exchange_dims,
    .validate = exchange_validate,
    .state_size = sizeof(struct exchange),
    .setup = exchange_setup,
    .scan = exchange_scan,
};
