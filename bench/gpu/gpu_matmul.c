/*
 * Rates of large matrix products by type, with the GPU's clock, power, temperature and throttling.
 *
 * C = A B, A m x k, B k x n, on data that looks normal, by the fastest algorithm that cuBLASLt
 * proposes (setup chooses it, once per model of GPU). Each type runs on every GPU alone, and on all
 * at once (with=all): GPUs share power and cooling. Each round runs these slices in its own order.
 *
 * **Measures** `matmul_rate`, TFLOP/s (1e12): 2 m n k x products / time between device events, of
 * batches without a gap between them, for each GPU by itself. The first third of a slice, 0.1 s at
 * least, settles and does not count, nor do batches that still run when the slice ends. with=all
 * counts while all GPUs work (bench/gpu/gpu_set.h). `matmul_int_rate`, TOP/s: the same for
 * int8, whose sums are int32. `matmul_peak_share`: the rate / the data sheet's dense rate
 * (bench/gpu/gpu.h; no row if unknown).
 * From NVML's readings in the counted part, about one every 5 ms: `gpu_clock_sm` and
 * `gpu_temperature`, means; `gpu_power`, gain of the energy counter / time; `gpu_throttle`, gain of
 * a reason's counter / time (bench/gpu/gpu_sensors.h; no row if the GPU has no such counter, or the
 * slice is too short for its steps).
 * `matmul_trial`, for int8 `matmul_int_trial`: rates in setup's short trials, of the algorithm that
 * cuBLASLt proposes first, which a job gets, and of the algorithm used; from the first GPU of each
 * model. `matmul_size`: n, and m and k if they differ.
 * C is poisoned before each slice. After it, all of C is checked as the last timed product left it
 * (kernels/matmul/gpu_matmul_freivalds.h has the method, its limits and what it can miss). A GPU
 * that fails or multiplies wrongly is a failed row and is left out; the other GPUs are measured.
 * **Source** kernels/matmul/gpu_matmul.h and kernels/matmul/gpu_matmul_ref.h name theirs.
 * **Limits** Needs cuBLASLt at run time, of the CUDA that built this or 12 or 13 (CONTEND_CUBLASLT
 * names the file). tf32 and bf16 need compute capability 8.0, fp8 (e4m3 to bf16, fast accumulation)
 * needs 8.9: types that a GPU lacks are left out, with a line on stderr. A shape or layout that a
 * type does not support is a skipped row: fp8 and int8 need sizes that are multiples of 16 and 4,
 * and fp8 (before 10.0) and int8 (for matrix units) need layout=tn. A GPU takes a second or more to
 * settle at its power limit. Slices of a short run are shorter, and their rates higher than a
 * job's: work before a slice still affects it, and differs by round. Slices below 0.3 s take up to
 * 0.1 s more than their share of the time, to settle. Counters move in steps of up to 0.1 s: power
 * and throttling need slices of about 0.4 s or more.
 */
#include <errno.h>
#include <string.h>

#include "bench/common/points.h"
#include "bench/gpu/gpu.h"
#include "bench/gpu/gpu_matmul_slice.h"
#include "bench/registry.h"
#include "harness/lib/sys/log.h"
#include "kernels/matmul/gpu_matmul_data.h"

/* Steps and limits of n. */
enum { N_STEP = 16, N_LEAST = 256, N_MOST = 1 << 20 };

struct matmul_params {
    int64_t m, n, k;
    int layout, type;
};

/* "all", then as enum matmul_type. */
static const char *const type_names[] = {"all",  "fp64", "fp32", "tf32", "bf16",
                                         "fp16", "fp8",  "int8", NULL};

/* In the order of enum matmul_layout. */
static const char *const layout_names[] = {"nn", "nt", "tn", "tt", NULL};

