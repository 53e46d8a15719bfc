/*
 * Latency of memory while the other CPUs use its bandwidth. The worker's first CPU follows one
 * chain of dependent loads. A thread on each other CPU (an injector) reads, or reads and writes,
 * its own memory at a rate swept from zero to its maximum.
 *
 * The highest rate is measured first; the other steps are shares of it. Each injector paces itself
 * by the clock, in chunks of 16 KiB. Their starts are spread over the time of one chunk.
 *
 * **Measures** per step, on CLOCK_MONOTONIC_RAW: `loaded_latency`, ns per load of the chain, median
 * of the repetitions; `loaded_bandwidth`, GB/s (1e9) of the injectors at the same time, median.
 * Bytes per element: `r` reads 8; `rw` (1:1) reads and overwrites in place, 16; `rrw` (2:1) adds a
 * second array to the first in place, 24. In place, every line that is filled is counted.
 * `knee_bandwidth`: where latency exceeds 1.5 times its idle value, between two steps (absent if
 * it never does); `retention`: idle latency / latency under full load.
 * **Source** Intel Memory Latency Checker, loaded latency; J. D. McCalpin's notes on latency under
 * load. The chain is that of mem_latency, on huge pages if available.
 * **Limits** If memory is short, caches serve part of the load, and the bandwidth exceeds that of
 * memory: with less than twice the caches, values are noisy. The bandwidth excludes the chain's own
 * loads (below 0.5 GB/s). The latency is that of the first CPU only. The rate of a step is a
 * target: only the measured pairs of bandwidth and latency are valid.
 */
#include <errno.h>
#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "bench/common/memory.h"
#include "bench/common/team.h"
#include "bench/memory/curve.h"
#include "bench/registry.h"
#include "harness/lib/stats.h"
#include "harness/lib/sys/clock.h"
#include "kernels/cpu/chase.h"
#include "kernels/cpu/stream.h"

enum {
    CHUNK = 2048, /* doubles: 16 KiB */
    REPETITIONS = 7,
    BURST = 4 * CHASE_STEP, /* loads between two reads of the clock */
    GRAIN = CHUNK,
    ARRAYS = 2 /* of the injectors, contiguous */
};

/* Shares of the highest rate; 0: idle, INFINITY: not paced. */
static const double rates[] = {0, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, INFINITY};
enum { STEPS = sizeof(rates) / sizeof(rates[0]) };

enum inject { INJECT_R, INJECT_RW, INJECT_RRW };
static const char *const inject_names[] = {"r", "rw", "rrw", NULL};
static const enum stream_op inject_ops[] = {STREAM_READ, STREAM_SCALE, STREAM_ADD};
static const unsigned inject_bytes[] = {8, 16, 24};

struct loaded_params {
    uint64_t size;
    int inject, pages;
};

static const struct opt loaded_opts[] = {
    OPT_SIZE("size", loaded_params, size, NULL, 1 << 20, 1ull << 44, "BYTES",
             "of the chain, and of the injectors' memory; unset: 2 and 4 times the caches, if "
             "possible"),
    OPT_CHOICE("inject", loaded_params, inject, "r", inject_names, "HOW",
               "the load: reads, reads and writes 1:1, or 2:1"),
    OPT_CHOICE("pages", loaded_params, pages, "thp", memory_pages_names, "KIND",
               "base pages, transparent huge ones, or the pool's"),
    {.name = NULL},
};

/* Relative to the idle latency. */
#define KNEE_RATIO 1.5

enum { BY_INJECT = 1, BY_STEP };
static const struct bench_dim loaded_dims[] = {
    [BY_INJECT] = {"inject", .labels = inject_names,
                   .labels_long = LABELS("others read", "others read and write (1:1)",
                                         "others read and write (2:1)")},
    [BY_STEP] = {"step", .digits = 2},
    {.name = NULL},
};

enum { LOADED_LATENCY, LOADED_BANDWIDTH, KNEE_BANDWIDTH, RETENTION, SET_BYTES };
static const struct bench_metric loaded_metrics[] = {
    [LOADED_LATENCY] = {"loaded_latency", "ns", "lower", .gating = true},
    [LOADED_BANDWIDTH] = {"loaded_bandwidth", "GB/s", "higher"},
    [KNEE_BANDWIDTH] = {"knee_bandwidth", "GB/s", "higher", .gating = true},
    [RETENTION] = {"retention", "ratio", "higher"},
    [SET_BYTES] = {"set_bytes", "B", "none", .hidden = true},
    {.name = NULL},
};

