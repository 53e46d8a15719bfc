/*
 * Rates of large matrix products by type, and what the GPU says about itself meanwhile.
 *
 * C = A B, n x n, on data that looks normal, by the fastest of the algorithms that cuBLASLt
 * proposes (chosen in setup, once a model of GPU). For each type, every GPU alone, and all at once
 * (with=all): GPUs share power and cooling. Each round takes these slices in an order of its own.
 *
 * **Measures** `matmul_rate`, TFLOP/s (1e12): 2 n^3 x products / time between device events, of
 * batches that follow each other without a gap, each GPU's without regard to the others'. The first
 * third of a slice, 0.1 s at least, settles and is not counted, nor is what is under way when the
 * slice ends: with=all counts while all are at work (bench/gpu/gpu_overlap.h).
 * `matmul_peak_share`: that / the data sheet's dense rate (bench/gpu/gpu_peak.h; no row where
 * unknown). Of NVML's readings in the counted part, one about every 5 ms: `gpu_clock_sm` and
 * `gpu_temperature`, means; `gpu_power`, what the energy counter gained / time; `gpu_throttle`, the
 * share of that time by which the counter of a reason grew (bench/gpu/gpu_sensors.h; no row where
 * the GPU has no such counter, or the slice is too short for its steps). `matmul_size`: n. Checked
 * after the timing: entries of C against a sum in double precision.
 * **Source** kernels/matmul/gpu_matmul.h and kernels/matmul/gpu_matmul_ref.h name theirs.
 * **Limits** Needs cuBLASLt 12 or 13 at run time (CONTEND_CUBLASLT names the file). tf32 and bf16
 * only from compute capability 8.0 on, fp8 (e4m3 to bf16, fast accumulation) from 8.9 on: types
 * that a GPU lacks are left out, and said on stderr. A GPU takes a second or more to settle at its
 * power limit; the slices of a short run are shorter, and their rates higher than a job's: what ran
 * before a slice still shows in it, and differs by round. Slices below 0.3 s take up to 0.1 s more
 * than their share of the time, to settle. Counters move in steps of up to 0.1 s: power and
 * throttling need slices of about 0.4 s or more.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench/common/points.h"
#include "bench/gpu/gpu.h"
#include "bench/gpu/gpu_matmul_slice.h"
#include "bench/gpu/gpu_peak.h"
#include "bench/registry.h"
#include "harness/say/log.h"
#include "kernels/cpu/mix64.h"

enum { N_STEP = 16, N_LEAST = 256 };

struct matmul_params {
    int64_t n;
    int type;
};

/* In the order of enum matmul_type, behind "all". */
static const char *const type_names[] = {"all",  "fp64", "fp32", "tf32",
                                         "bf16", "fp16", "fp8",  NULL};

static const struct opt matmul_opts[] = {
    OPT_INT("n", matmul_params, n, "8192", N_LEAST, 65536, "N",
            "rows and columns, a multiple of 16; halved where memory is short"),
    OPT_CHOICE("type", matmul_params, type, "all", type_names, "TYPE", "of the entries"),
    {.name = NULL},
};

enum { RATE, PEAK_SHARE, CLOCK_SM, POWER, TEMPERATURE, THROTTLE, SIZE };
static const struct bench_metric matmul_metrics[] = {
    /* Clock and the like are no peers': what they do harm to is, and at its power limit a GPU's
     * clock is a draw of the moment. */
    [RATE] = {"matmul_rate", "TFLOP/s", "higher", .peers = PEERS_EQUAL},
    [PEAK_SHARE] = {"matmul_peak_share", "ratio", "higher"},
    [CLOCK_SM] = {"gpu_clock_sm", "MHz", "higher"},
    [POWER] = {"gpu_power", "W", "none"},
    [TEMPERATURE] = {"gpu_temperature", "degC", "lower"},
    [THROTTLE] = {"gpu_throttle", "ratio", "lower", .only_held = true,
                  .power_limit = "reason=power"},
    [SIZE] = {"matmul_size", "count", "none"},
    {.name = NULL},
};

