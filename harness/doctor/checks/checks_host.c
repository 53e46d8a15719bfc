#include <math.h>
#include <stdio.h>
#include <string.h>

#include "harness/doctor/checks/check.h"
#include "harness/doctor/reader/host.h"
#include "harness/lib/text.h"
#include "harness/machine/topo_gpu.h"

/* NUMA balancing, clocks, memory. Pure. */

/* Seconds per hint fault, per moved page and per refault. */
static const double fault_s = 1.5e-6, move_s = 5e-6, refault_s = 100e-6;
/*
 * Shares of the base clock: below saving_most, a power-saving setting is the cause; below
 * slow_most, a fault.
 */
static const double saving_most = 0.9, slow_most = 0.75;

/* CPUs lost, as a share of the CPUs that busy workers used (at least one); at most 1. */
static double host_share(const struct checker *checker, double cpus)
{
    double had = 0;
    for (size_t g = 0; g < checker->ngroups; g++)
        had += checker->groups[g].oncpu_s / checker->view->wall_s;
    return fmin(cpus / fmax(had, 1), 1);
}

/*
 * A hint fault counts as 1.5 us (the fault and the page table update), a moved page as 5 us more
 * (the copy and the TLB shootdown on all CPUs).
 */
void check_numa_balancing(struct checker *checker)
{
    const struct host *host = checker->view->host;
    if (!host || checker->view->nnodes < 2)
        return;
    double moved = isnan(host->a_second.numa_moved) ? 0 : host->a_second.numa_moved;
    double cpus = host->a_second.numa_faults * fault_s + moved * move_s;
    if (isnan(cpus) || host_share(checker, cpus) < HOST_LEAST)
        return;
    const char *evidence =
        str_fmt("%.0f hint faults/s, %.0f pages moved/s", host->a_second.numa_faults, moved);
    const char *command =
        str_fmt("echo 0 | %stee /proc/sys/kernel/numa_balancing", check_root(checker->view));
    const struct finding_parts parts =
        finding_parts_bad(host_share(checker, cpus), NULL, 0, evidence, command);
    checker_report(
        checker, &parts,
        "Automatic NUMA balancing is active (%s): it unmaps pages to find their users, and moves "
        "them to the threads. Workers whose memory is bound to their node do not need it.",
        evidence);
}

/* Reports HOST_LEAST of the time; if only events are counted, one per second. */
void check_throttling(struct checker *checker)
{
    const struct host *host = checker->view->host;
    if (!host)
        return;
    double s = host->a_second.throttled_s, events = host->a_second.throttles;
    double share = isnan(s) ? 0 : host_share(checker, s);
    if (share < HOST_LEAST && !(isnan(s) && events >= 1))
        return;
    const char *evidence = str_fmt("%.1f events/s, %.2f CPUs' time", events, isnan(s) ? 0 : s);
    const struct finding_parts parts =
        finding_parts_bad(isnan(s) ? (double)NAN : share, NULL, 0, evidence, "sensors");
    checker_report(checker, &parts, "CPUs slow down by heat (%s): check fans and air flow.",
                   evidence);
}

/* Mean clock of busy CPUs of workers as a share of their base clock; NaN = unknown. */
static double share_of_base(const struct view *view)
{
    double sum = 0, weight = 0;
    for (size_t i = 0; i < view->host->ncpus; i++) {
        const struct host_cpu *cpu = &view->host->cpus[i];
        struct bitset one = {0};
        bitset_set(&one, cpu->os_cpu);
        double used = view_busy_s(view, &one) / view->wall_s;
        if (used < 0.5 || isnan(cpu->now_mhz) || !(cpu->base_mhz > 0))
            continue;
        sum += used * cpu->now_mhz / cpu->base_mhz;
        weight += used;
    }
    return weight > 0 ? sum / weight : (double)NAN;
}

