/* Benchmarks that behave, fail, hang and crash on purpose, for tests of the harness. */
#include "tests/lib/fake_bench.h"

#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

struct fake_params {
    double step_s;      /* sleep in each step */
    int64_t bad_worker; /* worker that misbehaves; -1 = all */
    int mode;
};

enum mode {
    MODE_OK,
    MODE_FAIL_SETUP,
    MODE_FAIL_RUN,
    MODE_FAIL_CHECK,
    MODE_SKIP,
    MODE_HANG_SETUP,
    MODE_HANG_RUN,
    MODE_CRASH,
    MODE_EXIT,
    MODE_SHRINK_MASK,
    MODE_NO_VALUE,
    MODE_HANG_TEARDOWN,
    MODE_REST,
    MODE_SCRIBBLE,
    MODE_PER_THREAD, /* multiply the time of a step by the number of threads */
    MODE_DIVIDED,    /* divide a step among the threads of the team */
};

static const char *const modes[] = {
    "ok",       "fail-setup", "fail-run",   "fail-check",  "skip",     "hang-setup",
    "hang-run", "crash",      "exit",       "shrink-mask", "no-value", "hang-teardown",
    "rest",     "scribble",   "per-thread", "divided",     NULL};

static const struct opt fake_opts[] = {
    OPT_SECONDS("step", fake_params, step_s, "2ms", 0, 0, "T", "Time of a step"),
    OPT_INT("bad_worker", fake_params, bad_worker, "0", -1, 1000, "N",
            "Which worker misbehaves, -1 all"),
    OPT_CHOICE("mode", fake_params, mode, "ok", modes, "M", "How"),
    {.name = NULL},
};

static void sleep_s(double seconds)
{
    struct timespec ts = {.tv_sec = (time_t)seconds};
    ts.tv_nsec = (long)((seconds - (double)ts.tv_sec) * 1e9);
    (void)nanosleep(&ts, NULL);
}

static bool is(const struct bench_ctx *ctx, enum mode mode)
{
    const struct fake_params *params = ctx->params;
    return params->mode == (int)mode &&
           (params->bad_worker < 0 || params->bad_worker == (int64_t)ctx->worker);
}

static int fake_probe(struct bench_ctx *ctx)
{
    const struct fake_params *params = ctx->params;
    while (is(ctx, MODE_SCRIBBLE)) /* writes its reason again and again while it is being killed */
        (void)err_set(ctx->err, -ENOTSUP, "%s", "");
    return is(ctx, MODE_SKIP) || params->mode == MODE_SCRIBBLE
               ? err_set(ctx->err, -ENOTSUP, "the fake is told to skip")
               : 0;
}

static int fake_setup(struct bench_ctx *ctx)
{
    bench_library(ctx, "NCCL", "0.0.0-fake");
    if (is(ctx, MODE_FAIL_SETUP))
        return err_set(ctx->err, -EIO, "the fake is told to fail its setup");
    if (is(ctx, MODE_HANG_SETUP))
        for (;;)
            (void)pause();
    if (is(ctx, MODE_SHRINK_MASK)) {
        cpu_set_t none;
        CPU_ZERO(&none);
        for (int cpu = 0; cpu < CPU_SETSIZE && !CPU_COUNT(&none); cpu++) {
            CPU_SET((size_t)cpu, &none);
            if (sched_setaffinity(0, sizeof(none), &none))
                CPU_CLR((size_t)cpu, &none);
        }
    }
    return 0;
}

/* Steps that did not count, before the first counted one. */
static uint64_t fake_early_steps;