static const struct opt matmul_opts[] = {
    OPT_INT("n", matmul_params, n, "8192", 1, N_MOST, "N",
            "columns of B and C; without m and k all, and halved where memory is short"),
    OPT_INT("m", matmul_params, m, "0", 0, N_MOST, "M", "rows of A and C; 0: as n"),
    OPT_INT("k", matmul_params, k, "0", 0, MATMUL_K_MAX, "K",
            "columns of A, rows of B: what is summed; 0: as n"),
    OPT_CHOICE("layout", matmul_params, layout, "tn", layout_names, "LAYOUT",
               "of A and B in columns as BLAS has them; t: transposed there"),
    OPT_CHOICE("type", matmul_params, type, "all", type_names, "TYPE", "of the entries"),
    {.name = NULL},
};

enum { BY_TYPE = 1, BY_REASON, BY_WITH, BY_GPU, BY_ALGORITHM, BY_OF };
enum { ALGORITHM_FIRST, ALGORITHM_BEST };
enum { OF_M, OF_K };
enum { WITH_ALONE, WITH_ALL };
static const struct bench_dim matmul_dims[] = {
    [BY_TYPE] = {"type", .labels = type_names + 1},
    [BY_REASON] = {"reason", .labels = gpu_throttle_names},
    [BY_WITH] = {"with", .labels = LABELS("alone", "all"),
                 .labels_long = LABELS("alone", "all at once")},
    [BY_GPU] = {"gpu", DIM_GPU},
    [BY_ALGORITHM] = {"algorithm", .labels = LABELS("first", "best")},
    [BY_OF] = {"of", .labels = LABELS("m", "k")},
    {.name = NULL},
};

enum { RATE, INT_RATE, PEAK_SHARE, CLOCK_SM, POWER, TEMPERATURE, THROTTLE, TRIAL, INT_TRIAL, SIZE };
static const struct bench_metric matmul_metrics[] = {
    /* Peer comparisons use rates, not clocks and the like: harm shows in the rates, and the clock
     * of a GPU at its power limit varies at random. */
    [RATE] = {"matmul_rate", "TFLOP/s", "higher", .peers = PEERS_EQUAL, .gating = true,
              .clock = "gpu_clock_sm"},
    [INT_RATE] = {"matmul_int_rate", "TOP/s", "higher", .peers = PEERS_EQUAL, .gating = true,
                  .clock = "gpu_clock_sm"},
    [PEAK_SHARE] = {"matmul_peak_share", "ratio", "higher"},
    [CLOCK_SM] = {"gpu_clock_sm", "MHz", "higher"},
    [POWER] = {"gpu_power", "W", "none"},
    [TEMPERATURE] = {"gpu_temperature", "degC", "lower"},
    [THROTTLE] = {"gpu_throttle", "ratio", "lower", .hide_zeros = true,
                  .power_limit = &DIMS({BY_REASON, GPU_THROTTLE_POWER})},
    [TRIAL] = {"matmul_trial", "TFLOP/s", "higher"},
    [INT_TRIAL] = {"matmul_int_trial", "TOP/s", "higher"},
    [SIZE] = {"matmul_size", "count", "none"},
    {.name = NULL},
};

static const struct figure_panel matmul_panels[] = {
    {"matmul_rate", "rate (TFLOP/s)", {BY_TYPE}},
    {"matmul_peak_share", "rate / that of the data sheet (ratio)", {BY_TYPE}},
    {"gpu_clock_sm", "clock of the SMs (MHz)", {BY_TYPE}},
    {"gpu_power", "power (W)", {BY_TYPE}},
    {"gpu_temperature", "temperature (degC)", {BY_TYPE}},
    {"gpu_throttle", "time for which a limit held the clock (share)", {BY_REASON}},
    {"matmul_int_rate", "rate of whole numbers (TOP/s)", {BY_TYPE}},
    {.metric = NULL},
};

