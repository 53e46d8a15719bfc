/*
 * Latency of a load by the size of the working set: the effective caches, memory and TLB.
 *
 * One thread, on the worker's first CPU, follows one dependent chain (kernels/cpu/chase.h) over
 * every cache line of a set of 4 KiB up to `max`, two sizes per octave. By default the chain is
 * uniform over all random cycles; it grows in place from size to size. At each size, the kinds of
 * pages are measured in turn.
 *
 * **Measures** `latency`: time / loads on CLOCK_MONOTONIC_RAW, ns per load, median over the
 * repetitions. Before them, a pass reads the set into the nearest caches that hold it; then a walk
 * follows a whole lap, or as many lines as the CPU's last-level cache has. `walked_share`: the
 * share of that walk that the slice had time for; below 1, lines that the pass left in the cache
 * make a set larger than the cache look faster. `tlb_cost`: latency on base pages less latency on
 * huge pages (the pool's, else transparent) at the same size. `cache_size`: where a step of the
 * curve on huge pages lies (bench/memory/curve.h), level 1 first; `cache_size_reported`: what the
 * system says. `page_share`: the share of the memory on pages of the kind; 0 means that this system
 * has none of the kind, and no latencies follow.
 * **Source** multichase (github.com/google/multichase): the same chain is `multichase -s 64 -m SIZE
 * -T SIZE` with -H for transparent huge pages (its default, `-T 256k`, stays in small groups).
 * **Limits** If a hypervisor backs huge pages by small ones, TLB misses stay in the latency beyond
 * a few MiB, and `tlb_cost` shows only the guest's share. A cache appears smaller than it is if
 * other programs use it. The thread that measures also touches the set's pages first.
 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench/common/memory.h"
#include "bench/common/team.h"
#include "bench/memory/curve.h"
#include "bench/registry.h"
#include "harness/lib/stats.h"
#include "harness/lib/sys/clock.h"
#include "harness/lib/text.h"
#include "kernels/cpu/chase.h"

enum { REPETITIONS = 7, SIZES_MAX = CURVE_POINTS_MAX, SMALLEST = 4096 };

struct latency_params {
    uint64_t min, max;
    int pages;
};

static const char *const page_names[] = {"all", "4k", "thp", "hugetlb", NULL};

static const struct opt latency_opts[] = {
    OPT_SIZE("min", latency_params, min, "4K", SMALLEST, 1ull << 37, "BYTES",
             "the smallest working set"),
    OPT_SIZE("max", latency_params, max, "1G", SMALLEST, 1ull << 37, "BYTES",
             "the largest working set"),
    OPT_CHOICE("pages", latency_params, pages, "all", page_names, "KIND",
               "base pages, transparent huge ones, the pool's, or all that there are"),
    {.name = NULL},
};

enum { BY_SIZE = 1, BY_PAGES, BY_LEVEL };
static const struct bench_dim latency_dims[] = {
    [BY_SIZE] = {"size", DIM_BYTES},
    [BY_PAGES] = {"pages", .labels = memory_pages_names,
                  .labels_long =
                      LABELS("base pages", "transparent huge pages", "huge pages of the pool")},
    [BY_LEVEL] = {"level"},
    {.name = NULL},
};

enum { LATENCY, TLB_COST, CACHE_SIZE, CACHE_SIZE_REPORTED, PAGE_SHARE, WALKED_SHARE };
static const struct bench_metric latency_metrics[] = {
    [LATENCY] = {"latency", "ns", "lower", .gating = true},
    [TLB_COST] = {"tlb_cost", "ns", "lower", .difference = true},
    [CACHE_SIZE] = {"cache_size", "B", "none"},
    [CACHE_SIZE_REPORTED] = {"cache_size_reported", "B", "none"},
    [PAGE_SHARE] = {"page_share", "ratio", "none", .hidden = true},
    [WALKED_SHARE] = {"walked_share", "ratio", "none", .hidden = true},
    {.name = NULL},
};

static const struct bench_figure latency_figures[] = {
    {.name = "latency_curve",
     .kind = FIGURE_LINES,
     .metric = "latency",
     .title = "latency of a load, by the size of the working set",
     .how = "One thread, dependent loads in random order",
     .note = "measured: where the curve steps up, reported: by the system",
     .x = {"working set (bytes, log scale)", BY_SIZE, .log = true, .bytes = true},
     .y = {"latency of a load (ns, log scale)", .log = true},
     .marks = (const struct figure_mark[]){{"cache_size", "measured", .solid = true},
                                           {"cache_size_reported", "reported", BY_LEVEL, "L"},
                                           {.metric = NULL}}},
    {.name = NULL},
};

/* One kind of page: its memory, the chain in it, and what was measured. */
struct kind {
    bool asked;
    struct memory_block block;
    size_t lines; /* current length of the chain */
    struct chase_line *at;
    double share;                 /* of the memory that lies on pages of this kind */
    double latency_ns[SIZES_MAX]; /* 0: not measured */
    double walked[SIZES_MAX];     /* walked_share, 0..1 */
};

