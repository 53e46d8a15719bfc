#include "harness/doctor/reader/host.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/doctor/reader/reader_parts.h"
#include "harness/lib/sys/proc.h"
#include "harness/machine/env.h"

/* Memory pressure of the cgroups of workers and of the whole machine. */

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

/* Parts of it: memory of the cgroups of watched processes, and of the whole machine. */
static void host_mark_memory(const struct view *view, struct host *host)
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

static void host_finish_memory(const struct view *view, struct host *host)
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

int host_load_topo(struct topo *topo, struct err *err)
{
    const struct topo_options options = {
        .probe_gpus = true, .only_order = true, .for_others = true};
    return topo_load(&options, topo, err);
}

/* CPUs that busy workers may run on. */
static void worker_cpus(const struct view *view, struct bitset *cpus)
{
    for (size_t i = 0; i < view->nprocesses; i++)
        if (view_is_busy(view, &view->processes[i]))
            view_add_cpus(view, &view->processes[i], cpus);
}

static void read_counts(const char *root, struct host_counts *counts)
{
    counts->numa_faults = proc_read_count(root, "numa_hint_faults", ' ', "/proc/vmstat");
    counts->numa_moved = proc_read_count(root, "numa_pages_migrated", ' ', "/proc/vmstat");
    counts->throttles = facts_sum_throttling(root, "core_throttle_count");
    counts->throttled_s = facts_sum_throttling(root, "core_throttle_total_time_ms") / 1e3;
    counts->disk_waits_s = proc_read_pressure_s(root, "/proc/pressure/io");
    counts->disk_bytes = 1024 * (proc_read_count(root, "pgpgin", ' ', "/proc/vmstat") +
                                 proc_read_count(root, "pgpgout", ' ', "/proc/vmstat"));
}

static double read_mhz(const char *root, int os_cpu, const char *file)
{
    return proc_read_number(root, "/sys/devices/system/cpu/cpu%d/cpufreq/%s", os_cpu, file) / 1e3;
}

/* Reads at most HOST_CPUS_MAX CPUs: the rest is alike. */
static void read_clocks(const struct view *view, struct host *host)
{
    struct bitset cpus = {0};
    worker_cpus(view, &cpus);
    for (int cpu = bitset_next(&cpus, 0); cpu >= 0 && host->ncpus < HOST_CPUS_MAX;
         cpu = bitset_next(&cpus, (unsigned)cpu + 1))
        host->cpus[host->ncpus++] =
            (struct host_cpu){(unsigned)cpu, read_mhz(host->root, cpu, "scaling_cur_freq"),
                              read_mhz(host->root, cpu, "base_frequency")};
}

static void read_settings(struct host *host)
{
    struct environment env;
    env_gather(&(struct env_request){.root = host->root}, &env);
    proc_copy_text(host->governor, sizeof(host->governor), env.governor);
    env_free(&env);
    (void)PROC_TEXT(host->root, host->clock_driver,
                    "/sys/devices/system/cpu/cpufreq/policy0/scaling_driver");
    (void)PROC_TEXT(host->root, host->preference,
                    "/sys/devices/system/cpu/cpufreq/policy0/energy_performance_preference");
}

static int open_gpus(struct host *host, struct err *err)
{
    unsigned n = host->topo ? host->topo->ngpus : 0;
    char(*bdfs)[PCI_BDF_MAX] = calloc(n + 1, sizeof(*bdfs));
    host->gpus = calloc(n + 1, sizeof(*host->gpus));
    int rc = bdfs && host->gpus ? 0 : err_set(err, -ENOMEM, "out of memory for %u GPUs", n);
    for (unsigned i = 0; i < n && !rc; i++) {
        gpu_health_init(&host->gpus[i]);
        proc_copy_text(bdfs[i], PCI_BDF_MAX, host->topo->gpus[i].pci_bdf);
    }
    if (!rc && n)
        rc = gpu_watch_open(&host->gpu_watch, bdfs, n, err);
    free(bdfs);
    if (!rc)
        gpu_watch_start(&host->gpu_watch);
    return rc;
}

static int finish_gpus(struct host *host, struct err *err)
{
    unsigned n = host->topo ? host->topo->ngpus : 0;
    gpu_watch_stop(&host->gpu_watch);
    host->gpu_changes = gpu_watch_close(&host->gpu_watch, &host->nchanges);
    for (unsigned i = 0; i < n; i++)
        (void)gpu_health_read(host->topo->gpus[i].pci_bdf, &host->gpus[i]);
    return n ? facts_read_log(host->root, &host->log, err) : 0;
}