static const struct bench_figure matmul_figures[] = {
    {.name = "gpu_matmul",
     .kind = FIGURE_DOTS,
     .metric = "matmul_rate",
     .title = "matrix products by type, with clock and temperature of each GPU",
     .how = "Large products, the fastest of the algorithms",
     .x = {"GPU", BY_GPU},
     .split = BY_WITH,
     .nsplits = 2,
     .panels = matmul_panels},
    {.name = NULL},
};

static int matmul_validate(const void *params, struct err *err)
{
    const struct matmul_params *p = params;
    if (p->k || p->n <= MATMUL_K_MAX)
        return 0;
    return err_set(err, -EINVAL, "n=%lld: k, which is as large without k=, is %d at most",
                   (long long)p->n, MATMUL_K_MAX);
}

#ifdef CONTEND_HAVE_CUBLASLT

/* Looks for one GPU that has the type. */
static int probe_type(struct bench_ctx *ctx, enum matmul_type type)
{
    for (unsigned i = 0; i < ctx->machine->ngpus; i++) {
        struct gpu_matmul_device device;
        if (!gpu_matmul_device(ctx->machine->gpus[i].pci_bdf, &device, NULL) &&
            gpu_matmul_has(type, device.cc))
            return 0;
    }
    return err_set(ctx->err, -ENOTSUP, "no GPU here has units for %s", matmul_type_name(type));
}

static int matmul_probe(struct bench_ctx *ctx)
{
    const struct matmul_params *params = ctx->params;
    char version[32];
    int rc = gpu_probe(ctx);
    if (!rc)
        rc = gpu_matmul_load(ctx->err);
    if (!rc)
        bench_library(ctx, "cuBLASLt", gpu_matmul_library(version, sizeof(version)));
    return rc || !params->type ? rc : probe_type(ctx, (enum matmul_type)(params->type - 1));
}

static bool wanted(const struct bench_ctx *ctx, const struct matmul_gpu *gpu, enum matmul_type type)
{
    const struct matmul_params *params = ctx->params;
    return (!params->type || params->type == (int)type + 1) && gpu_matmul_has(type, gpu->device.cc);
}

static uint64_t bytes_of(const struct bench_ctx *ctx, const struct matmul_gpu *gpu,
                         const struct matmul_shape *shape)
{
    uint64_t bytes = 0;
    for (unsigned type = 0; type < MATMUL_TYPES; type++)
        if (wanted(ctx, gpu, (enum matmul_type)type))
            bytes += gpu_matmul_bytes((enum matmul_type)type, shape);
    return bytes;
}

static struct matmul_shape shape_of(const struct matmul_params *params, size_t n)
{
    return (struct matmul_shape){.m = params->m ? (size_t)params->m : n,
                                 .n = n,
                                 .k = params->k ? (size_t)params->k : n,
                                 .layout = (enum matmul_layout)params->layout};
}

/* Halves n. False at the limit, or if the user gave m or k: such a shape is not changed. */
static bool shrink(const struct matmul_params *params, struct matmul_shape *shape)
{
    size_t n = shape->n / 2 / N_STEP * N_STEP;
    if (params->m || params->k || n < N_LEAST)
        return false;
    *shape = shape_of(params, n);
    return true;
}

/* Shrinks the shape, which is the same for all GPUs; drops a GPU without room for the smallest. */
static void fit_size(struct matmul *t, const struct bench_ctx *ctx, unsigned i)
{
    uint64_t free_bytes = 0;
    struct matmul_shape shape = t->shape;
    int rc = gpu_matmul_free_bytes(ctx->machine->gpus[i].pci_bdf, &free_bytes, &t->set.why);
    while (!rc && bytes_of(ctx, &t->gpus[i], &shape) > free_bytes / 10 * 9) {
        if (shrink(ctx->params, &shape))
            continue;
        rc = err_set(&t->set.why, -ENOMEM, "it has too little free memory: %llu MiB",
                     (unsigned long long)(free_bytes >> 20));
    }
    if (!gpu_set_drop(&t->set, i, rc))
        t->shape = shape;
}