static const struct bench_figure loaded_figures[] = {
    {.name = "loaded_latency",
     .kind = FIGURE_LINES,
     .metric = "loaded_latency",
     .title = "latency of memory while other CPUs use its bandwidth",
     .how = "One CPU follows a chain, the others load",
     .x = {"bandwidth that the other CPUs use (GB/s)", BY_STEP, .metric = "loaded_bandwidth"},
     .y = {"latency of a load (ns)"},
     .cross = {"knee_bandwidth", "knee", KNEE_RATIO}},
    {.name = NULL},
};

struct injector {
    _Alignas(128) _Atomic uint64_t elements; /* since the job began; 128: two cache lines */
    double worst_sum;                        /* largest relative error of a chunk's sum */
};

struct loaded {
    struct team team;
    struct memory_block chain, load;
    size_t lines, n; /* lines of the chain; doubles of each of the injectors' arrays */
    uint64_t seed;
    struct chase_line *at;
    double (*kernel)(const struct stream_args *args);
    enum inject inject;
    struct injector *injectors; /* by rank; rank 0, the chain's, is unused */
    _Atomic bool stop;

    double chunk_ns;    /* an injector's time per chunk; 0 = not paced */
    bool idle;          /* no injection at all */
    uint64_t target_ns; /* of a repetition */
    double latency_ns[REPETITIONS], gbps[REPETITIONS];
};

static const double array_value[ARRAYS] = {1.5, 0.0};

static double *load_array(const struct loaded *loaded, unsigned array)
{
    return (double *)loaded->load.base + array * loaded->n;
}

static unsigned arrays_of(enum inject inject)
{
    return inject == INJECT_RRW ? 2 : 1;
}

/* `times` all last-level caches, at most 1 / `share` of the available memory, at least 1 MiB. */
static uint64_t choose_bytes(const struct bench_ctx *ctx, unsigned times, unsigned share)
{
    const uint64_t smallest = 1 << 20;
    uint64_t bytes = times * memory_llc_bytes(ctx->machine);
    uint64_t most = memory_available_bytes() / share;
    bytes = bytes < most ? bytes : most;
    return bytes > smallest ? bytes : smallest;
}

static int loaded_probe(struct bench_ctx *ctx)
{
    const struct loaded_params *params = ctx->params;
    if (ctx->machine->ncpus < 2)
        return err_set(ctx->err, -ENOTSUP,
                       "one CPU: there is none to make load while it measures latency");
    int rc = params->pages == MEMORY_HUGETLB ? memory_check_pages(MEMORY_HUGETLB, ctx->err) : 0;
    return rc ? rc : memory_check_fits(2 * params->size, "loaded_latency", ctx->err);
}

/* The part of the injectors' arrays for rank 1..n-1. */
static struct team_part part_of(const struct loaded *loaded, unsigned rank, unsigned n)
{
    return team_part_of(loaded->n, GRAIN, rank - 1, n - 1);
}

/* First touch: each thread writes the memory that it will use. */
static void fill_memory(void *arg, unsigned rank, unsigned n)
{
    struct loaded *loaded = arg;
    if (rank == 0) {
        chase_grow(loaded->chain.base, 0, loaded->lines, loaded->seed);
        return;
    }
    struct team_part part = part_of(loaded, rank, n);
    for (unsigned array = 0; array < arrays_of(loaded->inject); array++)
        for (size_t i = part.begin; i < part.end; i++)
            load_array(loaded, array)[i] = array_value[array];
}

static int loaded_setup(struct bench_ctx *ctx)
{
    const struct loaded_params *params = ctx->params;
    struct loaded *loaded = ctx->state;
    unsigned ncpus = ctx->machine->ncpus;
    uint64_t bytes = params->size ? params->size : choose_bytes(ctx, 2, 8);
    /* Private caches of many cores add up to the size of the shared cache: exceed both. */
    uint64_t load_bytes = params->size ? params->size : choose_bytes(ctx, 4, 4);
    loaded->seed = ctx->seed;
    loaded->inject = (enum inject)params->inject;
    loaded->kernel = stream_isa_best()->kernel[inject_ops[params->inject]][STREAM_PLAIN];
    loaded->lines = (size_t)bytes / CHASE_LINE_BYTES;
    loaded->n = (size_t)load_bytes / sizeof(double) / arrays_of(loaded->inject) / CHUNK * CHUNK;
    loaded->injectors = bench_array(ctx, ncpus, sizeof(*loaded->injectors));
    if (!loaded->injectors)
        return -ENOMEM;
    int rc = memory_open(ctx, &loaded->chain, bytes, (enum memory_pages)params->pages);
    if (!rc)
        rc = memory_open(ctx, &loaded->load, load_bytes, (enum memory_pages)params->pages);
    if (!rc)
        rc = team_open_all(&loaded->team, ctx);
    if (rc)
        return rc;
    (void)team_run(&loaded->team, NULL, ncpus, fill_memory, loaded);
    loaded->at = loaded->chain.base;
    ctx->buffer = loaded->chain.base;
    ctx->buffer_bytes = loaded->chain.bytes;
    return 0;
}

