#include "harness/verdict/odd/gpus.h"

#include <stdio.h>
#include <string.h>

#include "harness/lib/base/text.h"
#include "harness/machine/gpu/health.h"
#include "harness/machine/gpu/watch.h"
#include "harness/machine/topo/topo_gpu.h"
#include "harness/verdict/odd/statuses.h"

static bool uses_gpus(const struct result *result)
{
    for (size_t i = 0; i < result->narms; i++) {
        const struct arm *arm = &result->arms[i];
        if (device_infos[arm_device(result, arm)].on_gpus && arm->plan.status == PLAN_OK)
            return true;
    }
    return false;
}

/* The rest of its health is told by `contend info`. */
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

/* "GPU 2 (0000:00:08.0)", where it is one of this machine, else with its host. */
static void name_gpu(const struct topo *topo, const struct gpu_change *change, char *buf,
                     size_t size)
{
    (void)snprintf(buf, size, "GPU %s%s%s", change->pci_bdf, change->host[0] ? " of " : "",
                   change->host);
    for (unsigned i = 0; topo && !change->host[0] && i < topo->ngpus; i++)
        if (strcmp(topo->gpus[i].pci_bdf, change->pci_bdf) == 0)
            (void)topo_gpu_name(&topo->gpus[i], buf, size);
}

static bool is_same_gpu(const struct gpu_change *a, const struct gpu_change *b)
{
    return strcmp(a->pci_bdf, b->pci_bdf) == 0 && strcmp(a->host, b->host) == 0;
}

/* What there is to say of a GPU, of one kind, over the rounds of all arms. */
struct gathered {
    struct gpu_change sum;
    unsigned rounds, most;
    char arms[200];
};

/* Adds what there is to say of it. Whether there was anything. */
static bool gather(struct gathered *all, const struct gpu_change *change, enum gpu_kind kind)
{
    struct findings found = {0};
    struct gpu_change part = gpu_change_only(change, kind);
    (void)gpu_change_judge(&part, "", "", "", &found, NULL);
    bool any = found.n > 0;
    findings_free(&found);
    all->most++;
    all->rounds += any;
    if (any)
        gpu_change_add(&all->sum, &part);
    return any;
}

static void gather_arm(struct gathered *all, const struct result *result, const struct arm *arm,
                       const struct gpu_change *gpu, enum gpu_kind kind)
{
    bool any = false;
    for (size_t o = 0; o < arm->nobservations; o++)
        for (unsigned i = 0; i < arm->observations[o].ngpus; i++)
            if (is_same_gpu(&arm->observations[o].gpus[i], gpu))
                any |= gather(all, &arm->observations[o].gpus[i], kind);
    char name[160];
    if (any)
        text_append(all->arms, sizeof(all->arms), "; ", "%s",
                    statuses_name_arm(result, arm, name, sizeof(name)));
}

static int add_changes(const struct topo *topo, const struct result *result,
                       const struct gpu_change *gpu, struct findings *findings, struct err *err)
{
    char subject[128], evidence[64];
    int rc = 0;
    name_gpu(topo, gpu, subject, sizeof(subject));
    for (int kind = 0; kind < GPU_KINDS && !rc; kind++) {
        struct gathered all = {.sum = gpu_change_only(gpu, GPU_KINDS)};
        for (size_t a = 0; a < result->narms; a++)
            gather_arm(&all, result, &result->arms[a], gpu, (enum gpu_kind)kind);
        (void)snprintf(evidence, sizeof(evidence), "%u of %u launches", all.rounds, all.most);
        if (all.rounds)
            rc = gpu_change_judge(&all.sum, subject, all.arms, evidence, findings, err);
    }
    return rc;
}

/* Whether an earlier observation has the GPU. */
static bool is_met(const struct result *result, const struct gpu_change *gpu)
{
    for (size_t a = 0; a < result->narms; a++)
        for (size_t o = 0; o < result->arms[a].nobservations; o++)
            for (unsigned i = 0; i < result->arms[a].observations[o].ngpus; i++) {
                const struct gpu_change *other = &result->arms[a].observations[o].gpus[i];
                if (other == gpu)
                    return false;
                if (is_same_gpu(other, gpu))
                    return true;
            }
    return false;
}

int gpus_find_changes(const struct topo *topo, const struct result *result,
                      struct findings *findings, struct err *err)
{
    int rc = 0;
    for (size_t a = 0; a < result->narms; a++)
        for (size_t o = 0; o < result->arms[a].nobservations; o++)
            for (unsigned i = 0; i < result->arms[a].observations[o].ngpus && !rc; i++) {
                const struct gpu_change *gpu = &result->arms[a].observations[o].gpus[i];
                if (!is_met(result, gpu))
                    rc = add_changes(topo, result, gpu, findings, err);
            }
    return rc;
}