static void choose_size(struct matmul *t, const struct bench_ctx *ctx)
{
    const struct matmul_params *params = ctx->params;
    t->shape = shape_of(params, (size_t)params->n);
    for (unsigned i = 0; i < t->set.n; i++)
        if (gpu_set_has(&t->set, i))
            fit_size(t, ctx, i);
    if (t->shape.n != (size_t)params->n)
        log_warn("gpu_matmul: n is %zu instead of %lld, since GPU memory is short", t->shape.n,
                 (long long)params->n);
}

static const struct gpu_matmul *find_same_model(const struct matmul *t, unsigned gpu, unsigned type)
{
    for (unsigned i = 0; i < gpu; i++)
        if (gpu_set_has(&t->set, i) && t->gpus[i].of[type] &&
            strcmp(t->gpus[i].device.name, t->gpus[gpu].device.name) == 0)
            return t->gpus[i].of[type];
    return NULL;
}

static int open_type(struct matmul *t, const struct bench_ctx *ctx, unsigned gpu, unsigned type)
{
    const struct gpu_matmul_config config = {
        .pci_bdf = ctx->machine->gpus[gpu].pci_bdf,
        .type = (enum matmul_type)type,
        .shape = t->shape,
        .seed = t->seed,
        .same_as = find_same_model(t, gpu, type),
    };
    int rc = gpu_matmul_open(&config, &t->gpus[gpu].of[type], &t->set.why);
    if (rc != -ENOTSUP)
        return gpu_set_drop(&t->set, gpu, rc);
    t->gpus[gpu].absent[type] = t->set.why;
    log_warn("gpu_matmul: GPU %u: %s is left out: %s", gpu,
             matmul_type_name((enum matmul_type)type), t->set.why.msg);
    return 0;
}

static void open_gpu(struct matmul *t, const struct bench_ctx *ctx, unsigned gpu)
{
    int rc = 0;
    struct err why = {0};
    if (gpu_sensors_open(&t->gpus[gpu].sensors, ctx->machine->gpus[gpu].pci_bdf, &why))
        log_warn("gpu_matmul: GPU %u: no clock, power, temperature: %s", gpu, why.msg);
    for (unsigned type = 0; type < MATMUL_TYPES && !rc; type++) {
        if (wanted(ctx, &t->gpus[gpu], (enum matmul_type)type))
            rc = open_type(t, ctx, gpu, type);
        else if (!gpu_matmul_has((enum matmul_type)type, t->gpus[gpu].device.cc))
            log_info("gpu_matmul: GPU %u has no units for %s", gpu,
                     matmul_type_name((enum matmul_type)type));
    }
}

static void ask_device(struct matmul *t, unsigned gpu)
{
    (void)gpu_set_drop(
        &t->set, gpu,
        gpu_matmul_device(t->set.machine->gpus[gpu].pci_bdf, &t->gpus[gpu].device, &t->set.why));
}

static int matmul_setup(struct bench_ctx *ctx)
{
    struct matmul *t = ctx->state;
    char version[32];
    t->seed = ctx->seed;
    gpu_set_open(&t->set, ctx->machine);
    int rc = gpu_matmul_load(ctx->err);
    if (rc)
        return rc;
    for (unsigned i = 0; i < t->set.n; i++)
        if (gpu_set_has(&t->set, i))
            ask_device(t, i);
    choose_size(t, ctx);
    for (unsigned i = 0; i < t->set.n; i++)
        if (gpu_set_has(&t->set, i))
            open_gpu(t, ctx, i);
    /* It may differ from the library of the probe, if that library did not start. */
    bench_library(ctx, "cuBLASLt", gpu_matmul_library(version, sizeof(version)));
    return gpu_set_check(&t->set, ctx->err);
}