struct latency {
    struct team team;
    struct kind kinds[MEMORY_PAGES];
    uint64_t sizes[SIZES_MAX];
    unsigned nsizes;
    uint64_t llc_lines;      /* lines of the CPU's last-level cache */
    uint64_t seed, slice_ns; /* slice_ns: time for one kind at one size */
    uint64_t min_ns;         /* shortest interval worth timing */
};

/* Argument of `measure`. */
struct order {
    struct latency *latency;
    struct kind *kind;
    unsigned size;
};

static bool is_wanted(const struct latency_params *params, int pages)
{
    return params->pages == 0 || params->pages - 1 == pages;
}

/* How many kinds take free memory: the pool's is already reserved. */
static unsigned free_kinds(const struct latency_params *params)
{
    return (unsigned)is_wanted(params, MEMORY_4K) + (unsigned)is_wanted(params, MEMORY_THP);
}

static int latency_validate(const void *raw, struct err *err)
{
    const struct latency_params *params = raw;
    if (params->min > params->max)
        return err_set(err, -EINVAL, "min %" PRIu64 " is larger than max %" PRIu64, params->min,
                       params->max);
    return 0;
}

static int latency_probe(struct bench_ctx *ctx)
{
    const struct latency_params *params = ctx->params;
    const char *need =
        str_fmt("max %s (in %u kinds of pages)", units_bytes(params->max), free_kinds(params));
    int rc = memory_check_fits(params->max * free_kinds(params), need, ctx->err);
    if (!rc && params->pages)
        rc = memory_check_pages((enum memory_pages)(params->pages - 1), ctx->err);
    return rc;
}

/* min, then 1.5 and 2 times a power of two in turn, then max: in whole lines, each size once. */
static void list_sizes(struct latency *latency, const struct latency_params *params)
{
    uint64_t min = memory_round_down(params->min, CHASE_LINE_BYTES);
    uint64_t max = memory_round_down(params->max, CHASE_LINE_BYTES);
    latency->sizes[latency->nsizes++] = min;
    for (uint64_t power = SMALLEST; power < max; power *= 2) {
        if (power > min)
            latency->sizes[latency->nsizes++] = power;
        if (power / 2 * 3 > min && power / 2 * 3 < max)
            latency->sizes[latency->nsizes++] = power / 2 * 3;
    }
    if (max > min)
        latency->sizes[latency->nsizes++] = max;
}

/* The pool may hold less than the largest set, or nothing: halves `bytes` until they fit. */
static int map_kind(struct kind *kind, enum memory_pages pages, uint64_t bytes, struct err *err)
{
    if (pages != MEMORY_HUGETLB)
        return memory_map(&kind->block, bytes, pages, err);
    while (memory_map(&kind->block, bytes, pages, NULL) && bytes > 1 << 21)
        bytes /= 2;
    return 0;
}

static void touch(void *arg)
{
    const struct memory_block *block = arg;
    memset(block->base, 0, block->bytes);
}

static int open_kind(struct latency *latency, int pages, uint64_t bytes, struct bench_ctx *ctx)
{
    struct kind *kind = &latency->kinds[pages];
    kind->asked = true;
    int rc = map_kind(kind, (enum memory_pages)pages, bytes, ctx->err);
    if (!rc)
        rc = memory_unmap_at_close(ctx, &kind->block);
    if (rc || !kind->block.base)
        return rc;
    team_call(&latency->team, 0, touch, &kind->block);
    kind->share = memory_page_share(&kind->block);
    kind->at = kind->block.base;
    return 0;
}

static int latency_setup(struct bench_ctx *ctx)
{
    const struct latency_params *params = ctx->params;
    struct latency *latency = ctx->state;
    latency->seed = ctx->seed;
    latency->llc_lines = memory_llc_reached(ctx->machine, NULL, 1) / CHASE_LINE_BYTES;
    latency->min_ns = CLOCK_MIN_INTERVAL_CALLS * clock_cost_ns();
    list_sizes(latency, params);
    int rc = team_open(&latency->team, ctx, &ctx->machine->cpus[0].os_cpu, 1);
    for (int pages = 0; pages < MEMORY_PAGES && !rc; pages++)
        if (is_wanted(params, pages))
            rc = open_kind(latency, pages, params->max, ctx);
    for (int pages = 0; pages < MEMORY_PAGES && !rc; pages++) {
        if (latency->kinds[pages].block.base) {
            ctx->buffer = latency->kinds[pages].block.base;
            ctx->buffer_bytes = latency->kinds[pages].block.bytes;
        }
    }
    return rc;
}