static int fake_step(struct bench_ctx *ctx, uint64_t iters, struct sample *sample)
{
    static bool measured;
    const struct fake_params *params = ctx->params;
    measured = measured || ctx->measuring;
    fake_early_steps += !measured;
    cpu_samples_mark(ctx->cpu_samples);
    if (is(ctx, MODE_FAIL_RUN) || is(ctx, MODE_HANG_TEARDOWN))
        return err_set(ctx->err, -EIO, "the fake is told to fail its run");
    if (is(ctx, MODE_CRASH))
        (void)raise(SIGSEGV);
    if (is(ctx, MODE_EXIT))
        _exit(7);
    /* The first step is the warm-up; the hang must happen in a measured step. */
    if (is(ctx, MODE_HANG_RUN) && ctx->cpu_samples && atomic_load(&ctx->cpu_samples->recording))
        for (;;)
            (void)pause();
    double times = params->mode == MODE_PER_THREAD ? ctx->threads
                   : params->mode == MODE_DIVIDED  ? 1.0 / ctx->threads
                                                   : 1;
    sleep_s(params->step_s * times * (double)iters);
    sample->ops = 10 * iters;
    sample->bytes = 100 * iters;
    return 0;
}

static int fake_check(struct bench_ctx *ctx)
{
    if (is(ctx, MODE_FAIL_CHECK))
        return err_set(ctx->err, -EBADMSG, "the fake is told that its result is wrong");
    bool emits = ctx->worker == 0 && !ctx->background && fake_early_steps;
    if (emits)
        bench_emit(ctx, 0, (double)fake_early_steps, NO_DIMS);
    return 0;
}

/* Like a communicator whose other ranks are gone. */
static void fake_teardown(struct bench_ctx *ctx)
{
    while (is(ctx, MODE_HANG_TEARDOWN))
        (void)pause();
}

static const struct bench_metric fake_step_metrics[] = {
    {"early_steps", "count", "none", .hidden = true}, {.name = NULL}};

static const struct bench fake = {
    .name = "fake",
    .summary = "sleeps, or misbehaves as told",
    .ops_unit = "items",
    .opts = fake_opts,
    .params_size = sizeof(struct fake_params),
    .metrics = fake_step_metrics,
    .probe = fake_probe,
    .setup = fake_setup,
    .step = fake_step,
    .check = fake_check,
    .teardown = fake_teardown,
};

/* Emits, for a = 0 to 2, the square of a, the number of CPUs given to the worker, and a value of
 * metric 2, which no test asks for. */
static int fake_scan_run(struct bench_ctx *ctx)
{
    bench_emit(ctx, 1, ctx->machine->ncpus, NO_DIMS);
    for (int a = 0; a < 3; a++)
        bench_emit(ctx, 0, a * a, DIMS({1, a}));
    bench_emit(ctx, 2, 0.5, NO_DIMS);
    return 0;
}

static const struct bench_dim fake_dims[] = {{""}, {"a"}, {.name = NULL}};

static const struct bench_metric fake_metrics[] = {
    {"square", "count", "none"},
    {"cpus", "count", "higher"},
    {"doubt", "ratio", "none", .hidden = true},
    {.name = NULL},
};

static const struct bench_figure fake_figures[] = {
    {.name = "squares",
     .kind = FIGURE_LINES,
     .metric = "square",
     .title = "squares of small numbers",
     .how = "Known before",
     .x = {"number", 1},
     .y = {"square (count)"}},
    {.name = NULL},
};

static const struct bench fake_scan = {
    .name = "fakescan",
    .summary = "emits values as a scan does",
    .metrics = fake_metrics,
    .dims = fake_dims,
    .figures = fake_figures,
    .scan = fake_scan_run,
};

/* Emits the first of three values; the second fails, and the third is not supported here. */
static int fake_part_run(struct bench_ctx *ctx)
{
    const struct err broken = {.code = -EIO, .msg = "the fake is told to fail at 1"};
    const struct err missing = {.code = -ENOTSUP, .msg = "the fake is told that there is no 2"};
    bench_emit(ctx, 0, 0, DIMS({1, 0}));
    (void)bench_emit_absent(ctx, 0, &broken, DIMS({1, 1}));
    (void)bench_emit_absent(ctx, 0, &missing, DIMS({1, 2}));
    return 0;
}

static const struct bench fake_part = {
    .name = "fakepart",
    .summary = "a scan that can have a part of its values",
    .metrics = fake_metrics,
    .dims = fake_dims,
    .scan = fake_part_run,
};

/* Succeeds and emits nothing. */
static int fake_mute_run(struct bench_ctx *ctx)
{
    (void)ctx;
    return 0;
}

