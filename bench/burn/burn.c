/*
 * The whole machine busy at once: do its parts still compute correctly, and as fast, together?
 *
 * For the whole time, at once: every GPU multiplies, by all its types in turn, with a pass over the
 * rest of its memory between rounds; copies run both ways between pinned memory and every GPU, and
 * in turn from GPU to GPU; every CPU multiplies and copies memory in turn. All outputs of products,
 * all bytes of copies (the last of each batch), and every word that a CPU wrote are checked.
 *
 * **Measures**, by up to BURN_BINS parts of the time (key time: the second at which a part ends):
 * `burn_products`, 1e12 operations a second, the mean over types, from device events;
 * `burn_copies`, GB/s, both directions together: link=host, between a GPU and pinned memory,
 * link=peer, between GPUs, per GPU; `burn_cpu_rate`, 1e9 chain steps a second, and
 * `burn_memory_rate`, GB/s of 24 B per element that is copied and read, of all CPUs together, each
 * by its own clock; `burn_clock`, `burn_power`, `burn_temperature` of slices of up to 1.5 s. Over
 * the whole time: `burn_throttle` and `burn_slowdown`, the shares of time in which reasons held a
 * clock (gpu_matmul's), `burn_replays`, new PCIe replays, and `burn_passes` over memory. A unit
 * with a wrong result is a failed row; the other units go on. **Source** the benchmarks that it
 * combines: gpu_matmul, gpu_copy, gpu_memory, cpu_speed. **Limits** Rates are those of shared
 * power, memory and CPUs: no unit is as fast as alone. Without a GPU, or without CUDA and cuBLASLt
 * in the build, only CPUs and memory.
 */
#include "bench/burn/burn.h"

#include <math.h>

#include "bench/registry.h"

enum { BY_STAT = 1, BY_LINK, BY_REASON, BY_TIME, BY_GPU, BY_CPU };
enum { STAT_MEAN, STAT_LEAST, STAT_MOST };
static const struct bench_dim burn_dims[] = {
    [BY_STAT] = {"stat", .labels = LABELS("mean", "min", "max")},
    [BY_LINK] = {"link", .labels = LABELS("host", "peer")},
    [BY_REASON] = {"reason", .labels = gpu_throttle_names},
    [BY_TIME] = {"time", .unit = "s"},
    [BY_GPU] = {"gpu", DIM_GPU},
    [BY_CPU] = {"cpu"},
    {.name = NULL},
};

enum {
    PRODUCTS,
    COPIES,
    CPU_RATE,
    MEMORY_RATE,
    CLOCK,
    POWER,
    TEMPERATURE,
    THROTTLE,
    SLOWDOWN,
    REPLAYS,
    PASSES,
};
static const struct bench_metric burn_metrics[] = {
    [PRODUCTS] = {"burn_products", "TFLOP/s", "higher", .gating = true},
    [COPIES] = {"burn_copies", "GB/s", "higher"},
    [CPU_RATE] = {"burn_cpu_rate", "G/s", "higher"},
    [MEMORY_RATE] = {"burn_memory_rate", "GB/s", "higher"},
    [CLOCK] = {"burn_clock", "MHz", "higher"},
    [POWER] = {"burn_power", "W", "none"},
    [TEMPERATURE] = {"burn_temperature", "degC", "lower"},
    [THROTTLE] = {"burn_throttle", "ratio", "lower"},
    [SLOWDOWN] = {"burn_slowdown", "ratio", "lower"},
    [REPLAYS] = {"burn_replays", "count", "lower", .hide_zeros = true},
    [PASSES] = {"burn_passes", "count", "none"},
    {.name = NULL},
};

static const struct figure_panel burn_panels[] = {
    {"burn_products", "products (TFLOP/s)", {BY_GPU}},
    {"burn_clock", "clock of the SMs (MHz)", {BY_GPU, BY_STAT}},
    {"burn_power", "power (W)", {BY_GPU, BY_STAT}},
    {"burn_temperature", "temperature (degC)", {BY_GPU, BY_STAT}},
    {"burn_copies", "copies, both ways (GB/s)", {BY_GPU, BY_LINK}},
    {"burn_cpu_rate", "all CPUs (G/s)", {0}},
    {"burn_memory_rate", "copied by all CPUs (GB/s)", {0}},
    {.metric = NULL},
};

static const struct bench_figure burn_figures[] = {
    {.name = "burn",
     .kind = FIGURE_DOTS,
     .metric = "burn_cpu_rate",
     .title = "all GPUs, links and CPUs busy together",
     .how = "All results checked",
     .x = {"time (s)", BY_TIME},
     .panels = burn_panels},
    {.name = NULL},
};

/* The longest slice of a type. A bin lasts two rounds of all types. */
static const double slice_most_s = 1.5;

struct burn {
    struct burn_cpus cpus;
    struct burn_gpus gpus;
};

static int burn_setup(struct bench_ctx *ctx)
{
    struct burn *burn = ctx->state;
    int rc = burn_cpus_open(&burn->cpus, ctx);
    return rc ? rc : burn_gpus_open(&burn->gpus, ctx);
}

static void burn_teardown(struct bench_ctx *ctx)
{
    burn_gpus_close(&((struct burn *)ctx->state)->gpus);
}

static unsigned bins_of(double budget_s)
{
    double bins = budget_s / (2 * MATMUL_TYPES * slice_most_s);
    return bins > BURN_BINS ? BURN_BINS : bins < 3 ? 3 : (unsigned)bins;
}