static void link_lines(struct latency *latency, struct kind *kind, size_t lines)
{
    struct chase_line *memory = kind->block.base;
    chase_grow(memory, kind->lines, lines, latency->seed);
    kind->lines = lines;
}

/* Time of a walk of `loads` loads from where the last walk ended. */
static uint64_t walk_ns(struct kind *kind, uint64_t loads)
{
    uint64_t start_ns = clock_now_ns();
    kind->at = chase_walk(kind->at, loads);
    return clock_now_ns() - start_ns;
}

/* Reads the set into the caches, in address order: a fraction of a walk's time. */
static void read_once(struct kind *kind)
{
    struct chase_line *memory = kind->block.base;
    for (size_t i = 0; i < kind->lines; i++)
        (void)*(struct chase_line *volatile *)&memory[i].next;
}

/*
 * Walks until the caches hold what a walk leaves there: one lap, or as many lines as the last-level
 * cache has, since each walked line then replaces one of read_once. Takes at most half of the
 * slice; returns the share of these lines that it walked.
 */
static double walk_in(const struct latency *latency, struct kind *kind, uint64_t start_ns)
{
    enum { BURST = 16 * CHASE_STEP };
    uint64_t lap = kind->lines < latency->llc_lines ? kind->lines : latency->llc_lines, loads = 0;
    while (loads < lap && clock_now_ns() - start_ns < latency->slice_ns / 2) {
        (void)walk_ns(kind, BURST);
        loads += BURST;
    }
    return loads < lap ? (double)loads / (double)lap : 1;
}

/*
 * Returns how many loads take about `target_ns`; also warms up. Uses the shorter of two walks: an
 * interrupted walk would make the intervals too short.
 */
static uint64_t calibrate(struct kind *kind, uint64_t target_ns)
{
    for (uint64_t loads = CHASE_STEP;; loads *= 2) {
        uint64_t first_ns = walk_ns(kind, loads), second_ns = walk_ns(kind, loads);
        uint64_t took_ns = first_ns < second_ns ? first_ns : second_ns;
        if (took_ns >= target_ns / 2)
            return loads;
    }
}

/* Measures the chain of one size in one kind of page. Runs in the pinned thread. */
static void measure(void *arg)
{
    struct order *order = arg;
    struct latency *latency = order->latency;
    struct kind *kind = order->kind;
    uint64_t start_ns = clock_now_ns(), bytes = latency->sizes[order->size];
    double values[REPETITIONS];
    link_lines(latency, kind, (size_t)bytes / CHASE_LINE_BYTES);
    read_once(kind);
    kind->walked[order->size] = walk_in(latency, kind, start_ns);

    uint64_t spent_ns = clock_now_ns() - start_ns;
    uint64_t left_ns = spent_ns < latency->slice_ns ? latency->slice_ns - spent_ns : 0;
    uint64_t target_ns = left_ns / (REPETITIONS + 2);
    if (target_ns < latency->slice_ns / (UINT64_C(4) * REPETITIONS))
        target_ns = latency->slice_ns / (UINT64_C(4) * REPETITIONS);
    if (target_ns < 2 * latency->min_ns)
        target_ns = 2 * latency->min_ns;
    uint64_t loads = calibrate(kind, target_ns);
    for (int i = 0; i < REPETITIONS; i++)
        values[i] = (double)walk_ns(kind, loads) / (double)loads;
    kind->latency_ns[order->size] = stats_sort_median(values, REPETITIONS);
}

static double *latency_at(struct latency *latency, int pages, unsigned size)
{
    return &latency->kinds[pages].latency_ns[size];
}

/* True if the system has such pages, and enough for this size. */
static bool is_usable(const struct latency *latency, int pages, unsigned size)
{
    const double all_but_edges = 0.9;
    const struct kind *kind = &latency->kinds[pages];
    return kind->block.base && !(kind->share < all_but_edges) &&
           latency->sizes[size] <= kind->block.bytes;
}

/* The kind of huge pages that a size was measured on; MEMORY_4K: none. */
static int huge_kind(const struct latency *latency, unsigned size)
{
    if (is_usable(latency, MEMORY_HUGETLB, size))
        return MEMORY_HUGETLB;
    return is_usable(latency, MEMORY_THP, size) ? MEMORY_THP : MEMORY_4K;
}