int host_mark(const struct view *view, const struct topo *topo, const char *root, struct host *host,
              struct err *err)
{
    *host = (struct host){.topo = topo};
    facts_init(&host->log);
    proc_copy_text(host->root, sizeof(host->root), root);
    read_settings(host);
    read_counts(root, &host->then);
    host_mark_memory(view, host);
    return open_gpus(host, err);
}

void host_look(const struct view *view, struct host *host)
{
    gpu_watch_sample(&host->gpu_watch);
    if (!host->hung_was_read)
        hung_look(view, host->root, &host->hung);
    host->hung_was_read = true;
    convoys_look(view, host->root, &host->convoys);
}

int host_finish(const struct view *view, struct host *host, struct err *err)
{
    struct host_counts now, *gained = &host->a_second;
    read_counts(host->root, &now);
    gained->numa_faults = (now.numa_faults - host->then.numa_faults) / view->wall_s;
    gained->numa_moved = (now.numa_moved - host->then.numa_moved) / view->wall_s;
    gained->throttles = (now.throttles - host->then.throttles) / view->wall_s;
    gained->throttled_s = (now.throttled_s - host->then.throttled_s) / view->wall_s;
    gained->disk_waits_s = (now.disk_waits_s - host->then.disk_waits_s) / view->wall_s;
    gained->disk_bytes = (now.disk_bytes - host->then.disk_bytes) / view->wall_s;
    host_finish_memory(view, host);
    hung_finish(view, host->root, &host->hung);
    read_clocks(view, host);
    return finish_gpus(host, err);
}

void host_free(struct host *host)
{
    if (host->gpu_watch.gpus) {
        unsigned n;
        free(gpu_watch_close(&host->gpu_watch, &n));
    }
    free(host->gpus);
    free(host->gpu_changes);
    facts_free(&host->log);
    *host = (struct host){0};
}

static void read_nodes(struct reader *reader)
{
    struct view *view = &reader->view;
    struct bitset nodes;
    (void)proc_read_list(reader->root, &nodes, "/sys/devices/system/node/online");
    (void)proc_read_list(reader->root, &view->memory_nodes, "/sys/devices/system/node/has_memory");
    for (int node = bitset_next(&nodes, 0); node >= 0 && node < VIEW_NODES_MAX;
         node = bitset_next(&nodes, (unsigned)node + 1)) {
        (void)proc_read_list(reader->root, &view->node_cpus[node],
                             "/sys/devices/system/node/node%d/cpulist", node);
        view->nnodes = (size_t)node + 1;
    }
}

int reader_open_machine(struct reader *reader, struct err *err)
{
    char text[4096];
    int once = -1;
    struct view *view = &reader->view;
    view->pressure_share = view->load = NAN;
    view->has_schedstat = reader_read(reader->proc_fd, "self/schedstat", &once, text, sizeof(text));
    if (!view->has_schedstat) /* a fake root has no "self" */
        view->has_schedstat =
            reader_read(reader->proc_fd, "1/schedstat", &once, text, sizeof(text));
    read_nodes(reader);
    return reader_read_machine(reader, true, err);
}

/*
 * Counters of one CPU only grow, together as fast as the clock. If they do not, the line belongs to
 * another CPU of this number, as under lxcfs, or the CPU was offline in between: then its time
 * starts at this read.
 */
static void note_cpu(const double now_s[PROC_TIMES], double wall_s, bool mark, struct view_cpu *cpu)
{
    double *const since[] = {&cpu->user_s, &cpu->nice_s, &cpu->system_s,
                             &cpu->idle_s, &cpu->irq_s,  &cpu->steal_s};
    static const double slack_s = 0.5;
    double forward_s = 0, back_s = 0;
    for (int i = 0; i < PROC_TIMES; i++) {
        forward_s += fmax(now_s[i] - cpu->then_s[i], 0);
        back_s += fmax(cpu->then_s[i] - now_s[i], 0);
    }
    mark = mark || back_s > slack_s || forward_s > 1.5 * wall_s + slack_s;
    for (int i = 0; i < PROC_TIMES; i++) {
        if (mark)
            cpu->then_s[i] = now_s[i];
        *since[i] = fmax(now_s[i] - cpu->then_s[i], 0);
    }
}