static const struct bench fake_mute = {
    .name = "fakemute",
    .summary = "a scan that emits nothing",
    .metrics = fake_metrics,
    .dims = fake_dims,
    .scan = fake_mute_run,
};

/* Emits the seed of its order, as much of it as a double holds. */
static int fake_order_run(struct bench_ctx *ctx)
{
    bench_emit(ctx, 0, (double)(ctx->round_seed >> 32), NO_DIMS);
    return 0;
}

static const struct bench_metric fake_order_metrics[] = {
    {"drawn", "count", "none"},
    {.name = NULL},
};

static const struct bench fake_order = {
    .name = "fakeorder",
    .summary = "emits the seed of its round",
    .metrics = fake_order_metrics,
    .scan = fake_order_run,
};

/* Ranks that pass a barrier a hundred times; a bad rank dies on the way, and the others wait for
 * it. */
static int fake_team_run(struct bench_ctx *ctx)
{
    const struct fake_params *params = ctx->params;
    unsigned ranks[64] = {0}, sum = 0;
    double budgets_s[64] = {0};
    if (is(ctx, MODE_REST))
        sleep_s(params->step_s);
    int rc = peers_gather(ctx->peers, &ctx->budget_s, budgets_s, sizeof(double), ctx->err);
    for (unsigned r = 1; r < ctx->peers->size && !rc; r++)
        if (budgets_s[r] != budgets_s[0])
            rc = err_set(ctx->err, -EIO, "rank %u has a budget of its own", r);
    for (int i = 0; i < 100 && !rc; i++) {
        if (i == 50 && (is(ctx, MODE_FAIL_RUN) || is(ctx, MODE_HANG_TEARDOWN)))
            return err_set(ctx->err, -EIO, "the fake is told to fail its run");
        if (i == 50 && is(ctx, MODE_CRASH))
            (void)raise(SIGKILL);
        while (i == 1 && is(ctx, MODE_HANG_RUN)) /* by then the other ranks have arrived as well */
            (void)pause();
        rc = peers_gather(ctx->peers, &ctx->peers->rank, ranks, sizeof(unsigned), ctx->err);
    }
    for (unsigned r = 0; r < ctx->peers->size; r++)
        sum += ranks[r];
    if (rc || is(ctx, MODE_NO_VALUE))
        return rc;
    bench_emit(ctx, 0, 1 + sum, DIMS({1, ctx->peers->size}));
    return 0;
}

static const struct bench_metric fake_team_metrics[] = {
    {"rank_sum", "count", "lower", .retention = true}, {.name = NULL}};

static const struct bench fake_team = {
    .name = "faketeam",
    .summary = "ranks that wait for each other",
    .opts = fake_opts,
    .params_size = sizeof(struct fake_params),
    .metrics = fake_team_metrics,
    .dims = (const struct bench_dim[]){{""}, {"ranks"}, {.name = NULL}},
    .gang = true,
    .setup = fake_setup,
    .scan = fake_team_run,
    .check = fake_check,
    .teardown = fake_teardown,
};

enum { BY_DIR = 1, BY_GPU, BY_SRC, BY_DST, BY_MEM, BY_VIA };
static const struct bench_dim fake_copies_dims[] = {
    [BY_DIR] = {"dir", .labels = LABELS("h2d", "d2d")},
    [BY_GPU] = {"gpu", DIM_GPU},
    [BY_SRC] = {"src", DIM_SOURCE},
    [BY_DST] = {"dst", DIM_TARGET},
    [BY_MEM] = {"mem", .labels = LABELS("pinned")},
    [BY_VIA] = {"via", .labels = LABELS("ce")},
    {.name = NULL},
};

/* Copies to four GPUs. The third GPU is slow, and so are copies from the first to the second. */
static int fake_copies_run(struct bench_ctx *ctx)
{
    for (int gpu = 0; gpu < 4; gpu++)
        bench_emit(ctx, 0, gpu == 2 ? 14.1 : 56.8 + 0.1 * gpu,
                   DIMS({BY_DIR, 0}, {BY_GPU, gpu}, {BY_MEM, 0}, {BY_VIA, 0}));
    for (int gpu = 0; gpu < 16; gpu++)
        if (gpu / 4 != gpu % 4)
            bench_emit(ctx, 0, gpu == 1 ? 99 : 390 + gpu,
                       DIMS({BY_DIR, 1}, {BY_SRC, gpu / 4}, {BY_DST, gpu % 4}, {BY_VIA, 0}));
    return 0;
}

