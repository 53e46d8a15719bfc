#include "harness/judge/gpus.h"

#include <string.h>

#include "harness/gpu/health.h"
#include "harness/machine/topo_gpu.h"

static bool uses_gpus(const struct result *result)
{
    for (size_t i = 0; i < result->narms; i++) {
        const struct arm *arm = &result->arms[i];
        if (device_infos[arm_device(result, arm)].on_gpus && arm->plan.status == PLAN_OK)
            return true;
    }
    return false;
}

/* The rest of its health is told by `contend topo`. */
static bool matters(const struct finding *finding)
{
    static const char *const ids[] = {"gpu_processes", "gpu_compute_mode", "gpu_mig"};
    for (size_t i = 0; i < sizeof(ids) / sizeof(ids[0]); i++)
        if (strcmp(finding->id, ids[i]) == 0)
            return true;
    return false;
}

static int add_gpu(const struct topo_gpu *gpu, struct findings *findings, struct err *err)
{
    struct findings all = {0};
    char name[64];
    int rc = 0;
    if (gpu->health)
        rc = gpu_health_judge(gpu->health, topo_gpu_name(gpu, name, sizeof(name)), &all, err);
    for (size_t i = 0; i < all.n && !rc; i++)
        if (matters(&all.all[i]))
            rc = findings_add(findings, &all.all[i], err);
    findings_free(&all);
    return rc;
}

int gpus_find(const struct topo *topo, const struct result *result, struct findings *findings,
              struct err *err)
{
    unsigned n = topo && uses_gpus(result) ? topo_visible_gpus(topo) : 0;
    int rc = 0;
    for (unsigned i = 0; i < n && !rc; i++)
        if (!i || strcmp(topo->gpus[i].pci_bdf, topo->gpus[i - 1].pci_bdf) != 0)
            rc = add_gpu(&topo->gpus[i], findings, err);
    return rc;
}