static int matmul_validate(const void *params, struct err *err)
{
    const struct matmul_params *p = params;
    if (p->n % N_STEP == 0)
        return 0;
    return err_set(err, -EINVAL, "n=%lld: not a multiple of %d", (long long)p->n, N_STEP);
}

#ifdef CONTEND_HAVE_CUDA

enum { CHECKED = 24 };

static int probe_type(struct bench_ctx *ctx, enum matmul_type type)
{
    for (unsigned i = 0; i < ctx->machine->ngpus; i++) {
        char msg[GPU_MSG] = "";
        struct gpu_matmul_device device;
        int rc =
            gpu_error(gpu_matmul_device(ctx->machine->gpus[i].pci_bdf, &device, msg, sizeof(msg)),
                      msg, ctx->err);
        if (rc || gpu_matmul_has(type, device.cc))
            return rc;
    }
    return err_set(ctx->err, -ENOTSUP, "no GPU here has units for %s", matmul_type_name(type));
}

static int matmul_probe(struct bench_ctx *ctx)
{
    const struct matmul_params *params = ctx->params;
    char msg[GPU_MSG] = "", version[32];
    int rc = gpu_probe(ctx);
    if (!rc)
        rc = gpu_error(gpu_matmul_load(msg, sizeof(msg)), msg, ctx->err);
    if (!rc)
        bench_library(ctx, "cuBLASLt", gpu_matmul_library(version, sizeof(version)));
    return rc || !params->type ? rc : probe_type(ctx, (enum matmul_type)(params->type - 1));
}

static bool wanted(const struct bench_ctx *ctx, const struct matmul_gpu *gpu, enum matmul_type type)
{
    const struct matmul_params *params = ctx->params;
    return (!params->type || params->type == (int)type + 1) && gpu_matmul_has(type, gpu->device.cc);
}

static uint64_t bytes_of(const struct bench_ctx *ctx, const struct matmul_gpu *gpu, size_t n)
{
    uint64_t bytes = 0;
    for (unsigned type = 0; type < MATMUL_TYPES; type++)
        if (wanted(ctx, gpu, (enum matmul_type)type))
            bytes += gpu_matmul_bytes((enum matmul_type)type, n);
    return bytes;
}

/* The same on all GPUs. */
static int choose_size(struct matmul *t, const struct bench_ctx *ctx)
{
    const struct matmul_params *params = ctx->params;
    t->n = (size_t)params->n;
    for (unsigned i = 0; i < t->ngpus; i++) {
        char msg[GPU_MSG] = "";
        uint64_t free_bytes = 0;
        int rc = gpu_error(
            gpu_matmul_free_bytes(ctx->machine->gpus[i].pci_bdf, &free_bytes, msg, sizeof(msg)),
            msg, ctx->err);
        if (rc)
            return rc;
        while (bytes_of(ctx, &t->gpus[i], t->n) > free_bytes / 10 * 9) {
            if (t->n / 2 < N_LEAST)
                return err_set(ctx->err, -ENOMEM, "GPU %u has too little free memory: %llu MiB", i,
                               (unsigned long long)(free_bytes >> 20));
            t->n = t->n / 2 / N_STEP * N_STEP;
        }
    }
    if (t->n != (size_t)params->n)
        log_warn("gpu_matmul: n is %zu instead of %lld, since GPU memory is short", t->n,
                 (long long)params->n);
    return 0;
}

static const struct gpu_matmul *find_like(const struct matmul *t, unsigned gpu, unsigned type)
{
    for (unsigned i = 0; i < gpu; i++)
        if (strcmp(t->gpus[i].device.name, t->gpus[gpu].device.name) == 0)
            return t->gpus[i].of[type];
    return NULL;
}

static int open_type(struct matmul *t, const struct bench_ctx *ctx, unsigned gpu, unsigned type)
{
    const struct matmul_params *params = ctx->params;
    const struct gpu_matmul_config config = {
        .pci_bdf = ctx->machine->gpus[gpu].pci_bdf,
        .type = (enum matmul_type)type,
        .n = t->n,
        .seed = t->seed,
        .like = find_like(t, gpu, type),
    };
    char msg[GPU_MSG] = "";
    int rc = gpu_matmul_open(&config, &t->gpus[gpu].of[type], msg, sizeof(msg));
    if (rc == -ENOTSUP && !params->type) {
        log_warn("gpu_matmul: GPU %u: %s is left out: %s", gpu,
                 matmul_type_name((enum matmul_type)type), msg);
        return 0;
    }
    return gpu_error(rc, msg, ctx->err);
}

