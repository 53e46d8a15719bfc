/*
 * Memory bandwidth of one thread and of all: read, write, and the four kernels of STREAM.
 *
 * The threads that use the three arrays of doubles touch them first, in parallel. Each round runs
 * every kernel once over whole arrays, with plain and with non-temporal stores; the first round
 * warms up. Each array is 4 times all last-level caches. It is smaller if the three arrays would
 * take more than a quarter of the free memory, or if the time of a quick profile is too short; the
 * time alone reduces it to half at most. `array_bytes` and `array_per_cache` give the size. Between
 * two uses of a line lies at least one array, as write may follow read over the same one. With less
 * than twice the caches that the threads reach, values are noisy.
 *
 * **Measures** `bandwidth`: median over rounds of STREAM bytes / time, GB/s of 1e9 bytes, from the
 * first thread's start to the last thread's end on CLOCK_MONOTONIC_RAW. Bytes per element: read and
 * write 8, copy (c = a) and scale (b = q c) 16, add (c = a + b) and triad (a = b + q c) 24: the
 * write-allocate of plain stores is not counted. `bandwidth_best`: the best round, which is what
 * STREAM prints. `page_share`: the share of the arrays that lies on pages of the kind asked for.
 * **Source** J. McCalpin, STREAM; q = sqrt(2) - 1 keeps a at its value over a round.
 * **Limits** Non-temporal copy and scale walk 8 pages side by side, other kernels one (stream.h).
 * Arrays start at multiples of 2 MiB. With several NUMA nodes the arrays of a one-thread run lie on
 * that thread's node; a count between one and all takes the first CPUs of the topological order. In
 * a VM whose memory grows with use, array sizes follow the memory that it has now.
 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <sys/mman.h>

#include "bench/common/memory.h"
#include "bench/common/team.h"
#include "bench/registry.h"
#include "harness/lib/stats.h"
#include "harness/lib/sys/clock.h"
#include "kernels/cpu/stream.h"

enum {
    ARRAYS = 3,
    ROUNDS_MIN = 2,
    ROUNDS_MAX = 128,
    POINTS_MAX = STREAM_OPS * STREAM_STORES,
    ALIGN = 2 << 20,
    GRAIN = 512 /* doubles: parts of threads meet at multiples of 4 KiB */
};

struct bandwidth_params {
    uint64_t size;
    int64_t threads;
    int op, stores, isa, pages;
};

static const char *const op_names[] = {"all",   "read", "write", "copy",
                                       "scale", "add",  "triad", NULL};
static const char *const store_names[] = {"both", "plain", "nt", NULL};
static const char *const isa_names[] = {"best", "sse2", "avx2",    "avx512",
                                        "neon", "sve",  "generic", NULL};

static const struct opt bandwidth_opts[] = {
    OPT_SIZE(
        "size", bandwidth_params, size, NULL, 1 << 16, 1ull << 46, "BYTES",
        "bytes of each of the three arrays; unset: 4 times the last-level caches, if possible"),
    OPT_INT("threads", bandwidth_params, threads, "0", 0, BITSET_BITS, "N",
            "threads, one a CPU; 0: one, then all"),
    OPT_CHOICE("op", bandwidth_params, op, "all", op_names, "NAME", "which kernel"),
    OPT_CHOICE("stores", bandwidth_params, stores, "both", store_names, "NAME",
               "plain, non-temporal or both"),
    OPT_CHOICE("isa", bandwidth_params, isa, "best", isa_names, "NAME", "instruction set"),
    OPT_CHOICE("pages", bandwidth_params, pages, "thp", memory_pages_names, "NAME",
               "base pages, transparent huge ones, or the pool's"),
    {.name = NULL},
};

enum { BY_OP = 1, BY_STORES, BY_THREADS, BY_PAGES };
enum { STORES_NONE, STORES_PLAIN, STORES_NT };
static const struct bench_dim bandwidth_dims[] = {
    [BY_OP] = {"op", .labels = op_names + 1},
    [BY_STORES] = {"stores", .labels = LABELS("none", "plain", "nt"),
                   .labels_long = LABELS(NULL, "plain", "nt")},
    [BY_THREADS] = {"threads", .unit = "threads", .special = {1, "1 thread"}},
    [BY_PAGES] = {"pages", .labels = memory_pages_names},
    {.name = NULL},
};

