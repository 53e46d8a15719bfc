#include "harness/engine/observe.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "harness/engine/arms.h"
#include "harness/engine/job.h"
#include "harness/engine/job_plans.h"

/* The node whose memory CPUs and GPUs of node `own` (an index) use; -1 = unknown. */
static int memory_of(const struct topo *topo, int own)
{
    int node = own < 0 ? -1 : topo_memory_node(topo, own);
    return node < 0 ? -1 : (int)topo->nodes[node].os_node;
}

static void describe_gpus(const struct topo *topo, struct bench_machine *machine)
{
    unsigned visible = topo_visible_gpus(topo);
    unsigned most = sizeof(machine->gpus) / sizeof(machine->gpus[0]);
    machine->ngpus = visible < most ? visible : most;
    for (unsigned i = 0; i < machine->ngpus; i++) {
        const struct topo_gpu *gpu = &topo->gpus[i];
        memcpy(machine->gpus[i].pci_bdf, gpu->pci_bdf, sizeof(gpu->pci_bdf));
        machine->gpus[i].os_node = memory_of(topo, gpu->node);
    }
}

/* The part of the topology that benchmarks see; each worker keeps only the CPUs of its plan. */
static void describe_machine(const struct topo *topo, struct bench_machine *machine)
{
    for (unsigned i = 0; i < topo->ncpus && machine->ncpus < BITSET_BITS; i++) {
        const struct topo_cpu *cpu = &topo->cpus[i];
        int os_node = memory_of(topo, topo_own_node(topo, cpu));
        if (cpu->allowed)
            machine->cpus[machine->ncpus++] =
                (struct bench_cpu){cpu->os_cpu, cpu->core, cpu->llc, cpu->package, os_node};
    }
    unsigned most = sizeof(machine->nodes) / sizeof(machine->nodes[0]);
    for (unsigned i = 0; i < topo->nnodes && machine->nnodes < most; i++)
        if (topo->nodes[i].allowed)
            machine->nodes[machine->nnodes++] = (struct bench_node){topo->nodes[i].os_node};
    most = sizeof(machine->caches) / sizeof(machine->caches[0]);
    for (unsigned i = 0; i < topo->ncaches && machine->ncaches < most; i++)
        machine->caches[machine->ncaches++] =
            (struct bench_cache){topo->caches[i].level, topo->caches[i].size_bytes};
    describe_gpus(topo, machine);
}

void observe_write_orders(struct observer *o)
{
    const struct observe_config *config = o->config;
    o->shared->warmup_s = config->warmup_s;
    o->shared->least_warmup_s = config->least_warmup_s;
    /* A single worker has no other workers to settle with. One whose only step is the measurement
     * waits for the dose alone. */
    bool joint = o->nworkers > 1 || o->arm->workers > 1;
    bool settles = !bench_is_whole(o->arm->bench) || o->arm->plan.has_dose;
    o->shared->settle_s = joint && settles ? config->settle_s : 0;
    o->shared->measure_s = config->measure_s;
    bool sooner = o->arm->limit_s > 0 && o->arm->limit_s < config->limit_s;
    o->shared->limit_s = sooner ? o->arm->limit_s : config->limit_s;
    if (config->cgroups)
        (void)snprintf(o->shared->groups, sizeof(o->shared->groups), "%s",
                       config->cgroups->groups.dir);
    describe_machine(config->topo, &o->shared->machine);
    for (unsigned i = 0; i < o->nworkers; i++) {
        struct shared_worker *worker = &o->shared->worker[i];
        bool background = i >= o->foreground;
        unsigned index = o->first + i;
        const struct neighbours *jobs = background ? NULL : arm_jobs(config->run, o->arm);
        const struct neighbour *job = jobs ? neighbour_of(jobs, o->arm->alone, i, &index) : NULL;
        const struct bench *bench = background ? config->run->background
                                    : job      ? job->bench
                                               : o->arm->bench;
        const void *load = o->arm->plan.has_dose ? &o->arm->dose : config->background_params;
        const void *params = background ? load : o->arm->params;
        unsigned slot =
            background ? o->first_background + i - o->foreground : o->slot + o->first + i;
        worker->plan = o->arm->plan.workers[slot];
        worker->index = background ? i - o->foreground : index;
        worker->team = background ? o->nworkers - o->foreground
                       : job      ? (unsigned)job->workers
                                  : o->arm->workers;
        worker->planned_workers = background ? worker->team : o->arm->planned_workers;
        worker->start_cpus = config->run->kept_cpus;
        worker->device = bench_device(bench, config->run->device, config->run->transport);
        worker->seed = config->run->seed + slot;
        worker->round_seed = arms_round_seed(config->run->seed, o->round);
        worker->step_ops = bench->one_shot; /* a whole run that is cut off counts as one */
        (void)snprintf(worker->bench, sizeof(worker->bench), "%s", bench->name);
        assert(bench->params_size <= sizeof(worker->params));
        if (params)
            memcpy(worker->params, params, bench->params_size);
        if (worker->plan.gpu >= 0)
            memcpy(worker->pci_bdf, config->topo->gpus[worker->plan.gpu].pci_bdf,
                   sizeof(worker->pci_bdf));
    }
}

