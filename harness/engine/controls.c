#include "harness/engine/controls.h"

#ifdef CONTEND_HAVE_CUDA
static const bool have_cuda = true;
#else
static const bool have_cuda = false;
#endif

/* From the launch to the end; on GPUs the driver starts first. */
static const double cpu_s = 0.25, gpu_s = 1;

static bool is_measured(const struct result *result, const struct bench *bench)
{
    for (size_t i = 0; i < result->narms; i++)
        if (result->arms[i].bench == bench)
            return true;
    return false;
}

/* How many GPUs the arms use; a scan that is not `gang` uses all. */
static unsigned count_gpus(const struct topo *topo, const struct result *result)
{
    struct bitset used = {0};
    unsigned visible = topo_visible_gpus(topo);
    for (size_t i = 0; i < result->narms; i++) {
        const struct arm *arm = &result->arms[i];
        if (!device_infos[arm_device(result, arm)].on_gpus)
            continue;
        if (arm->bench->scan && !arm->bench->gang)
            return visible;
        for (unsigned w = 0; w < arm->plan.nworkers; w++)
            if (arm->plan.workers[w].gpu >= 0)
                bitset_set(&used, (unsigned)arm->plan.workers[w].gpu);
    }
    unsigned n = bitset_count(&used);
    return n < visible ? n : visible;
}

static int add(const struct bench *bench, unsigned workers, const struct run_options *options,
               const struct topo *topo, struct result *result, struct err *err)
{
    static const enum placement placement = PLACE_NONE;
    static const bool optional = true;
    struct arms_request request = {.bench = bench,
                                   .placements = &placement,
                                   .nplacements = 1,
                                   .optional = &optional,
                                   .workers = &workers,
                                   .nworkers = 1,
                                   .is_control = true};
    int rc = plan_options_apply(&options->plan, &request.plan, err);
    return rc ? rc : arms_add(topo, &request, result, err);
}

int controls_add(const struct bench *const *benches, const struct run_options *options,
                 const struct topo *topo, struct result *result, struct err *err)
{
    const struct bench *cpu = bench_find(benches, "canary");
    const struct bench *gpu = bench_find(benches, "gpu_canary");
    bool gpus_are_here = have_cuda && !topo->driver_too_old && !options->topo.fake_gpus;
    unsigned gpus = gpus_are_here ? count_gpus(topo, result) : 0;
    int rc = 0;
    if (options->no_control || options->ranks || result->variants) /* an ab pairs its rounds */
        return 0;
    bool with_gpus = gpu && gpus && !is_measured(result, gpu);
    if (cpu && !is_measured(result, cpu))
        rc = add(cpu, 1, options, topo, result, err);
    if (!rc && with_gpus)
        rc = add(gpu, gpus, options, topo, result, err);
    return rc;
}

double controls_seconds(const struct result *result)
{
    double sum_s = 0;
    for (size_t i = result_measured(result); i < result->narms; i++)
        sum_s += device_infos[arm_device(result, &result->arms[i])].on_gpus ? gpu_s : cpu_s;
    return sum_s;
}