static void scan_size(struct latency *latency, struct bench_ctx *ctx, unsigned size)
{
    const struct dims at = DIMS({BY_SIZE, (double)latency->sizes[size]});
    for (int pages = 0; pages < MEMORY_PAGES; pages++) {
        if (!is_usable(latency, pages, size))
            continue;
        struct order order = {latency, &latency->kinds[pages], size};
        team_call(&latency->team, 0, measure, &order);
        const struct dims with_pages = dims_with(at, BY_PAGES, pages);
        bench_emit(ctx, LATENCY, *latency_at(latency, pages, size), with_pages);
        bench_emit(ctx, WALKED_SHARE, latency->kinds[pages].walked[size], with_pages);
    }
    int huge = huge_kind(latency, size);
    if (is_usable(latency, MEMORY_4K, size) && huge != MEMORY_4K)
        bench_emit(ctx, TLB_COST,
                   *latency_at(latency, MEMORY_4K, size) - *latency_at(latency, huge, size), at);
}

static void emit_caches(struct latency *latency, struct bench_ctx *ctx)
{
    struct curve_point points[SIZES_MAX];
    struct curve_step steps[CURVE_STEPS_MAX];
    const struct bench_machine *machine = ctx->machine;
    size_t n = 0;
    /* One kind for the whole curve: a change of kind within it would look like a cache. */
    int pages = huge_kind(latency, latency->nsizes - 1);
    for (unsigned size = 0; size < latency->nsizes; size++)
        if (is_usable(latency, pages, size))
            points[n++] = (struct curve_point){(double)latency->sizes[size],
                                               *latency_at(latency, pages, size)};
    size_t found = curve_find_steps(points, n, steps);
    for (size_t i = 0; i < found; i++)
        bench_emit(ctx, CACHE_SIZE, steps[i].size_bytes, DIMS({BY_LEVEL, (double)i + 1}));
    for (unsigned i = 0; i < machine->ncaches; i++)
        bench_emit(ctx, CACHE_SIZE_REPORTED, (double)machine->caches[i].size_bytes,
                   DIMS({BY_LEVEL, machine->caches[i].level}));
}

static int latency_scan(struct bench_ctx *ctx)
{
    struct latency *latency = ctx->state;
    unsigned kinds = 0;
    for (int pages = 0; pages < MEMORY_PAGES; pages++) {
        const struct kind *kind = &latency->kinds[pages];
        kinds += is_usable(latency, pages, 0);
        if (kind->asked)
            bench_emit(ctx, PAGE_SHARE, kind->share, DIMS({BY_PAGES, pages}));
    }
    latency->slice_ns = (uint64_t)(ctx->budget_s * 1e9 / latency->nsizes / (kinds ? kinds : 1));
    for (unsigned size = 0; size < latency->nsizes; size++)
        scan_size(latency, ctx, size);
    emit_caches(latency, ctx);
    return 0;
}

static int check_kind(const struct kind *kind, int pages, uint64_t *seen, struct err *err)
{
    enum { WALKED = 1 << 16 }; /* beyond, a walk takes longer than the scan */
    const struct chase_line *memory = kind->block.base;
    size_t fault = chase_find_fault(memory, kind->lines, seen);
    if (fault < kind->lines)
        return err_set(err, -EBADMSG,
                       "line %zu of %zu (%s pages) leads outside the chain, or where another does",
                       fault, kind->lines, memory_pages_names[pages]);
    if (kind->lines <= WALKED && !chase_is_cycle(memory, kind->lines))
        return err_set(err, -EBADMSG, "the chain of %zu lines (%s pages) is not one cycle",
                       kind->lines, memory_pages_names[pages]);
    return 0;
}

static int latency_check(struct bench_ctx *ctx)
{
    struct latency *latency = ctx->state;
    size_t lines = (size_t)latency->sizes[latency->nsizes - 1] / CHASE_LINE_BYTES;
    uint64_t *seen = calloc(lines / 64 + 1, sizeof(*seen));
    int rc = 0;
    if (!seen)
        return err_set(ctx->err, -ENOMEM, "cannot allocate the marks of %zu lines", lines);
    for (int pages = 0; pages < MEMORY_PAGES && !rc; pages++)
        if (latency->kinds[pages].lines)
            rc = check_kind(&latency->kinds[pages], pages, seen, ctx->err);
    free(seen);
    return rc;
}

const struct bench bench_mem_latency = {
    .name = "mem_latency",
    .summary = "latency of dependent loads over the working set, by kind of page, and the caches",
    .opts = latency_opts,
    .params_size = sizeof(struct latency_params),
    .metrics = latency_metrics,
    .figures = latency_figures,
    .dims = latency_dims,
    .validate = latency_validate,
    .probe = latency_probe,
    .state_size = sizeof(struct latency),
    .setup = latency_setup,
    .scan = latency_scan,
    .check = latency_check,
};