/* Appends the GPU unless it is in the list. Returns the new length. */
static unsigned add_gpu(char (*pci_bdfs)[PCI_BDF_MAX], unsigned n, const char *pci_bdf)
{
    for (unsigned i = 0; i < n; i++)
        if (strcmp(pci_bdfs[i], pci_bdf) == 0)
            return n;
    (void)snprintf(pci_bdfs[n], PCI_BDF_MAX, "%s", pci_bdf);
    return n + 1;
}

int observe_watch_gpus(struct observer *o, struct err *err)
{
    const struct bench_machine *machine = &o->shared->machine;
    const struct bench *bench = o->arm->bench;
    unsigned n = 0, most = machine->ngpus + o->nworkers;
    char(*pci_bdfs)[PCI_BDF_MAX] = calloc(most, sizeof(*pci_bdfs));
    if (!pci_bdfs)
        return err_set(err, -ENOMEM, "no memory to watch GPUs");
    bool on_gpus = device_infos[arm_device(o->config->run, o->arm)].on_gpus;
    for (unsigned i = 0; on_gpus && i < o->nworkers; i++)
        if (o->shared->worker[i].pci_bdf[0])
            n = add_gpu(pci_bdfs, n, o->shared->worker[i].pci_bdf);
    for (unsigned i = 0; on_gpus && bench->scan && !bench->gang && i < machine->ngpus; i++)
        n = add_gpu(pci_bdfs, n, machine->gpus[i].pci_bdf);
    int rc = gpu_watch_open(&o->watch, (const char(*)[PCI_BDF_MAX])pci_bdfs, n, err);
    free(pci_bdfs);
    return rc;
}

int observe_open(struct observer *o, struct err *err)
{
    o->shared_fd = o->event_fd = -1;
    o->child = calloc(o->nworkers, sizeof(*o->child));
    if (!o->child)
        return err_set(err, -ENOMEM, "no memory for %u workers", o->nworkers);
    struct kept *kept = o->kept;
    if (kept && kept->shared) {
        o->shared = kept->shared;
        o->shared_fd = kept->shared_fd;
        o->event_fd = kept->event_fd;
        return shared_clear(o->shared, o->shared_fd, err);
    }
    o->shared = shared_create(kept ? kept->n : o->nworkers, &o->shared_fd, err);
    if (!o->shared)
        return err ? err->code : -ENOMEM;
    o->event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (o->event_fd < 0)
        return err_sys(err, -errno, "cannot create an eventfd");
    atomic_store(&o->shared->event_fd, o->event_fd);
    if (kept) {
        kept->shared = o->shared;
        kept->shared_fd = o->shared_fd;
        kept->event_fd = o->event_fd;
        process_note_known(&kept->known);
    }
    o->shared->barrier[0].relay = o->job != NULL;
    return o->job ? job_watch_open(o->job, &o->shared->barrier[0], err) : 0;
}

void observe_close(struct observer *o)
{
    if (o->job)
        job_watch_close(o->job);
    if (o->config->cgroups)
        cgroups_clear(o->config->cgroups, o->nworkers);
    free(o->child);
    if (o->kept)
        return;
    if (o->shared_fd >= 0)
        (void)close(o->shared_fd);
    if (o->stuck)
        return; /* the worker that is stuck in MPI still uses the rest */
    if (o->event_fd >= 0)
        (void)close(o->event_fd);
    shared_destroy(o->shared);
}

void observe_select_workers(struct observer *o)
{
    o->first_background = o->arm->planned_workers;
    if (!o->job) {
        o->foreground = o->arm->workers;
        o->nworkers = o->foreground + arm_background(o->arm);
        return;
    }
    o->foreground = 1;
    o->first = o->job->world.rank;
    o->nworkers = 1 + job_plan_background(o->job, o->arm, &o->first_background);
}
