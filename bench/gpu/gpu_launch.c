/*
 * The cost for a CPU to hand work to a GPU, while the CPUs are idle and while all are busy.
 *
 *   launch   the call that launches a small kernel, with an empty queue
 *   queue    small kernels back to back and a wait at the end: time per kernel
 *   sync     the launch of a small kernel and the wait for it
 *   graph1   the same with a graph of one kernel
 *   graph20  graphs of 20 kernels in a chain, back to back: time per kernel
 *
 * The driver waits by the context's flag: spin (the CPU polls), yield (polls, and yields its CPU
 * between polls) or block (sleeps until an interrupt). launch, queue and graph20 use spin.
 *
 * Idle and busy CPUs alternate, in random order. In each of the two, every way (an operation and a
 * flag) gets a slice of a few milliseconds. Busy: a pinned thread multiplies on each CPU of the
 * worker. The thread that launches is not pinned and competes with them, as in a job.
 *
 * **Measures** on CLOCK_MONOTONIC_RAW, `launch_latency` in us: p50, p99 and max over all intervals
 * of a round. An interval is one launch (and wait), or enough of them to last 100 times the clock's
 * cost. For queue and graph20 it is at least 200 kernels, so p99 and max are those of means.
 * `wait_cpu_share`: CPU time of the waiting thread / time, while a kernel runs for 5 ms: shows what
 * the driver does under each flag (1 = it polls, 0 = it sleeps). `load_share`: CPU time of the load
 * / time that it was on.
 * **Source** CUDA Runtime API, cudaSetDeviceFlags; kernels/gpu/gpu_launch.h.
 * **Limits** One GPU after the other; one thread launches. A busy slice is about as long as a
 * scheduler's time slice, so its max depends on the length of the run. A kernel has one thread,
 * which adds 1 to a counter: the check is that all launched kernels ran, timed kernels included. A
 * GPU that fails is a failed row and is left out; the other GPUs are measured.
 */
#include <errno.h>

#include "bench/common/team.h"
#include "bench/gpu/gpu.h"
#include "bench/gpu/gpu_launch_stat.h"
#include "bench/gpu/gpu_set.h"
#include "bench/registry.h"
#include "harness/lib/sys/clock.h"
#include "kernels/cpu/mix64.h"
#include "kernels/gpu/gpu_launch.h"

enum { BY_WHAT = 1, BY_WAIT, BY_LOAD, BY_STAT, BY_GPU };
enum load { LOAD_IDLE, LOAD_BUSY, LOADS };
enum what { WHAT_LAUNCH, WHAT_QUEUE, WHAT_SYNC, WHAT_GRAPH1, WHAT_GRAPH20 };
static const struct bench_dim launch_dims[] = {
    [BY_WHAT] = {"what", .labels = LABELS("launch", "queue", "sync", "graph1", "graph20")},
    [BY_WAIT] = {"wait", .labels = LABELS("spin", "yield", "block")},
    [BY_LOAD] = {"load", .labels = LABELS("idle", "busy"),
                 .labels_long = LABELS("idle CPUs", "busy CPUs")},
    [BY_STAT] = {"stat", .labels = launch_stat_names},
    [BY_GPU] = {"gpu", DIM_GPU},
    {.name = NULL},
};

enum { LAUNCH_LATENCY, WAIT_CPU_SHARE, LOAD_SHARE };
static const struct bench_metric launch_metrics[] = {
    /* Waits that sleep, p99 and max are too noisy to compare, and load is not shared evenly. */
    [LAUNCH_LATENCY] = {"launch_latency", "us", "lower", .peers = PEERS_EQUAL, .least = 0.5,
                        .compare_filter = &DIMS({BY_WAIT, GPU_WAIT_SPIN}, {BY_LOAD, LOAD_IDLE},
                                                {BY_STAT, LAUNCH_P50}),
                        .gating = true},
    [WAIT_CPU_SHARE] = {"wait_cpu_share", "ratio", "none"},
    [LOAD_SHARE] = {"load_share", "ratio", "none"},
    {.name = NULL},
};

static const struct figure_panel launch_panels[] = {
    {"launch_latency",
     "median (us, log scale)",
     {BY_WHAT, BY_WAIT},
     &DIMS({BY_STAT, LAUNCH_P50}),
     .log = true},
    {"launch_latency",
     "99th percentile (us, log scale)",
     {BY_WHAT, BY_WAIT},
     &DIMS({BY_STAT, LAUNCH_P99}),
     .log = true},
    {"wait_cpu_share", "CPU time of the thread that waits (share)", {BY_WAIT}},
    {.metric = NULL},
};