enum { BANDWIDTH, BANDWIDTH_BEST, ARRAY_BYTES, ARRAY_PER_CACHE, PAGE_SHARE };
static const struct bench_metric bandwidth_metrics[] = {
    /* A read has no stores; figures show it with the plain ones. */
    [BANDWIDTH] = {"bandwidth", "GB/s", "higher", .replaced = {BY_STORES, STORES_NONE},
                   .shown = STORES_PLAIN, .gating = true},
    [BANDWIDTH_BEST] = {"bandwidth_best", "GB/s", "higher", .hidden = true},
    [ARRAY_BYTES] = {"array_bytes", "B", "none", .hidden = true},
    [ARRAY_PER_CACHE] = {"array_per_cache", "ratio", "none"},
    [PAGE_SHARE] = {"page_share", "ratio", "none", .hidden = true},
    {.name = NULL},
};

static const struct bench_figure bandwidth_figures[] = {
    {.name = "bandwidth",
     .kind = FIGURE_BARS,
     .metric = "bandwidth",
     .title = "bandwidth of memory",
     .how = "STREAM bytes. nt: non-temporal stores",
     .x = {"operation (on arrays of 8-byte numbers)", BY_OP},
     .y = {"bandwidth (GB/s)"},
     .series = {BY_THREADS, BY_STORES}},
    {.name = NULL},
};

struct point {
    enum stream_op op;
    enum stream_store store;
    uint64_t passes; /* per timed interval; more than one for tiny arrays */
    unsigned rounds;
    double gbps[ROUNDS_MAX];
};

struct bandwidth {
    const struct stream_isa *isa;
    struct memory_block block; /* the arrays, `stride` doubles apart */
    struct team team;
    size_t n, stride;            /* doubles */
    double expected[ARRAYS];     /* value of each array's elements, which are all equal */
    double worst_sum;            /* largest relative error of a read's sum */
    unsigned counts[2], ncounts; /* of threads */
    unsigned npoints;
    struct point points[POINTS_MAX];
    double *sums;    /* by rank */
    uint64_t min_ns; /* shortest interval worth timing */
};

/* One kernel over whole arrays, as the threads see it. */
struct pass {
    struct bandwidth *bw;
    double (*kernel)(const struct stream_args *args);
    struct stream_args args;
    uint64_t passes;
};

static double *array_of(const struct bandwidth *bw, unsigned array)
{
    return (double *)bw->block.base + array * bw->stride;
}

static const struct stream_isa *isa_of(const struct bandwidth_params *params)
{
    return params->isa ? stream_isa_find(isa_names[params->isa]) : stream_isa_best();
}

static bool is_wanted(const struct bandwidth_params *params, const struct stream_isa *isa,
                      enum stream_op op, enum stream_store store)
{
    if (!isa->kernel[op][store] || (params->op && params->op - 1 != (int)op))
        return false;
    return op == STREAM_READ || !params->stores || params->stores - 1 == (int)store;
}

static int bandwidth_validate(const void *raw, struct err *err)
{
    const struct bandwidth_params *params = raw;
    if (params->op - 1 == STREAM_READ && params->stores - 1 == STREAM_NT)
        return err_set(err, -EINVAL, "op read has no non-temporal stores");
    return 0;
}

static int bandwidth_probe(struct bench_ctx *ctx)
{
    const struct bandwidth_params *params = ctx->params;
    const struct stream_isa *isa = isa_of(params);
    if (!isa || !isa->supported())
        return err_set(ctx->err, -ENOTSUP, "this CPU has no %s", isa_names[params->isa]);
    if (params->stores - 1 == STREAM_NT && !isa->kernel[STREAM_COPY][STREAM_NT])
        return err_set(ctx->err, -ENOTSUP, "there are no non-temporal stores in %s", isa->name);
    if (params->threads > ctx->machine->ncpus)
        return err_set(ctx->err, -ENOTSUP, "%" PRId64 " threads on %u CPUs", params->threads,
                       ctx->machine->ncpus);
    /* The kernel may refuse transparent huge pages: page_share says how many there are. */
    int rc = params->pages == MEMORY_HUGETLB ? memory_check_pages(MEMORY_HUGETLB, ctx->err) : 0;
    return rc ? rc : memory_check_fits(ARRAYS * params->size, "mem_bandwidth", ctx->err);
}

