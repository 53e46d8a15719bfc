#include "harness/verdict/odd.h"

#include <string.h>

#include "harness/lib/str.h"
#include "harness/lib/text.h"
#include "harness/machine/gpu_health.h"
#include "harness/machine/gpu_watch.h"
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

/* `contend info` reports the other findings on GPU health. */
static bool matters(const struct finding *finding)
{
    static const char *const ids[] = {"gpu_processes", "gpu_compute_mode", "gpu_mig"};
    for (size_t i = 0; i < sizeof(ids) / sizeof(ids[0]); i++)
        if (strcmp(finding->id, ids[i]) == 0)
            return true;
    return false;
}

void gpus_find(const struct topo *topo, const struct result *result, struct findings *findings)
{
    unsigned n = topo && uses_gpus(result) ? topo_visible_gpus(topo) : 0;
    struct findings all = {0};
    for (unsigned i = 0; i < n; i++)
        if (topo->gpus[i].health &&
            (!i || strcmp(topo->gpus[i].pci_bdf, topo->gpus[i - 1].pci_bdf) != 0))
            (void)gpu_health_judge(topo->gpus[i].health, topo_gpu_name(&topo->gpus[i]), &all, NULL);
    for (size_t i = 0; i < all.n; i++)
        if (matters(&all.all[i]))
            findings_put(findings, &all.all[i]);
    findings->failed = findings->failed || all.failed;
    findings_free(&all);
}

/* "GPU 2 (0000:00:08.0)" for a GPU of this machine, else its address and host. */
static const char *name_gpu(const struct topo *topo, const struct gpu_change *change)
{
    const char *text =
        str_fmt("GPU %s%s%s", change->pci_bdf, change->host[0] ? " of " : "", change->host);
    for (unsigned i = 0; topo && !change->host[0] && i < topo->ngpus; i++)
        if (strcmp(topo->gpus[i].pci_bdf, change->pci_bdf) == 0)
            text = topo_gpu_name(&topo->gpus[i]);
    return text;
}

static bool is_same_gpu(const struct gpu_change *a, const struct gpu_change *b)
{
    return strcmp(a->pci_bdf, b->pci_bdf) == 0 && strcmp(a->host, b->host) == 0;
}

/* The findings of one kind about a GPU, over the rounds of all arms. */
struct gathered {
    struct gpu_change sum;
    unsigned rounds, most;
    char arms[200];
};

/* Adds the changes of this kind. False if there were none. */
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
    if (any)
        text_append(all->arms, sizeof(all->arms), "; ", "%s", statuses_name_arm(result, arm));
}

static void add_changes(const struct topo *topo, const struct result *result,
                        const struct gpu_change *gpu, struct findings *findings)
{
    const char *evidence;
    const char *subject = name_gpu(topo, gpu);
    for (int kind = 0; kind < GPU_KINDS; kind++) {
        struct gathered all = {.sum = gpu_change_only(gpu, GPU_KINDS)};
        for (size_t a = 0; a < result->narms; a++)
            gather_arm(&all, result, &result->arms[a], gpu, (enum gpu_kind)kind);
        evidence = str_fmt("%u of %u launches", all.rounds, all.most);
        if (all.rounds)
            (void)gpu_change_judge(&all.sum, subject, all.arms, evidence, findings, NULL);
    }
}

/* True if an earlier observation has the GPU. */
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

void gpus_find_changes(const struct topo *topo, const struct result *result,
                       struct findings *findings)
{
    for (size_t a = 0; a < result->narms; a++)
        for (size_t o = 0; o < result->arms[a].nobservations; o++)
            for (unsigned i = 0; i < result->arms[a].observations[o].ngpus; i++)
                if (!is_met(result, &result->arms[a].observations[o].gpus[i]))
                    add_changes(topo, result, &result->arms[a].observations[o].gpus[i], findings);
}
