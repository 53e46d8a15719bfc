#include <errno.h>
#include <math.h>
#include <pthread.h>

#include "bench/burn/burn.h"
#include "bench/registry.h"
#include "harness/machine/gpu_driver.h"

#if defined(CONTEND_HAVE_CUDA) && defined(CONTEND_HAVE_CUBLASLT)

#include "bench/copy/gpu_copy_job.h"
#include "bench/gpu/gpu_matmul_slice.h"
#include "bench/gpu/gpu_memory.h"

/* Benchmarks that are open together, in the order in which they allocate memory. */
enum { PRODUCTS, COPIES, MEMORY, PARTS };
static const struct {
    const struct bench *bench;
    const char *options[6];
} parts[PARTS] = {
    [PRODUCTS] = {&bench_gpu_matmul, {NULL}},
    [COPIES] = {&bench_gpu_copy, {"mem=pinned", "via=ce", "node=home", "dir=both", "size=64M"}},
    [MEMORY] = {&bench_gpu_memory, {NULL}},
};

struct burn_part {
    _Alignas(16) char params[BENCH_PARAMS_MAX];
    struct bench_ctx ctx;
    bool open;
    pthread_t thread;
    bool runs;
};

static const double copy_s = 0.5, warm_s = 0.05;

static int open_part(struct burn_gpus *gpus, unsigned p, struct bench_ctx *ctx)
{
    const struct bench *bench = parts[p].bench;
    struct burn_part *part = &gpus->parts[p];
    part->ctx = *ctx;
    part->ctx.params = part->params;
    part->ctx.blocks = NULL;
    part->ctx.state = NULL;
    opts_set_defaults(bench->opts, part->params);
    int rc = 0;
    for (const char *const *option = parts[p].options; *option && !rc; option++)
        rc = opts_set_pair(bench->opts, part->params, *option, ctx->err);
    if (!rc)
        rc = bench->probe(&part->ctx);
    if (!rc) {
        rc = bench_open(bench, &part->ctx);
        part->open = true;
    }
    return rc;
}

int burn_gpus_open(struct burn_gpus *gpus, struct bench_ctx *ctx)
{
    int rc = 0;
    if (!ctx->machine->ngpus)
        return 0;
    gpus->parts = bench_array(ctx, PARTS, sizeof(*gpus->parts));
    gpus->gpu = bench_array(ctx, GPU_SET_MAX, sizeof(*gpus->gpu));
    if (!gpus->parts || !gpus->gpu)
        return -ENOMEM;
    for (unsigned p = 0; p < PARTS && !rc; p++)
        rc = open_part(gpus, p, ctx);
    if (rc)
        return rc;
    gpus->n = ctx->machine->ngpus < GPU_SET_MAX ? ctx->machine->ngpus : GPU_SET_MAX;
    const struct matmul *matmul = gpus->parts[PRODUCTS].ctx.state;
    struct copy_job *job = copy_job_of(&gpus->parts[COPIES].ctx);
    gpus->set[COPIES] = *job->set;
    job->set = &gpus->set[COPIES];
    job->share_s = copy_s;
    for (unsigned i = 0; i < gpus->n; i++)
        for (unsigned type = 0; type < MATMUL_TYPES; type++)
            gpus->gpu[i].has[type] = matmul->gpus[i].of[type];
    return 0;
}