static const struct bench_figure launch_figures[] = {
    {.name = "gpu_launch",
     .kind = FIGURE_DOTS,
     .metric = "launch_latency",
     .title = "time of launches of small kernels and graphs, and of waits for them",
     .how = "One thread launches",
     .x = {"GPU", BY_GPU},
     .split = BY_LOAD,
     .nsplits = LOADS,
     .panels = launch_panels},
    {.name = NULL},
};

#ifdef CONTEND_HAVE_CUDA

enum {
    SAMPLES_MAX = 1 << 16, /* of a way and load; a slice ends when they are full */
    ROUNDS_MIN = 2,
    ROUNDS_MAX = 64,
    QUEUE_KERNELS = 240 /* a multiple of GPU_GRAPH_KERNELS, far below a queue's limit of 1024 */
};

static const double slice_s = 0.006;
static const uint64_t delay_ns = 5000000;

static const struct way {
    enum what what;
    enum gpu_wait wait;
} ways[] = {
    {WHAT_LAUNCH, GPU_WAIT_SPIN},  {WHAT_QUEUE, GPU_WAIT_SPIN},   {WHAT_SYNC, GPU_WAIT_SPIN},
    {WHAT_SYNC, GPU_WAIT_YIELD},   {WHAT_SYNC, GPU_WAIT_BLOCK},   {WHAT_GRAPH1, GPU_WAIT_SPIN},
    {WHAT_GRAPH1, GPU_WAIT_YIELD}, {WHAT_GRAPH1, GPU_WAIT_BLOCK}, {WHAT_GRAPH20, GPU_WAIT_SPIN},
};
enum { WAYS = sizeof(ways) / sizeof(ways[0]) };

struct series {
    size_t n;
    double us[SAMPLES_MAX];
};

struct launch {
    struct gpu_set set;
    struct gpu_launch *gpus[GPU_SET_MAX];
    struct busy_team busy;
    unsigned batch[WAYS]; /* units an interval */
    /* The GPU that is measured. */
    struct series *series; /* [WAYS][LOADS] */
    double wait_share[GPU_WAITS];
};

static struct series *series_of(struct launch *t, unsigned way, enum load load)
{
    return &t->series[way * LOADS + load];
}

/* Times one interval of `batch` kernels or launches into *took_ns. */
static int time_interval(struct launch *t, unsigned number, const struct way *way, unsigned batch,
                         uint64_t *took_ns)
{
    struct gpu_launch *gpu = t->gpus[number];
    int rc = 0;
    uint64_t start_ns = clock_now_ns();
    switch (way->what) {
    case WHAT_LAUNCH:
    case WHAT_QUEUE:
        rc = gpu_launch_kernels(gpu, batch, &t->set.why);
        break;
    case WHAT_GRAPH20:
        rc = gpu_launch_graphs(gpu, GPU_GRAPH_CHAIN, batch / GPU_GRAPH_KERNELS, &t->set.why);
        break;
    case WHAT_SYNC:
        for (unsigned i = 0; i < batch && !rc; i++) {
            rc = gpu_launch_kernels(gpu, 1, &t->set.why);
            rc = rc ? rc : gpu_launch_wait(gpu, &t->set.why);
        }
        break;
    case WHAT_GRAPH1:
        for (unsigned i = 0; i < batch && !rc; i++) {
            rc = gpu_launch_graphs(gpu, GPU_GRAPH_ONE, 1, &t->set.why);
            rc = rc ? rc : gpu_launch_wait(gpu, &t->set.why);
        }
        break;
    }
    if (way->what == WHAT_LAUNCH)
        *took_ns = clock_now_ns() - start_ns;
    if (!rc)
        rc = gpu_launch_wait(gpu, &t->set.why);
    if (way->what != WHAT_LAUNCH)
        *took_ns = clock_now_ns() - start_ns;
    return gpu_set_drop(&t->set, number, rc);
}

static int set_wait(struct launch *t, unsigned gpu, enum gpu_wait wait)
{
    return gpu_set_drop(&t->set, gpu, gpu_launch_set_wait(t->gpus[gpu], wait, &t->set.why));
}