static bool saves_power(const struct host *host)
{
    bool own_driver = strstr(host->clock_driver, "pstate") != NULL; /* the hardware decides */
    return (strcmp(host->governor, "powersave") == 0 && !own_driver) ||
           strcmp(host->governor, "conservative") == 0 ||
           strcmp(host->governor, "userspace") == 0 || strcmp(host->preference, "power") == 0 ||
           strcmp(host->preference, "balance_power") == 0;
}

/*
 * Reports busy CPUs of workers below 90% of their base clock if a setting saves power; below 75%
 * for any reason, since wide vector code alone lowers the clock by less than that.
 */
void check_governor(struct checker *checker)
{
    const struct host *host = checker->view->host;
    if (!host)
        return;
    double share = share_of_base(checker->view);
    bool saves = saves_power(host);
    if (isnan(share) || share >= (saves ? saving_most : slow_most))
        return;
    const char *evidence =
        str_fmt("governor %s%s%s; %.0f%% of the base clock",
                host->governor[0] ? host->governor : "not told",
                host->preference[0] ? ", energy preference " : "", host->preference, 100 * share);
    const char *command = str_fmt("%s%s", check_root(checker->view),
                                  saves ? "cpupower frequency-set -g performance"
                                        : "turbostat --quiet --show Busy%,Bzy_MHz,PkgWatt");
    const struct finding_parts parts = finding_parts_bad(1 - share, NULL, 0, evidence, command);
    checker_report(checker, &parts, "CPUs of busy workers run below their base clock%s (%s).",
                   saves ? ", because the governor saves power"
                         : ": a power limit, heat, or what they run",
                   evidence);
}

/*
 * True if free pages ran out: under a limit, or on the machine. Pages are also read again after a
 * reclaimer dropped cold cache on purpose (DAMON, memory.reclaim, WSL); that is no shortage.
 */
static bool is_short(const struct host *host, const struct host_memory *memory)
{
    static const double most_used = 0.9;
    const struct host_memory *machine = &host->memories[0];
    return memory->used >= most_used || machine->used >= most_used || machine->scans > 0;
}

/* A group waits at most as long as the machine, whose pressure includes all groups. */
static double find_memory_cost(const struct host *host, const struct host_memory *memory)
{
    double cost = isnan(memory->some) ? memory->refaults * refault_s : memory->some;
    return fmin(fmin(cost, host->memories[0].some), 1);
}

/* The machine's count of kills includes those by the limits of all groups. */
static bool is_lacking(const struct host *host, const struct host_memory *memory)
{
    bool lacks = is_short(host, memory);
    return (memory->kills > 0 && (lacks || memory->path[0])) ||
           (lacks && find_memory_cost(host, memory) >= HOST_LEAST);
}

static size_t find_members(const struct view *view, const struct host_memory *memory,
                           const struct view_process *who[FOUND_PIDS_MAX])
{
    size_t n = 0;
    for (size_t i = 0; memory->path[0] && i < view->nprocesses && n < FOUND_PIDS_MAX; i++) {
        const struct view_process *process = &view->processes[i];
        int at = process->cgroup[CGROUP_MEMORY];
        if (process->watched && at >= 0 && strcmp(view->cgroups[at].path, memory->path) == 0)
            who[n++] = process;
    }
    return n;
}

static void report_memory(struct checker *checker, const struct host_memory *memory)
{
    const struct view_process *who[FOUND_PIDS_MAX];
    const char *command, *evidence = "", *limit = "no limit";
    if (!isnan(memory->limit_bytes))
        limit = units_bytes((uint64_t)memory->limit_bytes);
    if (!isnan(memory->some))
        str_add(&evidence, "", "%.1f%% of the time waited for memory; ", 100 * memory->some);
    if (memory->kills > 0)
        str_add(&evidence, "", "%.0f killed; ", memory->kills);
    str_add(&evidence, "", "%.0f pages/s read again; limit %s", memory->refaults, limit);
    if (memory->path[0])
        command = str_fmt("grep -s . %s/memory.*", memory->path);
    else
        command = "ps -eo pid,rss,comm --sort=-rss | head";
    const struct finding_parts parts =
        finding_parts_bad(find_memory_cost(checker->view->host, memory), who,
                          find_members(checker->view, memory, who), evidence, command);
    checker_report(checker, &parts,
                   "%s short of memory (%s): pages are dropped and read again. Add memory, or use "
                   "less: smaller batches, fewer workers, less prefetching.",
                   memory->path[0] ? "its cgroup is" : "The machine is", evidence);
}