static void add_results(struct burn_gpus *gpus, const struct matmul *matmul, enum matmul_type type,
                        unsigned bin)
{
    for (unsigned i = 0; i < gpus->n; i++) {
        const struct matmul_result *result = &matmul->gpus[i].result[type][matmul->group.all];
        const struct gpu_means means = gpu_average_get(&result->average);
        struct burn_gpu *gpu = &gpus->gpu[i];
        if (!gpu_set_has(&matmul->set, i) || !gpu->has[type])
            continue;
        gpu->bin[bin].work[type] += matmul_flops(&matmul->shape) * result->products * 1e-12;
        gpu->bin[bin].seconds[type] += result->seconds;
        burn_stat_add(&gpu->bin[bin].clock_mhz, means.clock_mhz);
        burn_stat_add(&gpu->bin[bin].power_w, means.power_w);
        burn_stat_add(&gpu->bin[bin].temperature_c, means.temperature_c);
        burn_stat_add(&gpu->slowed, means.slowed);
        for (unsigned r = 0; r < GPU_THROTTLES; r++)
            burn_stat_add(&gpu->throttle[r], means.throttle[r]);
    }
}

static bool has_type(const struct burn_gpus *gpus, unsigned type)
{
    for (unsigned i = 0; i < gpus->n; i++)
        if (gpus->gpu[i].has[type])
            return true;
    return false;
}

static bool has_time(const struct burn_gpus *gpus, const struct gpu_set *set)
{
    return gpu_set_left(set) && clock_now_ns() < gpus->time->end_ns;
}

static void *multiply(void *arg)
{
    struct burn_gpus *gpus = arg;
    struct matmul *matmul = gpus->parts[PRODUCTS].ctx.state;
    struct memory_test *memory = gpus->parts[MEMORY].ctx.state;
    const unsigned all = gpu_groups(matmul->set.n) - 1;
    while (has_time(gpus, &matmul->set)) {
        for (unsigned type = 0; type < MATMUL_TYPES && has_time(gpus, &matmul->set); type++) {
            unsigned bin = burn_bin(gpus->time, clock_now_ns());
            if (!has_type(gpus, type))
                continue;
            matmul_slice_run(matmul, (enum matmul_type)type, all, gpus->slice_s);
            add_results(gpus, matmul, (enum matmul_type)type, bin);
        }
        memory_test_pass(memory);
    }
    return NULL;
}

/* True if copies ran, and all were correct. */
static bool copy_once(struct burn_gpus *gpus, struct copy_job *job, const struct copy_point *point)
{
    copy_job_set_point(job, point);
    if (!job->nflows)
        return false;
    copy_job_run(job);
    /* Copies that did not begin together, such as on busy CPUs, are still correct. */
    gpus->set[COPIES].why = job->err;
    if (job->rc && job->rc != -ETIME)
        (void)gpu_set_drop(&gpus->set[COPIES], gpu_copy_selected(job->copy), job->rc);
    return !job->rc;
}

static void copy_links(struct burn_gpus *gpus, unsigned turn, unsigned bin)
{
    static const struct copy_point host = {
        .dir = COPY_BOTH, .mem = COPY_PINNED, .via = COPY_CE, .all = true};
    const struct copy_point peer = {.dir = COPY_SWAP, .via = COPY_CE, .all = true, .peer = turn};
    struct copy_job *job = copy_job_of(&gpus->parts[COPIES].ctx);
    if (copy_once(gpus, job, &host))
        for (unsigned i = 0; i < gpus->n; i++)
            if (gpu_set_has(&gpus->set[COPIES], i))
                burn_stat_add(&gpus->gpu[i].bin[bin].copies[BURN_HOST], job->gbps[i][0]);
    if (copy_once(gpus, job, &peer)) /* one rate for all flows together */
        for (unsigned i = 0; i < gpus->n; i++)
            if (gpu_set_has(&gpus->set[COPIES], i))
                burn_stat_add(&gpus->gpu[i].bin[bin].copies[BURN_PEER],
                              job->gbps[0][0] / job->nflows);
}

static void *copy_all(void *arg)
{
    struct burn_gpus *gpus = arg;
    for (unsigned turn = 0; has_time(gpus, &gpus->set[COPIES]); turn++)
        copy_links(gpus, turn, burn_bin(gpus->time, clock_now_ns()));
    return NULL;
}

