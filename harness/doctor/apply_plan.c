#include "harness/doctor/apply_plan.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>

#include "harness/doctor/checks/cpu_allocator.h"
#include "harness/lib/sys/affinity.h"

size_t apply_find_leads(const struct view *view, const struct view_process **leads)
{
    size_t n = 0;
    for (size_t i = 0; i < view->nprocesses; i++) {
        const struct view_process *process = &view->processes[i];
        if (view_is_busy(view, process) && view_lead(view, process) == process)
            leads[n++] = process;
    }
    return n;
}

size_t apply_worker_of(const struct view *view, const struct view_process *process,
                       const struct view_process *const *leads, size_t n)
{
    for (size_t hops = 0; process && hops < view->nprocesses; hops++) {
        for (size_t w = 0; w < n; w++)
            if (leads[w] == process)
                return w;
        process = view_find(view, process->parent);
    }
    return n;
}

/* A worker and the position of its GPU. */
struct placed {
    const struct view_process *lead;
    size_t index; /* original position, to keep the sort stable */
    int gpu;      /* in topo.gpus; -1 = none or unknown */
    int first;    /* index in topo.cpus of the first CPU near the GPU */
};

static int by_gpu(const void *a, const void *b)
{
    const struct placed *one = a, *other = b;
    if (one->first != other->first)
        return one->first < other->first ? -1 : 1;
    if (one->gpu != other->gpu)
        return one->gpu < other->gpu ? -1 : 1;
    return one->index < other->index ? -1 : 1;
}

/* INT_MAX if no CPU is near the GPU or its node is unknown: such workers come last. */
static int first_near(const struct topo *topo, int gpu)
{
    for (unsigned i = 0; gpu >= 0 && i < topo->ncpus; i++)
        if (topo->gpus[gpu].node >= 0 &&
            topo_own_node(topo, &topo->cpus[i]) == topo->gpus[gpu].node)
            return (int)i;
    return INT_MAX;
}

/* Also fills gpus[n]. */
static int sort_leads(const struct view *view, const struct topo *topo,
                      const struct view_process **leads, size_t n, int *gpus, struct err *err)
{
    struct placed *placed = calloc(n + 1, sizeof(*placed));
    uint64_t *used = calloc(n + 1, sizeof(*used));
    for (size_t i = 0; placed && used && i < view->nprocesses; i++)
        used[apply_worker_of(view, &view->processes[i], leads, n)] |= view->processes[i].gpus;
    for (size_t w = 0; placed && used && w < n; w++) {
        int gpu = allocate_gpu(view, topo, used[w]);
        placed[w] = (struct placed){leads[w], w, gpu, first_near(topo, gpu)};
    }
    if (placed && used)
        qsort(placed, n, sizeof(*placed), by_gpu);
    for (size_t w = 0; placed && used && w < n; w++) {
        leads[w] = placed[w].lead;
        gpus[w] = placed[w].gpu;
    }
    int rc = placed && used ? 0 : err_set(err, -ENOMEM, "out of memory for %zu workers", n);
    free(placed);
    free(used);
    return rc;
}

/* Removes busy CPUs that neither this process's initial mask nor the jobs use: they may belong to
 * another user. Idle ones stay. */
static void keep_usable(const struct view *view, const struct view_process *const *leads, size_t n,
                        struct bitset *cpus)
{
    struct bitset usable = *affinity_at_start();
    for (size_t w = 0; w < n; w++)
        view_add_cpus(view, leads[w], &usable);
    for (int cpu = bitset_next(cpus, 0); cpu >= 0; cpu = bitset_next(cpus, (unsigned)cpu + 1)) {
        struct bitset one = {0};
        bitset_set(&one, (unsigned)cpu);
        if (!bitset_test(&usable, (unsigned)cpu) && !allocate_is_idle(view, &one))
            bitset_andnot(cpus, &one);
    }
}

static int find_cpus(const struct view *view, const struct topo *topo,
                     const struct view_process *const *leads, size_t n, struct bitset *cpus,
                     struct err *err)
{
    topo_allowed_cpus(topo, cpus);
    for (size_t w = 0; w < n; w++) {
        struct bitset allowed;
        view_allowed_cpus(view, leads[w], &allowed);
        bitset_and(cpus, &allowed);
    }
    keep_usable(view, leads, n, cpus);
    return bitset_empty(cpus)
               ? err_set(err, -EINVAL,
                         "the processes have no allowed CPU in common: bind them one by one")
               : 0;
}

int apply_parse_placement(const char *name, enum placement *placement, struct err *err)
{
    int rc = placement_parse(name, placement, err);
    if (!rc && !placement_infos[*placement].pinned)
        rc = err_set(err, -EINVAL, "placement '%s' binds nothing", name);
    return rc;
}

int apply_plan(const struct view *view, const struct topo *topo, const struct view_process **leads,
               size_t n, const char *placement, struct plan *plan, struct err *err)
{
    struct plan_request request = {.workers = (unsigned)n};
    int *gpus = calloc(n + 1, sizeof(*gpus));
    int rc = gpus ? apply_parse_placement(placement, &request.placement, err)
                  : err_set(err, -ENOMEM, "out of memory for %zu workers", n);
    if (!rc)
        rc = sort_leads(view, topo, leads, n, gpus, err);
    if (!rc)
        rc = find_cpus(view, topo, leads, n, &request.cpus, err);
    request.gpus = gpus;
    if (!rc)
        rc = plan_make(topo, &request, plan, err);
    if (!rc && plan->status == PLAN_SKIPPED)
        rc = err_set(err, -EINVAL, "%s", plan->reason);
    free(gpus);
    return rc == -ENOSPC ? -EINVAL : rc;
}