static void list_points(struct bandwidth *bw, const struct bandwidth_params *params)
{
    for (int store = 0; store < STREAM_STORES; store++)
        for (int op = 0; op < STREAM_OPS; op++)
            if (is_wanted(params, bw->isa, (enum stream_op)op, (enum stream_store)store))
                bw->points[bw->npoints++] =
                    (struct point){.op = (enum stream_op)op, .store = (enum stream_store)store};
}

/* Bytes that a round moves per array element, for one thread count. */
static double round_bytes(const struct bandwidth *bw)
{
    double bytes = 0;
    for (unsigned p = 0; p < bw->npoints; p++)
        bytes += stream_op_bytes(bw->points[p].op);
    return bytes;
}

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* The default size of an array: see the top of this file. */
static uint64_t choose_bytes(const struct bandwidth *bw, const struct bench_ctx *ctx)
{
    const double thread_gbps = 10; /* roughly, per core; more than four count as four */
    const uint64_t smallest = 1 << 20;
    uint64_t llc = memory_llc_bytes(ctx->machine);
    double work = 0;
    for (unsigned i = 0; i < bw->ncounts; i++)
        work += round_bytes(bw) / (double)least(bw->counts[i], 4);
    double elements = ctx->budget_s * thread_gbps * 1e9 / (work * (ROUNDS_MIN + 1));
    uint64_t in_time = (uint64_t)(elements * sizeof(double));
    uint64_t bytes = least(4 * llc, in_time > 2 * llc ? in_time : 2 * llc);
    bytes = least(bytes, memory_available_bytes() / 4 / ARRAYS);
    return bytes > smallest ? bytes : smallest;
}

static void touch(void *arg, unsigned rank, unsigned n)
{
    const struct bandwidth *bw = arg;
    struct team_part part = team_part_of(bw->n, GRAIN, rank, n);
    for (unsigned array = 0; array < ARRAYS; array++)
        for (size_t i = part.begin; i < part.end; i++)
            array_of(bw, array)[i] = bw->expected[array];
}

/* Maps the pages anew, so that they lie on the nodes of the threads that use them next. */
static void place_pages(struct bandwidth *bw, unsigned threads)
{
    static const double first[ARRAYS] = {1, 2, 0};
    (void)madvise(bw->block.base, bw->block.bytes, MADV_DONTNEED);
    memcpy(bw->expected, first, sizeof(first));
    (void)team_run(&bw->team, NULL, threads, touch, bw);
}

static int bandwidth_setup(struct bench_ctx *ctx)
{
    const struct bandwidth_params *params = ctx->params;
    unsigned all = ctx->machine->ncpus;
    struct bandwidth *bw = ctx->state;
    bw->isa = isa_of(params);
    bw->counts[0] = params->threads ? (unsigned)params->threads : 1;
    bw->counts[1] = all;
    bw->ncounts = params->threads || all == 1 ? 1 : 2;
    bw->min_ns = CLOCK_MIN_INTERVAL_CALLS * clock_cost_ns();
    list_points(bw, params);
    bw->sums = bench_array(ctx, all, sizeof(*bw->sums));
    if (!bw->sums)
        return -ENOMEM;

    uint64_t bytes = params->size ? params->size : choose_bytes(bw, ctx);
    bw->n = (size_t)bytes / sizeof(double);
    bw->stride = memory_round_down(bytes + ALIGN - 1, ALIGN) / sizeof(double);
    int rc = memory_open(ctx, &bw->block, ARRAYS * bw->stride * sizeof(double),
                         (enum memory_pages)params->pages);
    if (!rc)
        rc = team_open_all(&bw->team, ctx);
    if (rc)
        return rc;
    place_pages(bw, all);
    ctx->buffer = bw->block.base;
    ctx->buffer_bytes = bw->block.bytes;
    return 0;
}

static void run_pass(void *arg, unsigned rank, unsigned n)
{
    const struct pass *pass = arg;
    struct team_part part = team_part_of(pass->bw->n, GRAIN, rank, n);
    struct stream_args args = pass->args;
    args.n = part.end - part.begin;
    args.to = args.to ? args.to + part.begin : NULL;
    args.x = args.x ? args.x + part.begin : NULL;
    args.y = args.y ? args.y + part.begin : NULL;
    double sum = 0;
    for (uint64_t i = 0; i < pass->passes; i++)
        sum = pass->kernel(&args);
    pass->bw->sums[rank] = sum;
}

