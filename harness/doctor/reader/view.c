#include "harness/doctor/reader/view.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/lib/array.h"

const char *const view_carried[] = {"NVIDIA_VISIBLE_DEVICES",
                                    "CUDA_VISIBLE_DEVICES",
                                    "CUDA_DEVICE_ORDER",
                                    "HIP_VISIBLE_DEVICES",
                                    "ROCR_VISIBLE_DEVICES",
                                    "GPU_DEVICE_ORDINAL",
                                    "ZE_AFFINITY_MASK",
                                    "RANK",
                                    "LOCAL_RANK",
                                    "GROUP_RANK",
                                    "NODE_RANK",
                                    "WORLD_SIZE",
                                    "LOCAL_WORLD_SIZE",
                                    "MASTER_ADDR",
                                    "MASTER_PORT",
                                    "NCCL_COMM_ID",
                                    "JAX_COORDINATOR_ADDRESS",
                                    "JAX_NUM_PROCESSES",
                                    "JAX_PROCESS_ID",
                                    "TF_CONFIG",
                                    NULL};

/* Share of one CPU: a process that wants less is no worker, and its waits do not matter. */
static const double busy_share = 0.2;
/* Share of one CPU that it must run: a process that slept and waited once is no worker either. */
static const double busy_oncpu_share = 0.01;

/* Share of the wall time: a task that wanted less does not count. */
static const double busy_task_share = 0.02;

void view_free(struct view *view)
{
    for (size_t i = 0; i < view->nprocesses; i++) {
        free(view->processes[i].tasks);
        free(view->processes[i].about);
        free(view->processes[i].command);
        free(view->processes[i].settings);
    }
    free(view->processes);
    free(view->masks);
    free(view->cpus);
    free(view->cgroups);
    *view = (struct view){0};
}

int view_mask(struct view *view, const struct bitset *mask)
{
    for (size_t i = view->nmasks; i-- > 0;) /* the newest is the most likely match */
        if (bitset_equal(&view->masks[i], mask))
            return (int)i;
    struct bitset *added = array_add(view->masks, view->nmasks, view->masks_capacity);
    if (!added)
        return -1;
    *added = *mask;
    return (int)view->nmasks - 1;
}

struct view_process *view_find(const struct view *view, int pid)
{
    size_t low = 0, high = view->nprocesses;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (view->processes[middle].pid < pid)
            low = middle + 1;
        else
            high = middle;
    }
    return low < view->nprocesses && view->processes[low].pid == pid ? &view->processes[low] : NULL;
}

const struct view_process *view_next_watched(const struct view *view, size_t *at)
{
    while (*at < view->nprocesses)
        if (view->processes[(*at)++].watched)
            return &view->processes[*at - 1];
    return NULL;
}

double view_oncpu_s(const struct view_process *process)
{
    double sum = 0;
    for (size_t i = 0; i < process->ntasks; i++)
        sum += process->tasks[i].oncpu_s;
    return sum;
}

double view_wait_s(const struct view_process *process)
{
    double sum = 0;
    for (size_t i = 0; i < process->ntasks; i++)
        sum += process->tasks[i].wait_s;
    return sum;
}

double view_wanted_s(double oncpu_s, double wait_s)
{
    return oncpu_s + (isnan(wait_s) ? 0 : wait_s);
}

void view_add_cpus(const struct view *view, const struct view_process *process, struct bitset *cpus)
{
    bool any = false;
    for (size_t i = 0; i < process->ntasks; i++) {
        const struct view_task *task = &process->tasks[i];
        if (task->mask < 0 ||
            view_wanted_s(task->oncpu_s, task->wait_s) < busy_task_share * view->wall_s)
            continue;
        bitset_or(cpus, &view->masks[task->mask]);
        any = true;
    }
    if (!any && process->mask >= 0)
        bitset_or(cpus, &view->masks[process->mask]);
}

double view_busy_s(const struct view *view, const struct bitset *cpus)
{
    double sum = 0;
    for (size_t i = 0; i < view->ncpus; i++) {
        const struct view_cpu *cpu = &view->cpus[i];
        if (bitset_test(cpus, cpu->os_cpu))
            sum += cpu->user_s + cpu->nice_s + cpu->system_s + cpu->irq_s;
    }
    return sum;
}

