/* Memory pressure of the cgroups of workers and of the whole machine. Declared in host.h. */
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/doctor/reader/host.h"
#include "harness/lib/files/proc.h"

/* Indexes of host_memory.then. */
enum { SOME, REFAULTS, KILLS, COUNTERS };

/* Version 1 gives a huge limit if there is none. */
static const double no_limit_bytes = 0x1p60;

/* Total in us of a line "some avg10=0.00 avg60=0.00 avg300=0.00 total=1234". */
static double read_pressure(const char *root, const char *path)
{
    char text[128];
    if (!proc_read_field(root, path, "some", ' ', text, sizeof(text)))
        return NAN;
    const char *total = strstr(text, "total=");
    return total ? strtod(total + 6, NULL) : (double)NAN;
}

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
    counters[SOME] = read_pressure(root, "/proc/pressure/memory");
    counters[REFAULTS] = read_refaults(root, "/proc", "vmstat");
    counters[KILLS] = proc_read_count(root, "oom_kill", ' ', "/proc/vmstat");
}

static void read_group(const char *root, const char *dir, double counters[COUNTERS])
{
    char path[PATH_MAX];
    (void)snprintf(path, sizeof(path), "%s/memory.pressure", dir);
    counters[SOME] = read_pressure(root, path);
    counters[REFAULTS] = read_refaults(root, dir, "memory.stat");
    counters[KILLS] = proc_read_count(root, "oom_kill", ' ', "%s/memory.events", dir);
    if (isnan(counters[KILLS])) /* version 1 */
        counters[KILLS] = proc_read_count(root, "oom_kill", ' ', "%s/memory.oom_control", dir);
}

static double read_limit(const char *root, const char *dir)
{
    static const char *const files[] = {"memory.high", "memory.max", "memory.limit_in_bytes"};
    double least = NAN;
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
        double limit = proc_read_number(root, "%s/%s", dir, files[i]);
        if (!isnan(limit) && limit < no_limit_bytes && (isnan(least) || limit < least))
            least = limit;
    }
    return least;
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
        if (process->watched && at >= 0 && view->cgroups[at].parent >= 0)
            add_group(host, view->cgroups[at].path);
    }
}

/* The effective limit: the smallest of a cgroup and its ancestors. */
static double read_least_limit(const char *root, const struct host_memory *memory)
{
    char dir[sizeof(memory->path)];
    double least = NAN;
    memcpy(dir, memory->path, sizeof(dir));
    for (char *slash; (slash = strrchr(dir, '/')); *slash = '\0')
        least = fmin(least, read_limit(root, dir));
    return least;
}

void host_finish_memory(const struct view *view, struct host *host)
{
    for (size_t i = 0; i < host->nmemories; i++) {
        struct host_memory *memory = &host->memories[i];
        double now[COUNTERS], gained[COUNTERS];
        read_counters(host, memory, now);
        for (int c = 0; c < COUNTERS; c++)
            gained[c] = fmax(now[c] - memory->then[c], 0) + (isnan(now[c]) ? (double)NAN : 0);
        memory->some = gained[SOME] / 1e6 / view->wall_s;
        memory->refaults = gained[REFAULTS] / view->wall_s;
        memory->kills = gained[KILLS];
        memory->limit_bytes = memory->path[0] ? read_least_limit(host->root, memory) : NAN;
    }
}