static int open_gpu(struct matmul *t, const struct bench_ctx *ctx, unsigned gpu)
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
    return rc;
}

static int matmul_setup(struct bench_ctx *ctx)
{
    const struct bench_machine *machine = ctx->machine;
    struct matmul *t = calloc(1, sizeof(*t));
    char msg[GPU_MSG] = "";
    ctx->state = t;
    if (!t)
        return err_set(ctx->err, -ENOMEM, "cannot allocate the state of the scan");
    t->seed = ctx->seed;
    t->ngpus = machine->ngpus < MATMUL_GPUS ? machine->ngpus : MATMUL_GPUS;
    int rc = gpu_error(gpu_matmul_load(msg, sizeof(msg)), msg, ctx->err);
    for (unsigned i = 0; i < t->ngpus && !rc; i++)
        rc = gpu_error(
            gpu_matmul_device(machine->gpus[i].pci_bdf, &t->gpus[i].device, msg, sizeof(msg)), msg,
            ctx->err);
    if (!rc)
        rc = choose_size(t, ctx);
    for (unsigned i = 0; i < t->ngpus && !rc; i++)
        rc = open_gpu(t, ctx, i);
    return rc;
}

static void matmul_teardown(struct bench_ctx *ctx)
{
    struct matmul *t = ctx->state;
    ctx->state = NULL;
    if (!t)
        return;
    for (unsigned i = 0; i < t->ngpus; i++)
        for (unsigned type = 0; type < MATMUL_TYPES; type++)
            gpu_matmul_close(t->gpus[i].of[type]);
    free(t);
}

static int emit_readings(struct bench_ctx *ctx, const struct gpu_average *average, const char *type,
                         const char *with, unsigned gpu)
{
    struct gpu_means means = gpu_average_get(average);
    const struct {
        unsigned metric;
        double value;
    } values[] = {
        {CLOCK_SM, means.clock_mhz}, {POWER, means.power_w}, {TEMPERATURE, means.temperature_c}};
    int rc = 0;
    for (size_t i = 0; i < sizeof(values) / sizeof(values[0]) && !rc; i++)
        if (!isnan(values[i].value))
            rc = bench_emit(ctx, values[i].metric, values[i].value, "type=%s;with=%s;gpu=%u", type,
                            with, gpu);
    for (int i = 0; i < GPU_THROTTLES && !rc; i++)
        if (!isnan(means.throttle[i]))
            rc = bench_emit(ctx, THROTTLE, means.throttle[i], "type=%s;reason=%s;with=%s;gpu=%u",
                            type, gpu_throttle_names[i], with, gpu);
    return rc;
}

static int emit_gpu(struct bench_ctx *ctx, enum matmul_type which, bool all, unsigned i)
{
    const struct matmul *t = ctx->state;
    const struct matmul_gpu *gpu = &t->gpus[i];
    const struct matmul_result *result = &gpu->result[which][all];
    double tflops = matmul_flops(t->n) * result->products / result->seconds * 1e-12;
    double peak_tflops = gpu_peak_tflops(gpu->device.name, which);
    const char *type = matmul_type_name(which), *with = all ? "all" : "alone";
    int rc = bench_emit(ctx, RATE, tflops, "type=%s;with=%s;gpu=%u", type, with, i);
    if (!rc && peak_tflops > 0)
        rc = bench_emit(ctx, PEAK_SHARE, tflops / peak_tflops, "type=%s;with=%s;gpu=%u", type, with,
                        i);
    return rc ? rc : emit_readings(ctx, &result->average, type, with, i);
}

static unsigned count_types(const struct matmul *t)
{
    unsigned n = 0;
    for (unsigned type = 0; type < MATMUL_TYPES; type++) {
        bool any = false;
        for (unsigned i = 0; i < t->ngpus; i++)
            any = any || t->gpus[i].of[type];
        n += any;
    }
    return n;
}