static void inject_chunk(struct loaded *loaded, struct injector *self, size_t at)
{
    struct stream_args args = {
        .to = load_array(loaded, 0) + at,
        .x = load_array(loaded, 0) + at,
        .y = load_array(loaded, 1) + at,
        .q = 1,
        .n = CHUNK,
    };
    double sum = loaded->kernel(&args);
    if (loaded->inject == INJECT_R) {
        double want = CHUNK * array_value[0], error = fabs(sum - want) / want;
        if (!(error <= self->worst_sum))
            self->worst_sum = error;
    }
}

/* Spins until `due_ns` or until told to stop. */
static void wait_until(const struct loaded *loaded, double due_ns)
{
    while ((double)clock_now_ns() < due_ns &&
           !atomic_load_explicit(&loaded->stop, memory_order_relaxed))
        ;
}

/*
 * Injects until told to stop. Starts are spread over the time of one chunk; otherwise the chunks of
 * all injectors would come in bursts. For the same reason a late injector does not catch up.
 */
static void inject(struct loaded *loaded, unsigned rank, unsigned n)
{
    struct injector *self = &loaded->injectors[rank];
    struct team_part part = part_of(loaded, rank, n);
    double due_ns = (double)clock_now_ns() + loaded->chunk_ns * (rank - 1) / (n - 1);
    uint64_t elements = 0;
    if (loaded->idle || part.begin == part.end)
        return;
    wait_until(loaded, due_ns);
    for (size_t at = part.begin; !atomic_load_explicit(&loaded->stop, memory_order_relaxed);) {
        inject_chunk(loaded, self, at);
        elements += CHUNK;
        atomic_store_explicit(&self->elements, elements, memory_order_relaxed);
        at = at + CHUNK < part.end ? at + CHUNK : part.begin;
        if (loaded->chunk_ns <= 0)
            continue;
        due_ns = fmax(due_ns + loaded->chunk_ns, (double)clock_now_ns());
        wait_until(loaded, due_ns);
    }
}

static uint64_t injected(const struct loaded *loaded)
{
    uint64_t elements = 0;
    for (unsigned rank = 1; rank < loaded->team.n; rank++)
        elements += atomic_load_explicit(&loaded->injectors[rank].elements, memory_order_relaxed);
    return elements;
}

/* Measures the chain's latency and the injectors' bandwidth over an interval of about target_ns. */
static void measure_interval(struct loaded *loaded, double *latency_ns, double *gbps)
{
    uint64_t loads = 0, before = injected(loaded), start_ns = clock_now_ns(), now_ns;
    do {
        loaded->at = chase_walk(loaded->at, BURST);
        loads += BURST;
        now_ns = clock_now_ns();
    } while (now_ns - start_ns < loaded->target_ns);
    uint64_t bytes = (injected(loaded) - before) * inject_bytes[loaded->inject];
    *latency_ns = (double)(now_ns - start_ns) / (double)loads;
    *gbps = (double)bytes / (double)(now_ns - start_ns);
}

static void run_step(void *arg, unsigned rank, unsigned n)
{
    struct loaded *loaded = arg;
    if (rank > 0) {
        inject(loaded, rank, n);
        return;
    }
    /* The first interval lets the injectors reach their rate; its values are overwritten. */
    measure_interval(loaded, &loaded->latency_ns[0], &loaded->gbps[0]);
    for (int i = 0; i < REPETITIONS; i++)
        measure_interval(loaded, &loaded->latency_ns[i], &loaded->gbps[i]);
    atomic_store(&loaded->stop, true);
}

/* Why values may not be of memory alone: the chain or the load is small for the caches; "" = no. */
struct doubts {
    const char *latency, *bandwidth;
};

static struct doubts find_doubts(const struct loaded *loaded, const struct bench_machine *machine)
{
    uint64_t load_bytes = loaded->n * sizeof(double) * arrays_of(loaded->inject);
    return (struct doubts){
        .latency = memory_doubt("a chain", loaded->lines * CHASE_LINE_BYTES, "last-level cache",
                                memory_llc_reached(machine, NULL, 1)),
        .bandwidth =
            memory_doubt("arrays", load_bytes, "last-level caches", memory_llc_bytes(machine))};
}

struct result {
    double latency_ns, gbps;
};