/* The time of a CPU that came online after the mark starts at its first line. */
static struct view_cpu *find_cpu(struct view *view, unsigned os_cpu, bool *is_new)
{
    size_t at = 0;
    while (at < view->ncpus && view->cpus[at].os_cpu < os_cpu)
        at++;
    if (at < view->ncpus && view->cpus[at].os_cpu == os_cpu)
        return &view->cpus[at];
    *is_new = true;
    struct view_cpu *grown = realloc(view->cpus, (view->ncpus + 1) * sizeof(*grown));
    if (!grown)
        return NULL;
    view->cpus = grown;
    memmove(&grown[at + 1], &grown[at], (view->ncpus++ - at) * sizeof(*grown));
    grown[at] = (struct view_cpu){.os_cpu = os_cpu};
    return &grown[at];
}

static void drop_offline(struct view *view)
{
    size_t n = 0;
    for (size_t i = 0; i < view->ncpus; i++)
        if (bitset_test(&view->online, view->cpus[i].os_cpu))
            view->cpus[n++] = view->cpus[i];
    view->ncpus = n;
}

static int read_cpus(struct reader *reader, bool mark, struct err *err)
{
    struct view *view = &reader->view;
    char *text = reader_read_long(reader, reader->proc_fd, "stat");
    if (!text)
        return err_set(err, -EIO, "cannot read %.150s/proc/stat", reader->root);
    view->online = (struct bitset){0};
    for (char *line = text; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        int os_cpu;
        double now_s[PROC_TIMES];
        bool is_new = mark;
        if (!proc_parse_cpu(line, &os_cpu, now_s))
            break;
        if (os_cpu < 0 || os_cpu >= BITSET_BITS)
            continue; /* -1: the sum over all CPUs */
        struct view_cpu *cpu = find_cpu(view, (unsigned)os_cpu, &is_new);
        if (!cpu)
            return err_set(err, -ENOMEM, "out of memory for %zu CPUs", view->ncpus + 1);
        bitset_set(&view->online, (unsigned)os_cpu);
        note_cpu(now_s, view->wall_s, is_new, cpu);
    }
    drop_offline(view);
    return 0;
}

int reader_read_machine(struct reader *reader, bool mark, struct err *err)
{
    struct view *view = &reader->view;
    char text[512];
    int once = -1;
    double pressure_s = proc_read_pressure_s(reader->root, "/proc/pressure/cpu");
    if (mark)
        reader->pressure_then_s = pressure_s;
    view->pressure_share = (pressure_s - reader->pressure_then_s) / view->wall_s;
    if (reader_read(reader->proc_fd, "loadavg", &once, text, sizeof(text)))
        view->load = strtod(text, NULL);
    return read_cpus(reader, mark, err);
}

void reader_roll_machine(struct reader *reader)
{
    struct view *view = &reader->view;
    reader->pressure_then_s += view->pressure_share * view->wall_s;
    for (size_t i = 0; i < view->ncpus; i++) {
        struct view_cpu *cpu = &view->cpus[i];
        const double since_s[] = {cpu->user_s, cpu->nice_s, cpu->system_s,
                                  cpu->idle_s, cpu->irq_s,  cpu->steal_s};
        for (int c = 0; c < PROC_TIMES; c++)
            cpu->then_s[c] += since_s[c];
    }
}

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

void processes_find_gpus(struct reader *reader)
{
    bool any = false;
    size_t users;
    struct err why;
    for (size_t i = 0; i < reader->view.nprocesses; i++) {
        const struct view_about *about = reader->view.processes[i].about;
        any = any || reader->view.processes[i].gpus || (about && about->libraries & LIBRARY_CUDA);
    }
    if (any)
        (void)reader_read_gpus(reader, &users, &why);
}

int processes_watch_gpu_users(struct reader *reader, struct err *err)
{
    size_t users;
    int rc = reader_read_gpus(reader, &users, err);
    if (!rc && !users)
        rc = err_set(err, -ESRCH, "NVML lists no GPU process that is here: %s",
                     reader->view.hidden.any
                         ? "/proc hides processes of other users (hidepid); root sees them"
                         : "in a container it may not; name them with --pid");
    return rc ? rc : reader_watch_gpu_users(reader, err);
}
