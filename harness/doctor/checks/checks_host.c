/* NUMA balancing, clocks, memory. Declared in host_checks.h. Pure. */
#include <math.h>
#include <string.h>

#include "harness/doctor/checks/host_checks.h"
#include "harness/lib/str.h"
#include "harness/lib/text.h"
#include "harness/lib/units.h"

/* Seconds per hint fault, per moved page and per refault. */
static const double fault_s = 1.5e-6, move_s = 5e-6, refault_s = 100e-6;
/*
 * Shares of the base clock: below saving_most, a power-saving setting is the cause; below
 * slow_most, a fault.
 */
static const double saving_most = 0.9, slow_most = 0.75;

double host_share(const struct checker *checker, double cpus)
{
    double had = 0;
    for (size_t g = 0; g < checker->ngroups; g++)
        had += checker->groups[g].oncpu_s / checker->view->wall_s;
    return fmin(cpus / fmax(had, 1), 1);
}

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
