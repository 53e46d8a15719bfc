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

/* What makes a GPU another one than a run takes it for. */
static bool matters(const struct finding *finding)
{
    static const char *const ids[] = {"gpu_processes", "gpu_compute_mode", "gpu_mig"};
    for (size_t i = 0; i < sizeof(ids) / sizeof(ids[0]); i++)
        if (strcmp(finding->id, ids[i]) == 0)
            return true;
    return false;
}

static int warn_about_gpu(const struct topo_gpu *gpu, struct findings *findings, struct err *err)
{
    struct findings all = {0};
    char name[64];
    int rc = 0;
    if (gpu->health)
        rc = gpu_health_judge(gpu->health, topo_gpu_name(gpu, name, sizeof(name)), &all, err);
    for (size_t i = 0; i < all.n && !rc; i++) {
        if (!matters(&all.all[i]))
            continue;
        log_warn("%s: %s", all.all[i].subject, all.all[i].sentence);
        rc = findings_add(findings, &all.all[i], err);
    }
    findings_free(&all);
    return rc;
}

bool run_warn_gpus(const struct topo *topo, const struct result *result, struct findings *findings)
{
    struct err err;
    unsigned n = topo_visible_gpus(topo);
    int rc = 0;
    if (!uses_gpus(result))
        return false;
    for (unsigned i = 0; i < n && !rc; i++)
        if (!i || strcmp(topo->gpus[i].pci_bdf, topo->gpus[i - 1].pci_bdf) != 0)
            rc = warn_about_gpu(&topo->gpus[i], findings, &err);
    if (rc)
        log_warn("GPUs may be busy or in another mode: %s", err.msg);
    return true;
}