/* Selects the arrays of a kernel in a round, and updates `expected` by what it writes. */
static struct stream_args bind_arrays(struct bandwidth *bw, enum stream_op op, unsigned round)
{
    enum { A, B, C };
    double *a = array_of(bw, A), *b = array_of(bw, B), *c = array_of(bw, C), *e = bw->expected;
    double q = sqrt(2) - 1;
    unsigned turn = round % ARRAYS;
    switch (op) {
    case STREAM_READ:
        return (struct stream_args){.x = array_of(bw, turn)};
    case STREAM_WRITE:
        e[turn] = 0.5 + round % 7;
        return (struct stream_args){.to = array_of(bw, turn), .q = e[turn]};
    case STREAM_COPY:
        e[C] = e[A];
        return (struct stream_args){.to = c, .x = a};
    case STREAM_SCALE:
        e[B] = q * e[C];
        return (struct stream_args){.to = b, .x = c, .q = q};
    case STREAM_ADD:
        e[C] = e[A] + e[B];
        return (struct stream_args){.to = c, .x = a, .y = b};
    default:
        e[A] = e[B] + q * e[C];
        return (struct stream_args){.to = a, .x = b, .y = c, .q = q};
    }
}

static void check_sum(struct bandwidth *bw, unsigned threads, unsigned round)
{
    double sum = 0, want = (double)bw->n * bw->expected[round % ARRAYS];
    for (unsigned rank = 0; rank < threads; rank++)
        sum += bw->sums[rank];
    double error = fabs(sum - want) / (want > 0 ? want : 1);
    /* `!(<=)`, so that a NaN is kept as an error. */
    if (!(error <= bw->worst_sum))
        bw->worst_sum = error;
}

/* Times a kernel once; returns the nanoseconds of all its passes. */
static uint64_t run_point(struct bandwidth *bw, struct point *point, unsigned threads,
                          unsigned round)
{
    struct pass pass = {
        .bw = bw,
        .kernel = bw->isa->kernel[point->op][point->store],
        .args = bind_arrays(bw, point->op, round),
        .passes = point->passes,
    };
    uint64_t elapsed_ns = team_run(&bw->team, NULL, threads, run_pass, &pass);
    if (point->op == STREAM_READ)
        check_sum(bw, threads, round);
    return elapsed_ns ? elapsed_ns : 1;
}

static void warm_up(struct bandwidth *bw, unsigned threads)
{
    for (unsigned p = 0; p < bw->npoints; p++) {
        struct point *point = &bw->points[p];
        point->rounds = 0;
        point->passes = 1;
        point->passes += bw->min_ns / run_point(bw, point, threads, 0);
    }
}

static void run_round(struct bandwidth *bw, unsigned threads, unsigned round)
{
    for (unsigned p = 0; p < bw->npoints; p++) {
        struct point *point = &bw->points[p];
        uint64_t elapsed_ns = run_point(bw, point, threads, round);
        uint64_t bytes = stream_op_bytes(point->op) * bw->n * point->passes;
        point->gbps[point->rounds++] = (double)bytes / (double)elapsed_ns;
    }
}

static void emit_points(struct bandwidth *bw, struct bench_ctx *ctx, unsigned threads)
{
    const char *doubt = memory_doubt("arrays", bw->n * sizeof(double), "last-level caches",
                                     memory_llc_reached(ctx->machine, NULL, threads));
    for (unsigned p = 0; p < bw->npoints; p++) {
        struct point *point = &bw->points[p];
        unsigned stores = point->op == STREAM_READ ? STORES_NONE : STORES_PLAIN + point->store;
        const struct dims at = DIMS({BY_OP, point->op}, {BY_STORES, stores}, {BY_THREADS, threads});
        bench_emit_doubt(ctx, BANDWIDTH, stats_sort_median(point->gbps, point->rounds), doubt, at);
        /* stats_sort_median has sorted them. */
        bench_emit_doubt(ctx, BANDWIDTH_BEST, point->gbps[point->rounds - 1], doubt, at);
    }
}