static const struct bench_metric fake_copies_metrics[] = {
    {"copy_bandwidth", "GB/s", "higher", .peers = PEERS_EQUAL}, {.name = NULL}};

static const struct bench fake_copies = {
    .name = "fakecopies",
    .summary = "emits what GPUs would that are not alike",
    .metrics = fake_copies_metrics,
    .dims = fake_copies_dims,
    .scan = fake_copies_run,
};

/* Claims to work on GPUs. */
static int fake_gpus_run(struct bench_ctx *ctx)
{
    bench_emit(ctx, 0, 1, NO_DIMS);
    return 0;
}

static const struct bench_metric fake_gpus_metrics[] = {{"gpu_rate", "GB/s", "higher"},
                                                        {.name = NULL}};

static const struct bench fake_gpus = {
    .name = "fakegpus",
    .summary = "works on GPUs, it says",
    .needs = NEED_GPU,
    .metrics = fake_gpus_metrics,
    .scan = fake_gpus_run,
};

static uint64_t fake_march_steps;

/* Ranks that meet in every step. Worker 0 emits the number of measured steps of each rank. */
static int fake_march_step(struct bench_ctx *ctx, uint64_t iters, struct sample *sample)
{
    const struct fake_params *params = ctx->params;
    int rc = 0;
    for (uint64_t i = 0; i < iters && !rc; i++) {
        if (ctx->measuring && ++fake_march_steps == 3 && is(ctx, MODE_CRASH))
            (void)raise(SIGKILL);
        sleep_s(params->step_s);
        rc = peers_barrier(ctx->peers, ctx->err);
    }
    sample->ops = iters;
    return rc;
}

static int fake_march_check(struct bench_ctx *ctx)
{
    uint64_t steps[64];
    int rc = peers_gather(ctx->peers, &fake_march_steps, steps, sizeof(fake_march_steps), ctx->err);
    for (unsigned r = 0; r < ctx->peers->size && !rc && ctx->worker == 0; r++)
        bench_emit(ctx, 0, (double)steps[r], DIMS({1, r}));
    return rc;
}

static const struct bench_metric fake_march_metrics[] = {{"steps", "count", "none"},
                                                         {.name = NULL}};

static const struct bench fake_march = {
    .name = "fakemarch",
    .summary = "ranks that wait for each other in every step",
    .ops_unit = "steps",
    .opts = fake_opts,
    .params_size = sizeof(struct fake_params),
    .metrics = fake_march_metrics,
    .dims = (const struct bench_dim[]){{""}, {"rank", DIM_RANK}, {.name = NULL}},
    .gang = true,
    .step = fake_march_step,
    .check = fake_march_check,
};

const struct bench *const fake_registry[] = {&fake,       &fake_scan, &fake_mute,  &fake_part,
                                             &fake_order, &fake_team, &fake_march, &fake_copies,
                                             &fake_gpus,  NULL};

static const struct scenario_part fake_parts[] = {
    {.foreground = "fake", .placements = "none,sized"},
    {.foreground = NULL},
};

static const struct scenario_part team_parts[] = {
    {.foreground = "faketeam", .placements = "none,sized"},
    {.foreground = NULL},
};

static const struct scenario_part apart_parts[] = {
    {.foreground = "faketeam", .placements = "none,partition"},
    {.foreground = NULL},
};

const struct scenario fake_scenarios[] = {
    {.name = "fake", .summary = "the fake", .parts = fake_parts},
    {.name = "busy",
     .summary = "the fake with another behind it",
     .parts = fake_parts,
     .background = "fake",
     .background_workers = 1},
    {.name = "team",
     .summary = "ranks with as many fakes behind them",
     .parts = team_parts,
     .background = "fake"},
    {.name = "apart",
     .summary = "ranks and a fake, apart where there are CPUs for it",
     .parts = apart_parts,
     .background = "fake",
     .background_workers = 1},
    {.name = NULL},
};
