#include <stdlib.h>

#include "harness/doctor/reader/reader_parts.h"
#include "harness/lib/sys/proc.h"
#include "harness/machine/processes.h"

/* Share of a process's memory on its main GPU: less memory on another GPU is a stray context. */
static const double stray_share = 0.25;

static void find_most(struct view *view, const struct gpu_users *users)
{
    for (unsigned i = 0; i < users->n; i++) {
        struct view_process *process = view_find(view, (int)users->pids[i]);
        if (process && users->bytes[i] != UINT64_MAX && users->bytes[i] > process->gpu_bytes)
            process->gpu_bytes = users->bytes[i];
    }
}

static void add_gpu(struct reader *reader, const struct gpu_users *users)
{
    struct view *view = &reader->view;
    struct view_gpu *gpu = &view->gpus[view->ngpus];
    struct bitset near;
    *gpu = (struct view_gpu){.cpus = users->cpus};
    proc_copy_text(gpu->pci_bdf, sizeof(gpu->pci_bdf), users->pci_bdf);
    proc_copy_text(gpu->name, sizeof(gpu->name), users->name);
    /* Prefers sysfs: on virtual machines NVML says that all CPUs are near. */
    if (proc_read_list(reader->root, &near, "/sys/bus/pci/devices/%s/local_cpulist", gpu->pci_bdf))
        gpu->cpus = near;
    for (unsigned i = 0; i < users->n; i++) {
        struct view_process *process = view_find(view, (int)users->pids[i]);
        if (process && (double)users->bytes[i] >= stray_share * (double)process->gpu_bytes)
            process->gpus |= UINT64_C(1) << view->ngpus;
    }
    view->ngpus++;
}

int reader_read_gpus(struct reader *reader, size_t *users, struct err *err)
{
    struct gpu_users *all;
    size_t n;
    *users = 0;
    int rc = gpu_users_read(&all, &n, err);
    if (!rc)
        reader->view.ngpus = 0;
    for (size_t i = 0; !rc && i < reader->view.nprocesses; i++)
        reader->view.processes[i].gpus = reader->view.processes[i].gpu_bytes = 0;
    for (size_t i = 0; !rc && i < n; i++)
        find_most(&reader->view, &all[i]);
    for (size_t i = 0; !rc && i < n && reader->view.ngpus < VIEW_GPUS_MAX; i++)
        add_gpu(reader, &all[i]);
    for (size_t i = 0; !rc && i < reader->view.nprocesses; i++)
        *users += reader->view.processes[i].gpus != 0;
    free(all);
    return rc;
}