double view_idle_s(const struct view *view, const struct bitset *cpus)
{
    double sum = 0;
    for (size_t i = 0; i < view->ncpus; i++)
        if (bitset_test(cpus, view->cpus[i].os_cpu))
            sum += view->cpus[i].idle_s;
    return sum;
}

double view_steal_s(const struct view *view, const struct bitset *cpus)
{
    double sum = 0;
    for (size_t i = 0; i < view->ncpus; i++)
        if (bitset_test(cpus, view->cpus[i].os_cpu))
            sum += view->cpus[i].steal_s;
    return sum;
}

double view_unattributed_s(const struct view *view)
{
    double seen_s = 0;
    for (size_t i = 0; i < view->nprocesses; i++)
        seen_s += view->processes[i].cpu_s;
    return fmax(view_busy_s(view, &view->online) - seen_s, 0);
}

void view_allowed_cpus(const struct view *view, const struct view_process *process,
                       struct bitset *cpus)
{
    int at = process->cgroup[CGROUP_CPUSET];
    *cpus = view->online;
    for (; at >= 0; at = view->cgroups[at].parent)
        if (!bitset_empty(&view->cgroups[at].cpus)) {
            *cpus = view->cgroups[at].cpus;
            break;
        }
}

bool view_is_in(const struct view *view, const struct view_process *process, int kind,
                size_t cgroup)
{
    int at = process->cgroup[kind];
    while (at >= 0 && (size_t)at != cgroup)
        at = view->cgroups[at].parent;
    return at >= 0;
}

double view_quota(const struct view *view, const struct view_process *process, int *at)
{
    double least = NAN;
    *at = -1;
    for (int i = process->cgroup[CGROUP_CPU]; i >= 0; i = view->cgroups[i].parent)
        if (!isnan(view->cgroups[i].quota_cpus) &&
            (isnan(least) || view->cgroups[i].quota_cpus < least)) {
            least = view->cgroups[i].quota_cpus;
            *at = i;
        }
    return least;
}

double view_throttled_share(const struct view_cgroup *cgroup)
{
    double share = cgroup->throttled_periods / cgroup->periods;
    return cgroup->periods <= 0 ? 0 : share > 1 ? 1 : share; /* NaN stays NaN */
}

double view_most_throttled(const struct view *view, const struct view_process *process)
{
    double most = NAN;
    for (int i = process->cgroup[CGROUP_CPU]; i >= 0; i = view->cgroups[i].parent)
        if (!isnan(view->cgroups[i].quota_cpus))
            most = fmax(most, view_throttled_share(&view->cgroups[i]));
    return most;
}

bool view_is_throttled(const struct view *view, const struct view_process *process)
{
    static const double least = 0.1;
    return view_most_throttled(view, process) >= least;
}

const char *view_setting(const struct view_process *process, const char *name)
{
    size_t length = strlen(name);
    for (size_t at = 0; at < process->settings_size;) {
        const char *text = process->settings + at;
        if (strncmp(text, name, length) == 0 && text[length] == '=')
            return text + length + 1;
        at += strlen(text) + 1;
    }
    return NULL;
}

double view_spin_share(const struct view_process *process)
{
    enum { LEAST = 50, LEAST_OF_NONE = 20 };
    static const double calls_least = 0.01, spins_least = 0.1;
    if (process->samples < (process->spins ? LEAST : LEAST_OF_NONE))
        return NAN;
    bool waits = process->calls >= calls_least * process->samples ||
                 process->spins >= spins_least * process->samples;
    return (double)(process->spins + (waits ? process->missing_samples : 0)) /
           (process->samples + process->missing_samples);
}

bool view_is_busy(const struct view *view, const struct view_process *process)
{
    double oncpu_s = view_oncpu_s(process);
    return process->watched && oncpu_s >= busy_oncpu_share * view->wall_s &&
           view_wanted_s(oncpu_s, view_wait_s(process)) >= busy_share * view->wall_s;
}

const struct view_process *view_lead(const struct view *view, const struct view_process *process)
{
    const struct view_process *lead = process;
    /* If a parent has ended and its pid is reused below, parents form a loop: the count ends it. */
    for (size_t hops = 0; hops < view->nprocesses; hops++) {
        const struct view_process *parent = view_find(view, lead->parent);
        if (!parent || parent == lead || !view_is_busy(view, parent))
            break;
        lead = parent;
    }
    return lead;
}