/* Points: types, and of each its groups. */
static int measure_point(struct bench_ctx *ctx, size_t point)
{
    struct matmul *t = ctx->state;
    unsigned groups = gpu_groups(t->ngpus);
    return matmul_slice_run(t, (enum matmul_type)(point / groups), (unsigned)(point % groups),
                            ctx->budget_s / (count_types(t) * groups), ctx->err);
}

static int emit_point(struct bench_ctx *ctx, size_t point)
{
    const struct matmul *t = ctx->state;
    unsigned groups = gpu_groups(t->ngpus);
    enum matmul_type type = (enum matmul_type)(point / groups);
    struct gpu_group group = gpu_group_at(t->ngpus, (unsigned)(point % groups));
    int rc = 0;
    for (unsigned i = group.first; i < group.end && !rc; i++)
        if (t->gpus[i].of[type])
            rc = emit_gpu(ctx, type, group.all, i);
    return rc;
}

static int matmul_scan(struct bench_ctx *ctx)
{
    const struct matmul *t = ctx->state;
    if (count_types(t) == 0)
        return err_set(ctx->err, -EIO, "cuBLASLt multiplies none of the types here");
    int rc =
        points_run(ctx, (size_t)MATMUL_TYPES * gpu_groups(t->ngpus), measure_point, emit_point);
    return rc ? rc : bench_emit(ctx, SIZE, (double)t->n, "%s", "");
}

static int check_entry(const struct matmul *t, unsigned i, unsigned type, unsigned k,
                       struct err *err)
{
    char msg[GPU_MSG] = "";
    uint64_t hash = mix64(t->seed + k);
    size_t row = (hash & 0xffffffff) % t->n, col = (hash >> 32) % t->n;
    double got = NAN, want = matmul_ref_entry((enum matmul_type)type, t->seed, t->n, row, col);
    double limit = matmul_ref_limit((enum matmul_type)type, t->n, want);
    int rc =
        gpu_error(gpu_matmul_read(t->gpus[i].of[type], row, col, &got, msg, sizeof(msg)), msg, err);
    if (rc || fabs(got - want) <= limit)
        return rc;
    return err_set(err, -EBADMSG, "GPU %u, %s, n %zu: C[%zu][%zu] is %.9g, not %.9g +- %.2g", i,
                   matmul_type_name((enum matmul_type)type), t->n, row, col, got, want, limit);
}

static int check_product(const struct matmul *t, unsigned i, unsigned type, struct err *err)
{
    struct gpu_matmul *gpu = t->gpus[i].of[type];
    char msg[GPU_MSG] = "";
    double seconds = 0;
    int rc = gpu_matmul_poison(gpu, msg, sizeof(msg));
    if (!rc)
        rc = gpu_matmul_queue(gpu, 0, 1, msg, sizeof(msg));
    if (!rc)
        rc = gpu_matmul_wait(gpu, 0, &seconds, msg, sizeof(msg));
    rc = gpu_error(rc, msg, err);
    for (unsigned k = 0; k < CHECKED && !rc; k++)
        rc = check_entry(t, i, type, k, err);
    return rc;
}

static int matmul_check(struct bench_ctx *ctx)
{
    const struct matmul *t = ctx->state;
    int rc = 0;
    for (unsigned i = 0; i < t->ngpus && !rc; i++)
        for (unsigned type = 0; type < MATMUL_TYPES && !rc; type++)
            if (t->gpus[i].of[type])
                rc = check_product(t, i, type, ctx->err);
    return rc;
}

#else

static int matmul_probe(struct bench_ctx *ctx)
{
    return gpu_probe(ctx);
}

#endif

const struct bench bench_gpu_matmul = {
    .name = "gpu_matmul",
    .summary = "rates of large matrix products by type, with the GPU's clock, power and throttling",
    .needs = NEED_GPU,
    .opts = matmul_opts,
    .params_size = sizeof(struct matmul_params),
    .metrics = matmul_metrics,
    .validate = matmul_validate,
    .probe = matmul_probe,
#ifdef CONTEND_HAVE_CUDA
    .setup = matmul_setup,
    .scan = matmul_scan,
    .check = matmul_check,
    .teardown = matmul_teardown,
#else
    .scan = gpu_probe,
#endif
};