static double second_of(const struct burn_time *time, unsigned bin)
{
    double whole_s = (double)(time->end_ns - time->start_ns) / 1e9;
    return rint(100 * whole_s * (bin + 1) / time->bins) / 100;
}

static void emit_cpus(struct bench_ctx *ctx, const struct burn_cpus *cpus)
{
    for (unsigned bin = 0; bin < cpus->time->bins; bin++) {
        const struct dims at = DIMS({BY_TIME, second_of(cpus->time, bin)});
        double rate = 0, gbps = 0;
        for (unsigned i = 0; i < cpus->n; i++) {
            const struct burn_cpu *cpu = &cpus->cpu[i];
            rate += cpu->steps_ns[bin] > 0 ? cpu->steps[bin] / cpu->steps_ns[bin] : 0;
            gbps += cpu->bytes_ns[bin] > 0 ? cpu->bytes[bin] / cpu->bytes_ns[bin] : 0;
        }
        bench_emit(ctx, CPU_RATE, rate, at);
        bench_emit(ctx, MEMORY_RATE, gbps, at);
    }
    for (unsigned i = 0; i < cpus->n; i++)
        (void)bench_emit_absent(ctx, CPU_RATE, &cpus->cpu[i].wrong,
                                DIMS({BY_CPU, ctx->machine->cpus[i].os_cpu}));
}

/* NaN if a type had no products in the bin: a mean over the other types would not be comparable. */
static double products_of(const struct burn_gpu *gpu, const struct burn_gpu_bin *bin)
{
    double sum = 0;
    unsigned n = 0;
    for (unsigned type = 0; type < MATMUL_TYPES; type++) {
        sum += gpu->has[type] ? bin->work[type] / bin->seconds[type] : 0;
        n += gpu->has[type];
    }
    return sum / n;
}

static void emit_stat(struct bench_ctx *ctx, unsigned metric, const struct burn_stat *stat,
                      double at_s, unsigned gpu)
{
    const double values[] = {burn_stat_mean(stat), stat->least, stat->most};
    for (unsigned i = 0; i < 3 && stat->n; i++)
        bench_emit(ctx, metric, values[i], DIMS({BY_STAT, i}, {BY_TIME, at_s}, {BY_GPU, gpu}));
}

static void emit_gpu(struct bench_ctx *ctx, const struct burn_gpus *gpus, unsigned i)
{
    const struct burn_gpu *gpu = &gpus->gpu[i];
    for (unsigned b = 0; b < gpus->time->bins; b++) {
        const struct burn_gpu_bin *bin = &gpu->bin[b];
        double at_s = second_of(gpus->time, b);
        bench_emit(ctx, PRODUCTS, products_of(gpu, bin), DIMS({BY_TIME, at_s}, {BY_GPU, i}));
        for (unsigned link = 0; link < BURN_LINKS; link++)
            bench_emit(ctx, COPIES, burn_stat_mean(&bin->copies[link]),
                       DIMS({BY_LINK, link}, {BY_TIME, at_s}, {BY_GPU, i}));
        emit_stat(ctx, CLOCK, &bin->clock_mhz, at_s, i);
        emit_stat(ctx, POWER, &bin->power_w, at_s, i);
        emit_stat(ctx, TEMPERATURE, &bin->temperature_c, at_s, i);
    }
    for (unsigned r = 0; r < GPU_THROTTLES; r++)
        bench_emit(ctx, THROTTLE, burn_stat_mean(&gpu->throttle[r]),
                   DIMS({BY_REASON, r}, {BY_GPU, i}));
    bench_emit(ctx, SLOWDOWN, burn_stat_mean(&gpu->slowed), DIMS({BY_GPU, i}));
    bench_emit(ctx, REPLAYS, gpu->replays, DIMS({BY_GPU, i}));
}

static int burn_scan(struct bench_ctx *ctx)
{
    struct burn *burn = ctx->state;
    struct burn_time time = {.bins = bins_of(ctx->budget_s)};
    burn_gpus_warm_up(&burn->gpus);
    time.start_ns = clock_now_ns();
    time.end_ns = time.start_ns + (uint64_t)(ctx->budget_s * 1e9);
    burn->gpus.slice_s = fmin(slice_most_s, ctx->budget_s / (time.bins * 2 * MATMUL_TYPES));
    int rc = burn_gpus_start(&burn->gpus, &time, ctx->err);
    burn_cpus_run(&burn->cpus, &time);
    burn_gpus_wait(&burn->gpus);
    emit_cpus(ctx, &burn->cpus);
    for (unsigned i = 0; i < burn->gpus.n; i++)
        emit_gpu(ctx, &burn->gpus, i);
    for (unsigned part = 0; part < 3 && burn->gpus.n; part++)
        gpu_set_emit(ctx, &burn->gpus.set[part],
                     part == 1 ? COPIES
                     : part    ? PASSES
                               : PRODUCTS,
                     BY_GPU);
    if (burn->gpus.n)
        bench_emit(ctx, PASSES, (double)burn->gpus.passes, NO_DIMS);
    return rc;
}

const struct bench bench_burn = {
    .name = "burn",
    .summary = "all GPUs, links and CPUs busy together: right results, steady rates",
    .metrics = burn_metrics,
    .dims = burn_dims,
    .figures = burn_figures,
    .state_size = sizeof(struct burn),
    .setup = burn_setup,
    .scan = burn_scan,
    .teardown = burn_teardown,
};