static void matmul_teardown(struct bench_ctx *ctx)
{
    struct matmul *t = ctx->state;
    for (unsigned i = 0; i < t->set.n; i++)
        for (unsigned type = 0; type < MATMUL_TYPES; type++)
            gpu_matmul_close(t->gpus[i].of[type]);
}

static void emit_readings(struct bench_ctx *ctx, const struct gpu_average *average, unsigned type,
                          unsigned with, unsigned gpu)
{
    struct gpu_means means = gpu_average_get(average);
    const struct {
        unsigned metric;
        double value;
    } values[] = {
        {CLOCK_SM, means.clock_mhz}, {POWER, means.power_w}, {TEMPERATURE, means.temperature_c}};
    for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++)
        bench_emit(ctx, values[i].metric, values[i].value,
                   DIMS({BY_TYPE, type}, {BY_WITH, with}, {BY_GPU, gpu}));
    for (int i = 0; i < GPU_THROTTLES; i++)
        bench_emit(ctx, THROTTLE, means.throttle[i],
                   DIMS({BY_TYPE, type}, {BY_REASON, i}, {BY_WITH, with}, {BY_GPU, gpu}));
}

/* int8 has its own metrics, in TOP/s. */
static unsigned metric_of(enum matmul_type type, unsigned of_floats, unsigned of_int)
{
    return type == MATMUL_INT8 ? of_int : of_floats;
}

static void emit_gpu(struct bench_ctx *ctx, enum matmul_type which, bool all, unsigned i)
{
    const struct matmul *t = ctx->state;
    const struct matmul_gpu *gpu = &t->gpus[i];
    const struct matmul_result *result = &gpu->result[which][all];
    double tflops = matmul_flops(&t->shape) * result->products / result->seconds * 1e-12;
    double peak_tflops = gpu_peak_tflops(gpu->device.name, which);
    unsigned with = all ? WITH_ALL : WITH_ALONE;
    const struct dims at = DIMS({BY_TYPE, which}, {BY_WITH, with}, {BY_GPU, i});
    bench_emit(ctx, metric_of(which, RATE, INT_RATE), tflops, at);
    if (peak_tflops > 0)
        bench_emit(ctx, PEAK_SHARE, tflops / peak_tflops, at);
    emit_readings(ctx, &result->average, which, with, i);
}

static unsigned count_types(const struct matmul *t)
{
    unsigned n = 0;
    for (unsigned type = 0; type < MATMUL_TYPES; type++) {
        bool any = false;
        for (unsigned i = 0; i < t->set.n; i++)
            any = any || (gpu_set_has(&t->set, i) && t->gpus[i].of[type]);
        n += any;
    }
    return n;
}

/* A point is a type and a group. Repeats the point without GPUs that failed in it. */
static int measure_point(struct bench_ctx *ctx, size_t point)
{
    struct matmul *t = ctx->state;
    unsigned groups = gpu_groups(t->set.n), left;
    struct gpu_group group = gpu_group_at(t->set.n, (unsigned)(point % groups));
    do {
        left = gpu_set_left(&t->set);
        if (gpu_set_runs(&t->set, &group))
            matmul_slice_run(t, (enum matmul_type)(point / groups), (unsigned)(point % groups),
                             ctx->budget_s / (t->ntypes * groups));
    } while (gpu_set_left(&t->set) < left);
    return gpu_set_check(&t->set, ctx->err);
}

static void emit_point(struct bench_ctx *ctx, size_t point)
{
    const struct matmul *t = ctx->state;
    unsigned groups = gpu_groups(t->set.n);
    enum matmul_type type = (enum matmul_type)(point / groups);
    struct gpu_group group = gpu_group_at(t->set.n, (unsigned)(point % groups));
    for (unsigned i = group.first; i < group.end && gpu_set_runs(&t->set, &group); i++)
        if (gpu_set_has(&t->set, i) && t->gpus[i].of[type])
            emit_gpu(ctx, type, group.all, i);
}

