/* Memory pressure of the cgroups of workers and of the whole machine. Declared in host.h. */
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "harness/doctor/reader/host.h"
#include "harness/lib/sys/proc.h"

/* Indexes of host_memory.then. */
enum { SOME, REFAULTS, KILLS, SCANS, COUNTERS };

static double sum_known(double a, double b)
{
    return isnan(a) ? b : isnan(b) ? a : a + b;
}

/* Refaults of anonymous and file pages. Before Linux 5.9, one counter has both. */
static double read_refaults(const char *root, const char *dir, const char *file)
{
    double sum =
        sum_known(proc_read_count(root, "workingset_refault_anon", ' ', "%s/%s", dir, file),
                  proc_read_count(root, "workingset_refault_file", ' ', "%s/%s", dir, file));
    return isnan(sum) ? proc_read_count(root, "workingset_refault", ' ', "%s/%s", dir, file) : sum;
}

static void read_whole(const char *root, double counters[COUNTERS])
{
    counters[SOME] = proc_read_pressure_s(root, "/proc/pressure/memory");
    counters[REFAULTS] = read_refaults(root, "/proc", "vmstat");
    counters[KILLS] = proc_read_count(root, "oom_kill", ' ', "/proc/vmstat");
    /* Reclaim within a cgroup, or on request, has counters of its own. */
    counters[SCANS] = sum_known(proc_read_count(root, "pgscan_kswapd", ' ', "/proc/vmstat"),
                                proc_read_count(root, "pgscan_direct", ' ', "/proc/vmstat"));
}

static void read_group(const char *root, const char *dir, double counters[COUNTERS])
{
    char path[PATH_MAX];
    (void)snprintf(path, sizeof(path), "%s/memory.pressure", dir);
    counters[SOME] = proc_read_pressure_s(root, path);
    counters[REFAULTS] = read_refaults(root, dir, "memory.stat");
    counters[KILLS] = proc_read_count(root, "oom_kill", ' ', "%s/memory.events", dir);
    if (isnan(counters[KILLS])) /* version 1 */
        counters[KILLS] = proc_read_count(root, "oom_kill", ' ', "%s/memory.oom_control", dir);
    counters[SCANS] = NAN;
}

static double least_limit(const struct cgroup_memory *memory)
{
    return fmin(memory->high_bytes, memory->limit_bytes);
}

static void read_counters(const struct host *host, const struct host_memory *memory,
                          double counters[COUNTERS])
{
    if (memory->path[0])
        read_group(host->root, memory->path, counters);
    else
        read_whole(host->root, counters);
}

/* Ignores groups beyond HOST_MEMORIES_MAX. */
static void add_group(struct host *host, const char *path)
{
    for (size_t i = 0; i < host->nmemories; i++)
        if (strcmp(host->memories[i].path, path) == 0)
            return;
    if (host->nmemories == HOST_MEMORIES_MAX)
        return;
    struct host_memory *memory = &host->memories[host->nmemories++];
    *memory = (struct host_memory){.limit_bytes = NAN};
    proc_copy_text(memory->path, sizeof(memory->path), path);
    read_counters(host, memory, memory->then);
}

void host_mark_memory(const struct view *view, struct host *host)
{
    add_group(host, "");
    for (size_t i = 0; i < view->nprocesses; i++) {
        const struct view_process *process = &view->processes[i];
        int at = process->cgroup[CGROUP_MEMORY];
        if (!process->watched || at < 0)
            continue;
        /* The root is the whole machine, unless it has a limit: a container's. */
        const struct view_cgroup *group = &view->cgroups[at];
        const struct cgroup_memory memory = cgroup_read_memory(host->root, group->path);
        if (group->parent >= 0 || !isnan(least_limit(&memory)))
            add_group(host, group->path);
    }
}

/* The effective limit: the smallest of a cgroup and its ancestors. */
static void read_limits(const char *root, struct host_memory *memory)
{
    char dir[sizeof(memory->path)];
    memory->limit_bytes = memory->used = NAN;
    memcpy(dir, memory->path, sizeof(dir));
    for (char *slash; (slash = strrchr(dir, '/')); *slash = '\0') {
        const struct cgroup_memory its = cgroup_read_memory(root, dir);
        memory->limit_bytes = fmin(memory->limit_bytes, least_limit(&its));
        memory->used = fmax(memory->used, its.used_bytes / least_limit(&its));
    }
    if (!memory->path[0])
        memory->used = 1 - proc_read_memory_bytes(root, "MemAvailable") /
                               proc_read_memory_bytes(root, "MemTotal");
}

void host_finish_memory(const struct view *view, struct host *host)
{
    for (size_t i = 0; i < host->nmemories; i++) {
        struct host_memory *memory = &host->memories[i];
        double now[COUNTERS], gained[COUNTERS];
        read_counters(host, memory, now);
        for (int c = 0; c < COUNTERS; c++)
            gained[c] = fmax(now[c] - memory->then[c], 0) + (isnan(now[c]) ? (double)NAN : 0);
        memory->some = gained[SOME] / view->wall_s;
        memory->refaults = gained[REFAULTS] / view->wall_s;
        memory->kills = gained[KILLS];
        memory->scans = gained[SCANS] / view->wall_s;
        read_limits(host->root, memory);
    }
}
