/*
 * Latency of memory while the other CPUs use its bandwidth: one chain of dependent loads on the
 * worker's first CPU, and a thread on each other CPU that reads, or reads and writes, memory of its
 * own at a rate swept from none to all it can.
 *
 * The highest rate is measured first; the steps between are shares of it. An injector paces itself
 * by the clock, a chunk of 16 KiB at a time, and they begin spread over the time of one.
 *
 * **Measures** per step, on CLOCK_MONOTONIC_RAW: `loaded_latency`, ns a load of the chain, median
 * of the repetitions; `loaded_bandwidth`, GB/s (1e9) that the injectors reached meanwhile, median.
 * Bytes: `r` reads 8 an element; `rw` (1:1) reads and overwrites each element in place, 16; `rrw`
 * (2:1) adds a second array to the first in place, 24. In place no line is filled without being
 * counted. `knee_bandwidth`: where latency passes 1.5 times its idle value, between two steps (not
 * there when it never does); `retention`: idle latency / latency under full load.
 * **Source** Intel Memory Latency Checker, loaded latency; J. D. McCalpin's notes on latency under
 * load. The chain is that of mem_latency, on huge pages where there are any.
 * **Limits** Where memory is short, caches serve part of the load, and the bandwidth is more than
 * memory's: with less than twice the caches, values are noisy. The chain's own loads are not in the
 * bandwidth (below 0.5 GB/s). One chain: the latency of the first CPU's place. Rates of a step are
 * asked for, not guaranteed: the pairs count.
 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "bench/common/memory.h"
#include "bench/common/team.h"
#include "bench/memory/curve.h"
#include "bench/registry.h"
#include "harness/lib/stats/stats.h"
#include "harness/lib/sys/clock.h"
#include "kernels/cpu/chase.h"
#include "kernels/cpu/stream.h"

enum {
    CHUNK = 2048, /* doubles: 16 KiB */
    REPETITIONS = 7,
    BURST = 4 * CHASE_STEP, /* loads between two looks at the clock */
    GRAIN = CHUNK,
    ARRAYS = 2 /* of the injectors, one behind the other */
};

/* Shares of the highest rate; the first is idle, the last unpaced. */
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
                   .said = LABELS("others read", "others read and write (1:1)",
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
    _Alignas(128) _Atomic uint64_t elements; /* done since the job began; 128: two lines */
    double worst_sum;                        /* largest relative error of a chunk's sum */
};

struct loaded {
    struct team team;
    struct memory_block chain, load;
    size_t lines, n; /* of the chain; doubles of one of the injectors' arrays */
    uint64_t seed;
    struct chase_line *at;
    double (*kernel)(const struct stream_args *args);
    enum inject inject;
    struct injector *injectors; /* by rank; rank 0 is the chain's, unused */
    _Atomic bool stop;

    double chunk_ns;    /* an injector's pace; 0 = as fast as it can */
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

/* `times` all last-level caches, or the share of the free memory if that is less. */
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

/* The part of rank 1..n-1 of the injectors' arrays. */
static struct team_part part_of(const struct loaded *loaded, unsigned rank, unsigned n)
{
    return team_part_of(loaded->n, GRAIN, rank - 1, n - 1);
}

/* Each thread touches what it will use. */
static void prepare(void *arg, unsigned rank, unsigned n)
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
    /* Many cores have as much of their own as the shared cache: their load must not fit there. */
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
    (void)team_run(&loaded->team, NULL, ncpus, prepare, loaded);
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

/* Until it is due, or told to stop. */
static void wait_until(const struct loaded *loaded, double due_ns)
{
    while ((double)clock_now_ns() < due_ns &&
           !atomic_load_explicit(&loaded->stop, memory_order_relaxed))
        ;
}

/*
 * Until told to stop. Injectors begin spread over one pace, or their chunks would come in bursts. A
 * thread that falls behind its pace does not catch up, for the same reason.
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

/* One interval of about target_ns: latency of the chain, and what was injected meanwhile. */
static void observe(struct loaded *loaded, double *latency_ns, double *gbps)
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
    /* The first interval lets the injectors come up to their rate. */
    observe(loaded, &loaded->latency_ns[0], &loaded->gbps[0]);
    for (int i = 0; i < REPETITIONS; i++)
        observe(loaded, &loaded->latency_ns[i], &loaded->gbps[i]);
    atomic_store(&loaded->stop, true);
}

/* Why the pairs, from a chain and a load of those sizes, are not of memory alone; "" = they are. */
struct doubts {
    char latency[MEMORY_DOUBT_MAX], bandwidth[MEMORY_DOUBT_MAX];
};

static struct doubts find_doubts(const struct loaded *loaded, const struct bench_machine *machine)
{
    struct doubts doubts;
    uint64_t load_bytes = loaded->n * sizeof(double) * arrays_of(loaded->inject);
    (void)memory_doubt("a chain", loaded->lines * CHASE_LINE_BYTES, "last-level cache",
                       memory_llc_reached(machine, NULL, 1), doubts.latency);
    (void)memory_doubt("arrays", load_bytes, "last-level caches", memory_llc_bytes(machine),
                       doubts.bandwidth);
    return doubts;
}

struct pair {
    double latency_ns, gbps;
};

/* At `rate` of `most_gbps`; 0 and INFINITY as in rates[]. */
static struct pair measure(struct loaded *loaded, double rate, double most_gbps)
{
    double each_gbps = rate * most_gbps / (loaded->team.n - 1);
    loaded->idle = rate <= 0;
    loaded->chunk_ns =
        isfinite(rate) && !loaded->idle ? CHUNK * inject_bytes[loaded->inject] / each_gbps : 0;
    atomic_store(&loaded->stop, false);
    (void)team_run(&loaded->team, NULL, loaded->team.n, run_step, loaded);
    return (struct pair){stats_sort_median(loaded->latency_ns, REPETITIONS),
                         stats_sort_median(loaded->gbps, REPETITIONS)};
}

static void emit_summary(struct bench_ctx *ctx, const struct pair *pairs,
                         const struct doubts *doubts)
{
    const struct loaded *loaded = ctx->state;
    const struct dims at = DIMS({BY_INJECT, loaded->inject});
    double latency_ns[STEPS], gbps[STEPS];
    for (int step = 0; step < STEPS; step++) {
        latency_ns[step] = pairs[step].latency_ns;
        gbps[step] = pairs[step].gbps;
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
    struct pair pairs[STEPS];
    loaded->target_ns = (uint64_t)(ctx->budget_s * 1e9 / STEPS / (REPETITIONS + 1));
    pairs[STEPS - 1] = measure(loaded, INFINITY, 0);
    for (int step = 0; step < STEPS; step++) {
        const struct dims at = DIMS({BY_INJECT, loaded->inject}, {BY_STEP, step});
        if (step < STEPS - 1)
            pairs[step] = measure(loaded, rates[step], pairs[STEPS - 1].gbps);
        bench_emit_doubt(ctx, LOADED_LATENCY, pairs[step].latency_ns, doubts.latency, at);
        bench_emit_doubt(ctx, LOADED_BANDWIDTH, pairs[step].gbps, doubts.bandwidth, at);
    }
    emit_summary(ctx, pairs, &doubts);
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