/*
 * Reports HOST_LEAST of the time (PSI); without PSI, 200 refaulted pages per second at 100 us each
 * (an SSD). Both count only where a limit is nearly used or the machine has no free pages. Always
 * reports an out-of-memory kill in a group of workers.
 */
void check_memory(struct checker *checker)
{
    const struct host *host = checker->view->host;
    bool any = false;
    for (size_t i = 1; host && i < host->nmemories; i++)
        if (is_lacking(host, &host->memories[i])) {
            any = true;
            report_memory(checker, &host->memories[i]);
        }
    /* The machine's counters include those of its cgroups: reported only if no cgroup was. */
    if (host && host->nmemories && !any && is_lacking(host, &host->memories[0]))
        report_memory(checker, &host->memories[0]);
}

/* The largest share of the watch that one of its threads neither ran nor waited for a CPU. */
static double blocked_share(const struct view *view, const struct view_process *process)
{
    double most = 0;
    bool any = false;
    for (size_t t = 0; t < process->ntasks; t++) {
        const struct view_task *task = &process->tasks[t];
        if (task->is_detailed)
            most = fmax(most, 1 - view_wanted_s(task->oncpu_s, task->wait_s) / view->wall_s);
        any = any || task->is_detailed;
    }
    return any ? most : 1;
}

static bool is_memory_lacking(const struct host *host)
{
    for (size_t i = 0; i < host->nmemories; i++)
        if (is_lacking(host, &host->memories[i]))
            return true;
    return false;
}

/*
 * The pressure is that of the whole machine; it is theirs if most of the traffic is. Pages that are
 * read again for lack of memory are no fault of the storage.
 */
void check_storage(struct checker *checker)
{
    static const double waits_least = 0.2, part_least = 0.1, traffic_least = 0.5;
    const struct view *view = checker->view;
    const struct host *host = view->host;
    const struct view_process *process, *who[FOUND_PIDS_MAX];
    size_t n = 0;
    double bytes = 0, blocked = 0;
    if (!host || !(host->a_second.disk_waits_s >= waits_least) || is_memory_lacking(host))
        return;
    const double all_bytes = host->a_second.disk_bytes * view->wall_s;
    for (size_t at = 0; (process = view_next_watched(view, &at)) && n < FOUND_PIDS_MAX;) {
        if (!(process->disk_bytes > part_least * all_bytes))
            continue;
        bytes += process->disk_bytes;
        blocked = fmax(blocked, blocked_share(view, process));
        who[n++] = process;
    }
    const double cost = fmin(host->a_second.disk_waits_s, blocked);
    if (!n || bytes < traffic_least * all_bytes || cost < waits_least)
        return;
    const char *evidence = str_fmt("threads waited for storage during %s of the time, at %s/s",
                                   text_percent(host->a_second.disk_waits_s),
                                   units_bytes((uint64_t)(bytes / view->wall_s)));
    struct finding_parts parts = finding_parts_bad(cost, who, n, evidence, "iostat -dx 1 5");
    parts.severity = FINDING_DOUBT;
    checker_report(
        checker, &parts,
        "the storage is the limit: %s. Keep the data in memory or on faster storage. More "
        "loaders or larger reads help only while they raise that rate.",
        evidence);
}

/* GPUs. Pure. */