/* Runs at least one interval, even if it takes longer than the slice on a busy CPU. */
static int run_slice(struct launch *t, unsigned gpu, unsigned way, enum load load,
                     uint64_t slice_ns)
{
    struct series *series = series_of(t, way, load);
    uint64_t end_ns = clock_now_ns() + slice_ns;
    int rc = set_wait(t, gpu, ways[way].wait);
    while (!rc && series->n < SAMPLES_MAX) {
        uint64_t took_ns = 0;
        rc = time_interval(t, gpu, &ways[way], t->batch[way], &took_ns);
        if (rc)
            break;
        series->us[series->n++] = (double)took_ns * 1e-3 / t->batch[way];
        if (clock_now_ns() >= end_ns)
            break;
    }
    return rc;
}

/* After a warm-up, chooses the units of an interval: long enough for the clock, on every GPU. */
static int choose_batches(struct launch *t, unsigned gpu)
{
    enum { WARM_UP = 50 };
    uint64_t need_ns = CLOCK_MIN_INTERVAL_CALLS * clock_cost_ns(), took_ns = 0;
    int rc = 0;
    for (unsigned way = 0; way < WAYS && !rc; way++) {
        bool queues = ways[way].what == WHAT_QUEUE || ways[way].what == WHAT_GRAPH20;
        unsigned least = queues ? QUEUE_KERNELS : 1, most = queues ? QUEUE_KERNELS : 64;
        double us[WARM_UP];
        rc = set_wait(t, gpu, ways[way].wait);
        for (unsigned i = 0; i < WARM_UP && !rc; i++) {
            rc = time_interval(t, gpu, &ways[way], least, &took_ns);
            us[i] = (double)took_ns * 1e-3 / least;
        }
        if (rc)
            break;
        unsigned batch =
            launch_batch((double)need_ns * 1e-3, launch_stat(us, WARM_UP, LAUNCH_P50), least, most);
        t->batch[way] = batch > t->batch[way] ? batch : t->batch[way];
    }
    return rc;
}

static int open_gpu(struct launch *t, unsigned gpu)
{
    int rc = gpu_launch_open(t->set.machine->gpus[gpu].pci_bdf, &t->gpus[gpu], &t->set.why);
    return rc ? gpu_set_drop(&t->set, gpu, rc) : choose_batches(t, gpu);
}

static int launch_setup(struct bench_ctx *ctx)
{
    struct launch *t = ctx->state;
    t->series = bench_array(ctx, (size_t)WAYS * LOADS, sizeof(*t->series));
    if (!t->series)
        return -ENOMEM;
    gpu_set_open(&t->set, ctx->machine);
    int rc = busy_team_open(&t->busy, ctx);
    for (unsigned gpu = 0; gpu < t->set.n && !rc; gpu++)
        if (gpu_set_has(&t->set, gpu))
            (void)open_gpu(t, gpu);
    return rc ? rc : gpu_set_check(&t->set, ctx->err);
}

static void launch_teardown(struct bench_ctx *ctx)
{
    struct launch *t = ctx->state;
    busy_team_close(&t->busy);
    for (unsigned i = 0; i < t->set.n; i++)
        gpu_launch_close(t->gpus[i]);
}

/* Measures how the driver waits: it may not follow a flag. */
static int measure_waits(struct launch *t, unsigned gpu)
{
    int rc = 0;
    for (int wait = 0; wait < GPU_WAITS && !rc; wait++) {
        rc = set_wait(t, gpu, (enum gpu_wait)wait);
        if (rc)
            break;
        rc = gpu_launch_delay(t->gpus[gpu], delay_ns, &t->set.why);
        uint64_t cpu_ns = clock_thread_cpu_ns(), start_ns = clock_now_ns();
        if (!rc)
            rc = gpu_launch_wait(t->gpus[gpu], &t->set.why);
        double took_ns = (double)(clock_now_ns() - start_ns);
        t->wait_share[wait] = (double)(clock_thread_cpu_ns() - cpu_ns) / took_ns;
        (void)gpu_set_drop(&t->set, gpu, rc);
    }
    return rc;
}

static int run_ways(struct bench_ctx *ctx, unsigned gpu, enum load load, unsigned first,
                    uint64_t slice_ns)
{
    struct launch *t = ctx->state;
    int rc = load == LOAD_BUSY ? busy_team_start(&t->busy, ctx->err) : 0;
    for (unsigned i = 0; i < WAYS && !rc; i++)
        rc = run_slice(t, gpu, (first + i) % WAYS, load, slice_ns);
    busy_team_end(&t->busy);
    return rc;
}