/* At `rate` (as in rates[]) times `most_gbps`. */
static struct result measure(struct loaded *loaded, double rate, double most_gbps)
{
    double each_gbps = rate * most_gbps / (loaded->team.n - 1);
    loaded->idle = rate <= 0;
    loaded->chunk_ns =
        isfinite(rate) && !loaded->idle ? CHUNK * inject_bytes[loaded->inject] / each_gbps : 0;
    atomic_store(&loaded->stop, false);
    (void)team_run(&loaded->team, NULL, loaded->team.n, run_step, loaded);
    return (struct result){stats_sort_median(loaded->latency_ns, REPETITIONS),
                           stats_sort_median(loaded->gbps, REPETITIONS)};
}

static void emit_summary(struct bench_ctx *ctx, const struct result *results,
                         const struct doubts *doubts)
{
    const struct loaded *loaded = ctx->state;
    const struct dims at = DIMS({BY_INJECT, loaded->inject});
    double latency_ns[STEPS], gbps[STEPS];
    for (int step = 0; step < STEPS; step++) {
        latency_ns[step] = results[step].latency_ns;
        gbps[step] = results[step].gbps;
    }
    double knee = curve_find_knee(gbps, latency_ns, STEPS, KNEE_RATIO * latency_ns[0]);
    bench_emit_doubt(ctx, RETENTION, latency_ns[0] / latency_ns[STEPS - 1], doubts->latency, at);
    bench_emit_doubt(ctx, KNEE_BANDWIDTH, knee, doubts->bandwidth, at);
    bench_emit(ctx, SET_BYTES, (double)loaded->lines * CHASE_LINE_BYTES, NO_DIMS);
}

static int loaded_scan(struct bench_ctx *ctx)
{
    struct loaded *loaded = ctx->state;
    const struct doubts doubts = find_doubts(loaded, ctx->machine);
    struct result results[STEPS];
    loaded->target_ns = (uint64_t)(ctx->budget_s * 1e9 / STEPS / (REPETITIONS + 1));
    results[STEPS - 1] = measure(loaded, INFINITY, 0);
    for (int step = 0; step < STEPS; step++) {
        const struct dims at = DIMS({BY_INJECT, loaded->inject}, {BY_STEP, step});
        if (step < STEPS - 1)
            results[step] = measure(loaded, rates[step], results[STEPS - 1].gbps);
        bench_emit_doubt(ctx, LOADED_LATENCY, results[step].latency_ns, doubts.latency, at);
        bench_emit_doubt(ctx, LOADED_BANDWIDTH, results[step].gbps, doubts.bandwidth, at);
    }
    emit_summary(ctx, results, &doubts);
    return 0;
}

static int check_sums(const struct loaded *loaded, struct err *err)
{
    const double tolerance = 1e-12;
    for (unsigned rank = 1; rank < loaded->team.n; rank++) {
        double worst = loaded->injectors[rank].worst_sum;
        if (!(worst <= tolerance))
            return err_set(err, -EBADMSG, "a sum that injector %u read was off by %.2g of it", rank,
                           worst);
    }
    return 0;
}

static int check_load(const struct loaded *loaded, struct err *err)
{
    for (unsigned array = 0; array < arrays_of(loaded->inject); array++) {
        const double *values = load_array(loaded, array);
        for (size_t i = 0; i < loaded->n; i++)
            if (!(values[i] == array_value[array]))
                return err_set(err, -EBADMSG, "element %zu of the load's array %u is %.17g, not %g",
                               i, array, values[i], array_value[array]);
    }
    return 0;
}

static int check_chain(const struct loaded *loaded, struct err *err)
{
    uint64_t *seen = calloc(loaded->lines / 64 + 1, sizeof(*seen));
    if (!seen)
        return err_set(err, -ENOMEM, "cannot allocate the marks of %zu lines", loaded->lines);
    size_t fault = chase_find_fault(loaded->chain.base, loaded->lines, seen);
    free(seen);
    if (fault < loaded->lines)
        return err_set(err, -EBADMSG,
                       "line %zu of %zu leads outside the chain, or where another does", fault,
                       loaded->lines);
    return 0;
}

static int loaded_check(struct bench_ctx *ctx)
{
    const struct loaded *loaded = ctx->state;
    int rc = check_sums(loaded, ctx->err);
    if (!rc)
        rc = check_load(loaded, ctx->err);
    return rc ? rc : check_chain(loaded, ctx->err);
}

const struct bench bench_loaded_latency = {
    .name = "loaded_latency",
    .summary = "latency of memory while the other CPUs read or write it at a swept rate",
    .opts = loaded_opts,
    .params_size = sizeof(struct loaded_params),
    .metrics = loaded_metrics,
    .figures = loaded_figures,
    .dims = loaded_dims,
    .probe = loaded_probe,
    .state_size = sizeof(struct loaded),
    .setup = loaded_setup,
    .scan = loaded_scan,
    .check = loaded_check,
};