/* The first proposal of cuBLASLt, which a job gets, and the best of its proposals. */
static void emit_trials(struct bench_ctx *ctx, unsigned i, enum matmul_type type)
{
    const struct matmul *t = ctx->state;
    const struct gpu_matmul *of = t->gpus[i].of[type];
    double work = matmul_flops(&t->shape) * 1e-12;
    unsigned metric = metric_of(type, TRIAL, INT_TRIAL);
    if (!of || gpu_matmul_first_s(of) <= 0)
        return;
    bench_emit(ctx, metric, work / gpu_matmul_first_s(of),
               DIMS({BY_TYPE, type}, {BY_ALGORITHM, ALGORITHM_FIRST}, {BY_GPU, i}));
    bench_emit(ctx, metric, work / gpu_matmul_estimate_s(of),
               DIMS({BY_TYPE, type}, {BY_ALGORITHM, ALGORITHM_BEST}, {BY_GPU, i}));
}

/* Emits why types are absent on a GPU, and the trials of the other types. */
static void emit_types(struct bench_ctx *ctx, unsigned i)
{
    const struct matmul *t = ctx->state;
    for (unsigned type = 0; type < MATMUL_TYPES; type++) {
        enum matmul_type which = (enum matmul_type)type;
        const struct err *why = &t->gpus[i].absent[type];
        if (!bench_emit_absent(ctx, metric_of(which, RATE, INT_RATE), why,
                               DIMS({BY_TYPE, which}, {BY_WITH, WITH_ALONE}, {BY_GPU, i})))
            emit_trials(ctx, i, which);
    }
}

static void emit_size(struct bench_ctx *ctx)
{
    const struct matmul *t = ctx->state;
    const struct matmul_shape *shape = &t->shape;
    bench_emit(ctx, SIZE, (double)shape->n, NO_DIMS);
    if (shape->m != shape->n)
        bench_emit(ctx, SIZE, (double)shape->m, DIMS({BY_OF, OF_M}));
    if (shape->k != shape->n)
        bench_emit(ctx, SIZE, (double)shape->k, DIMS({BY_OF, OF_K}));
}

static int matmul_scan(struct bench_ctx *ctx)
{
    const struct matmul_params *params = ctx->params;
    struct matmul *t = ctx->state;
    int rc = 0;
    t->ntypes = count_types(t);
    if (t->ntypes > 0)
        rc =
            points_run(ctx, (size_t)MATMUL_TYPES * gpu_groups(t->set.n), measure_point, emit_point);
    if (rc)
        return rc;
    for (unsigned i = 0; i < t->set.n; i++)
        if (gpu_set_has(&t->set, i))
            emit_types(ctx, i);
    emit_size(ctx);
    gpu_set_emit(ctx, &t->set, params->type == MATMUL_INT8 + 1 ? INT_RATE : RATE, BY_GPU);
    return 0;
}

#else

static int matmul_probe(struct bench_ctx *ctx)
{
    int rc = gpu_probe(ctx);
    return rc ? rc : err_set(ctx->err, -ENOTSUP, "this program was built without cublasLt.h");
}

#endif

const struct bench bench_gpu_matmul = {
    .name = "gpu_matmul",
    .summary = "rates of large matrix products by type, with the GPU's clock, power and throttling",
    .needs = NEED_GPU,
    .opts = matmul_opts,
    .params_size = sizeof(struct matmul_params),
    .metrics = matmul_metrics,
    .figures = matmul_figures,
    .dims = matmul_dims,
    .validate = matmul_validate,
    .probe = matmul_probe,
#ifdef CONTEND_HAVE_CUBLASLT
    .state_size = sizeof(struct matmul),
    .setup = matmul_setup,
    .scan = matmul_scan,
    .teardown = matmul_teardown,
#else
    .scan = matmul_probe,
#endif
};