static void emit_gpu(struct bench_ctx *ctx, unsigned gpu)
{
    struct launch *t = ctx->state;
    for (unsigned wait = 0; wait < GPU_WAITS; wait++)
        bench_emit(ctx, WAIT_CPU_SHARE, t->wait_share[wait], DIMS({BY_WAIT, wait}, {BY_GPU, gpu}));
    for (unsigned way = 0; way < WAYS; way++)
        for (unsigned load = 0; load < LOADS; load++) {
            struct series *series = series_of(t, way, (enum load)load);
            for (int stat = 0; stat < LAUNCH_STATS; stat++)
                bench_emit(ctx, LAUNCH_LATENCY,
                           launch_stat(series->us, series->n, (enum launch_stat)stat),
                           DIMS({BY_WHAT, ways[way].what}, {BY_WAIT, ways[way].wait},
                                {BY_LOAD, load}, {BY_STAT, stat}, {BY_GPU, gpu}));
        }
}

/* Checks that all kernels launched since the GPU was opened have run, timed ones included. */
static int check_count(struct launch *t, unsigned gpu)
{
    uint64_t ran = 0, launched = 0;
    int rc = gpu_launch_count(t->gpus[gpu], &ran, &launched, &t->set.why);
    if (!rc && ran != launched) {
        rc = err_set(&t->set.why, -EBADMSG, "it ran %llu kernels of %llu that were launched",
                     (unsigned long long)ran, (unsigned long long)launched);
    }
    return gpu_set_drop(&t->set, gpu, rc);
}

/* An error if the GPU was lost, or the load on the CPUs failed. */
static int run_gpu(struct bench_ctx *ctx, unsigned gpu, double budget_s)
{
    struct launch *t = ctx->state;
    double round_s = slice_s * WAYS * LOADS, wanted = budget_s / round_s;
    unsigned rounds = wanted < ROUNDS_MIN   ? ROUNDS_MIN
                      : wanted > ROUNDS_MAX ? ROUNDS_MAX
                                            : (unsigned)wanted;
    uint64_t slice_ns = (uint64_t)(1e9 * budget_s / (rounds * WAYS * LOADS));
    for (unsigned i = 0; i < WAYS * LOADS; i++)
        t->series[i].n = 0;
    int rc = measure_waits(t, gpu);
    for (unsigned round = 0; round < rounds && !rc; round++) {
        uint64_t draw = mix64(ctx->seed + (uint64_t)gpu * ROUNDS_MAX + round);
        enum load first = draw & 1 ? LOAD_BUSY : LOAD_IDLE;
        unsigned way = (unsigned)(draw >> 32) % WAYS;
        rc = run_ways(ctx, gpu, first, way, slice_ns);
        if (!rc)
            rc = run_ways(ctx, gpu, first == LOAD_BUSY ? LOAD_IDLE : LOAD_BUSY, way, slice_ns);
    }
    if (!rc)
        rc = check_count(t, gpu);
    if (!rc)
        emit_gpu(ctx, gpu);
    return rc;
}

static int launch_scan(struct bench_ctx *ctx)
{
    struct launch *t = ctx->state;
    double waits_s = GPU_WAITS * (double)delay_ns * 1e-9;
    double share_s = ctx->budget_s / gpu_set_left(&t->set);
    double budget_s = share_s > 2 * waits_s ? share_s - waits_s : share_s / 2;
    for (unsigned gpu = 0; gpu < t->set.n; gpu++) {
        int rc = gpu_set_has(&t->set, gpu) ? run_gpu(ctx, gpu, budget_s) : 0;
        if (rc && gpu_set_has(&t->set, gpu))
            return rc;
    }
    int rc = gpu_set_check(&t->set, ctx->err);
    if (rc)
        return rc;
    bench_emit(ctx, LOAD_SHARE, busy_team_share(&t->busy), NO_DIMS);
    gpu_set_emit(ctx, &t->set, LAUNCH_LATENCY, BY_GPU);
    return 0;
}

static int launch_check(struct bench_ctx *ctx)
{
    struct launch *t = ctx->state;
    return busy_team_check(&t->busy, ctx->err);
}

#endif

const struct bench bench_gpu_launch = {
    .name = "gpu_launch",
    .summary = "launches of small kernels and graphs, and waits for them, with idle and busy CPUs",
    .needs = NEED_GPU,
    .metrics = launch_metrics,
    .figures = launch_figures,
    .dims = launch_dims,
    .probe = gpu_probe,
#ifdef CONTEND_HAVE_CUDA
    .state_size = sizeof(struct launch),
    .setup = launch_setup,
    .scan = launch_scan,
    .check = launch_check,
    .teardown = launch_teardown,
#else
    .scan = gpu_probe,
#endif
};