void burn_gpus_warm_up(struct burn_gpus *gpus)
{
    struct matmul *matmul = gpus->n ? gpus->parts[PRODUCTS].ctx.state : NULL;
    struct burn_gpu ignored = {0};
    if (!matmul)
        return;
    for (unsigned type = 0; type < MATMUL_TYPES; type++)
        if (has_type(gpus, type))
            matmul_slice_run(matmul, (enum matmul_type)type, gpu_groups(matmul->set.n) - 1, warm_s);
    memory_test_pass(gpus->parts[MEMORY].ctx.state);
    copy_links(gpus, 0, 0);
    for (unsigned i = 0; i < gpus->n; i++)
        for (unsigned link = 0; link < BURN_LINKS; link++)
            gpus->gpu[i].bin[0].copies[link] = ignored.bin[0].copies[link];
}

static int start(struct burn_gpus *gpus, unsigned p, void *(*run)(void *), struct err *err)
{
    int rc = -pthread_create(&gpus->parts[p].thread, NULL, run, gpus);
    gpus->parts[p].runs = !rc;
    return rc ? err_set(err, rc, "cannot start a thread") : 0;
}

/* NaN if the driver does not count them. */
static double replays_of(const struct burn_gpus *gpus, unsigned gpu)
{
    static const unsigned field = NVML_FIELD_PCIE_REPLAYS;
    const struct matmul *matmul = gpus->parts[PRODUCTS].ctx.state;
    const struct nvml_api *nvml = nvml_driver(NULL);
    int64_t count = -1;
    if (nvml && matmul->gpus[gpu].sensors.device)
        nvml_read_counters(nvml, matmul->gpus[gpu].sensors.device, &field, 1, &count);
    return count < 0 ? (double)NAN : (double)count;
}

int burn_gpus_start(struct burn_gpus *gpus, const struct burn_time *time, struct err *err)
{
    gpus->time = time;
    for (unsigned i = 0; i < gpus->n; i++)
        gpus->gpu[i].replays = -replays_of(gpus, i);
    int rc = gpus->n ? start(gpus, PRODUCTS, multiply, err) : 0;
    return gpus->n && !rc ? start(gpus, COPIES, copy_all, err) : rc;
}

void burn_gpus_wait(struct burn_gpus *gpus)
{
    for (unsigned p = 0; p < PARTS && gpus->n; p++)
        if (gpus->parts[p].runs)
            (void)pthread_join(gpus->parts[p].thread, NULL);
    if (!gpus->n)
        return;
    const struct memory_test *memory = gpus->parts[MEMORY].ctx.state;
    gpus->set[PRODUCTS] = ((const struct matmul *)gpus->parts[PRODUCTS].ctx.state)->set;
    gpus->set[MEMORY] = memory->set;
    gpus->passes = memory->passes;
    for (unsigned i = 0; i < gpus->n; i++)
        gpus->gpu[i].replays += replays_of(gpus, i);
}

void burn_gpus_close(struct burn_gpus *gpus)
{
    for (unsigned p = PARTS; p-- > 0 && gpus->parts;)
        if (gpus->parts[p].open)
            bench_close(parts[p].bench, &gpus->parts[p].ctx);
}

#else

int burn_gpus_open(struct burn_gpus *gpus, struct bench_ctx *ctx)
{
    (void)gpus;
    return ctx->machine->ngpus
               ? err_set(ctx->err, -ENOTSUP, "this program was built without CUDA or cublasLt.h")
               : 0;
}

void burn_gpus_warm_up(struct burn_gpus *gpus)
{
    (void)gpus;
}

int burn_gpus_start(struct burn_gpus *gpus, const struct burn_time *time, struct err *err)
{
    (void)gpus, (void)time, (void)err;
    return 0;
}

void burn_gpus_wait(struct burn_gpus *gpus)
{
    (void)gpus;
}

void burn_gpus_close(struct burn_gpus *gpus)
{
    (void)gpus;
}

#endif