/* Returns text. `bdf`: the GPU of the finding; without -i, a reset would hit all GPUs. */
static const char *gpu_command(const struct view *view, const char *id, const char *bdf)
{
    static const struct {
        const char *id;
        bool root, one;
        const char *command;
    } commands[] = {
        {"gpu_persistence", true, false, "nvidia-smi -pm 1"},
        {"gpu_power", false, false, "nvidia-smi -q -d POWER"},
        {"gpu_slowdown", false, false, "nvidia-smi -q -d PERFORMANCE,TEMPERATURE,POWER"},
        {"gpu_memory", true, true, "nvidia-smi --gpu-reset"},
        {"gpu_ecc", false, false, "nvidia-smi -q -d ECC"},
        {"gpu_nvlink", false, false, "nvidia-smi nvlink -s"},
        {"gpu_pcie", false, false,
         "nvidia-smi --query-gpu=pci.bus_id,pcie.link.gen.current,"
         "pcie.link.width.current,pcie.link.width.max --format=csv"},
        {"gpu_xid", true, false, "dmesg | grep Xid"},
    };
    const char *text = "";
    for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++)
        if (strcmp(id, commands[i].id) == 0)
            text =
                str_fmt("%s%s%s%s", commands[i].root ? check_root(view) : "", commands[i].command,
                        commands[i].one ? " -i " : "", commands[i].one ? bdf : "");
    return text;
}

/* Other users of a GPU are no fault here, and the compute mode is a deliberate choice. */
static bool is_wanted(const struct finding *finding)
{
    return (finding->severity == FINDING_BAD && strcmp(finding->id, "gpu_processes") != 0 &&
            strcmp(finding->id, "gpu_compute_mode") != 0) ||
           strcmp(finding->id, "gpu_persistence") == 0 || strcmp(finding->id, "gpu_power") == 0;
}

static void report_wanted(struct checker *checker, const struct findings *all, const char *bdf)
{
    for (size_t i = 0; i < all->n; i++) {
        const struct finding *finding = &all->all[i];
        const struct finding_parts parts = {.severity = finding->severity,
                                            .cost = NAN,
                                            .id = finding->id,
                                            .subject = finding->subject,
                                            .evidence = finding->evidence,
                                            .command =
                                                gpu_command(checker->view, finding->id, bdf)};
        if (is_wanted(finding))
            checker_report(checker, &parts, "%s", finding->sentence);
    }
}

/* Reports Xids of the last hour, if the kernel log is readable. */
static void check_log(struct checker *checker)
{
    static const double hour_s = 3600;
    const struct facts *log = &checker->view->host->log;
    for (size_t i = 0; i < log->nevents; i++) {
        const struct facts_event *event = &log->events[i];
        if (event->kind != EVENT_XID || event->last_s < checker->view->now_s - hour_s)
            continue;
        const char *subject = str_fmt("GPU %s", event->unit);
        const struct finding_parts parts = {.severity = FINDING_BAD,
                                            .cost = NAN,
                                            .id = "gpu_xid",
                                            .subject = subject,
                                            .evidence = event->line,
                                            .command =
                                                gpu_command(checker->view, "gpu_xid", event->unit)};
        checker_report(checker, &parts,
                       "Xid %d in the kernel log (%u lines, the last within an hour)",
                       event->number, event->count);
    }
}

/*
 * Reports what gpu_health_judge and gpu_change_judge call bad, except other users and the compute
 * mode; also a power limit, persistence mode off, and Xids of the last hour.
 */
void check_gpus(struct checker *checker)
{
    const struct host *host = checker->view->host;
    const char *name;
    int rc = 0;
    for (unsigned i = 0; host && host->topo && host->gpus && i < host->topo->ngpus && !rc; i++) {
        const struct topo_gpu *gpu = &host->topo->gpus[i];
        struct findings all = {0};
        name = topo_gpu_name(gpu);
        gpu_health_judge(&host->gpus[i], name, &all);
        for (unsigned c = 0; c < host->nchanges; c++)
            if (strcmp(host->gpu_changes[c].pci_bdf, gpu->pci_bdf) == 0)
                gpu_change_judge(&host->gpu_changes[c], name, "the watch", "", &all);
        report_wanted(checker, &all, gpu->pci_bdf);
        findings_free(&all);
    }
    if (host)
        check_log(checker);
}