static void scan_threads(struct bandwidth *bw, struct bench_ctx *ctx, unsigned threads)
{
    uint64_t budget_ns = (uint64_t)(ctx->budget_s * 1e9 / bw->ncounts);
    if (ctx->machine->nnodes > 1)
        place_pages(bw, threads);
    uint64_t start_ns = clock_now_ns();
    warm_up(bw, threads);
    for (unsigned round = 1; round <= ROUNDS_MAX; round++) {
        run_round(bw, threads, round);
        uint64_t spent_ns = clock_now_ns() - start_ns;
        /* Estimate the next round by the mean of the rounds so far, warm-up included. */
        if (round >= ROUNDS_MIN && spent_ns + spent_ns / (round + 1) > budget_ns)
            break;
    }
    emit_points(bw, ctx, threads);
}

static int bandwidth_scan(struct bench_ctx *ctx)
{
    struct bandwidth *bw = ctx->state;
    double bytes = (double)bw->n * sizeof(double);
    for (unsigned i = 0; i < bw->ncounts; i++)
        scan_threads(bw, ctx, bw->counts[i]);
    bench_emit(ctx, ARRAY_BYTES, bytes, NO_DIMS);
    bench_emit(ctx, ARRAY_PER_CACHE, bytes / (double)memory_llc_bytes(ctx->machine), NO_DIMS);
    bench_emit(ctx, PAGE_SHARE, memory_page_share(&bw->block), DIMS({BY_PAGES, bw->block.pages}));
    return 0;
}

/* Wrong elements that a thread found in its part: how many, and the first. */
struct mismatch {
    size_t wrong, first;
};

struct check_args {
    const struct bandwidth *bw;
    unsigned array;
    struct mismatch *mismatches; /* by rank */
};

static bool is_right(double value, double want)
{
    return fabs(value - want) <= 1e-12 * (1 + fabs(want));
}

static void check_part(void *arg, unsigned rank, unsigned n)
{
    const struct check_args *check_args = arg;
    const double *array = array_of(check_args->bw, check_args->array);
    double want = check_args->bw->expected[check_args->array];
    struct team_part part = team_part_of(check_args->bw->n, GRAIN, rank, n);
    struct mismatch mismatch = {0};
    for (size_t i = part.begin; i < part.end; i++) {
        if (is_right(array[i], want))
            continue;
        if (mismatch.wrong++ == 0)
            mismatch.first = i;
    }
    check_args->mismatches[rank] = mismatch;
}

static int check_array(struct bandwidth *bw, unsigned array, struct mismatch *mismatches,
                       struct err *err)
{
    struct check_args check_args = {.bw = bw, .array = array, .mismatches = mismatches};
    struct mismatch all = {0};
    (void)team_run(&bw->team, NULL, bw->team.n, check_part, &check_args);
    for (unsigned rank = bw->team.n; rank-- > 0;) {
        all.wrong += mismatches[rank].wrong;
        all.first = mismatches[rank].wrong ? mismatches[rank].first : all.first;
    }
    if (!all.wrong)
        return 0;
    return err_set(err, -EBADMSG,
                   "%zu of %zu elements of array %c are wrong: [%zu] is %.17g, not %.17g",
                   all.wrong, bw->n, 'a' + (int)array, all.first, array_of(bw, array)[all.first],
                   bw->expected[array]);
}

static int bandwidth_check(struct bench_ctx *ctx)
{
    const double tolerance = 1e-8; /* adding up 1e10 equal numbers in 64 sums stays below */
    struct bandwidth *bw = ctx->state;
    if (!(bw->worst_sum <= tolerance))
        return err_set(ctx->err, -EBADMSG, "the sum of a read was off by %.2g of it",
                       bw->worst_sum);
    struct mismatch *mismatches = bench_array(ctx, bw->team.n, sizeof(*mismatches));
    int rc = mismatches ? 0 : -ENOMEM;
    for (unsigned array = 0; array < ARRAYS && !rc; array++)
        rc = check_array(bw, array, mismatches, ctx->err);
    return rc;
}

const struct bench bench_mem_bandwidth = {
    .name = "mem_bandwidth",
    .summary = "read, write, copy, scale, add and triad over large arrays, by one thread and all",
    .opts = bandwidth_opts,
    .params_size = sizeof(struct bandwidth_params),
    .metrics = bandwidth_metrics,
    .figures = bandwidth_figures,
    .dims = bandwidth_dims,
    .validate = bandwidth_validate,
    .probe = bandwidth_probe,
    .state_size = sizeof(struct bandwidth),
    .setup = bandwidth_setup,
    .scan = bandwidth_scan,
    .check = bandwidth_check,
};
