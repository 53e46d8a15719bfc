#include "harness/cmd/run_warn.h"

#include <string.h>

#include "harness/gpu/health.h"
#include "harness/machine/topo_gpu.h"
#include "harness/run/arms.h"
#include "harness/sys/log.h"

static bool uses_gpus(const struct result *result)
{
    for (size_t i = 0; i < result->narms; i++) {
        enum device device = arm_device(result, &result->arms[i]);
        if ((device == DEVICE_CUDA || device == DEVICE_NCCL) &&
            result->arms[i].plan.status == PLAN_OK)
            return true;
    }
    return false;
}

/* What makes a GPU another one than a run takes it for, before it starts. */
static void warn_about_gpu(const struct topo_gpu *gpu)
{
    struct gpu_finding findings[GPU_FINDINGS_MAX];
    size_t n = gpu->health ? gpu_health_judge(gpu->health, findings) : 0;
    for (size_t i = 0; i < n; i++)
        if (findings[i].concern == GPU_CONCERN_PROCESSES ||
            findings[i].concern == GPU_CONCERN_COMPUTE_MODE ||
            findings[i].concern == GPU_CONCERN_MIG)
            log_warn("GPU %d (%s): %s", gpu->cuda_ordinal, gpu->pci_bdf, findings[i].text);
}

bool run_warn_gpus(const struct topo *topo, const struct result *result)
{
    unsigned n = topo_visible_gpus(topo);
    if (!uses_gpus(result))
        return false;
    for (unsigned i = 0; i < n; i++)
        if (!i || strcmp(topo->gpus[i].pci_bdf, topo->gpus[i - 1].pci_bdf) != 0)
            warn_about_gpu(&topo->gpus[i]);
    return true;
}
