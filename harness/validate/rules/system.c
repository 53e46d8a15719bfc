/* Rules of the system's settings and limits: what costs time or keeps programs from starting. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "harness/validate/rules/check.h"

/* Of a second's time; of an idle neighbour's, 0 is usual. */
static const double steal_most = 0.02;
/* Docker's default of 64 MiB is too little for NCCL and for loaders of data. */
static const double shm_least_bytes = 1024.0 * 1024 * 1024;
/* Kernels since 5.16 give everybody 8 MiB, those before 64 KiB. */
static const double memlock_least_bytes = 8.0 * 1024 * 1024;

static bool is_virtual(const struct facts *facts)
{
    return facts->env.virtual_machine > 0;
}

static void judge_steal(struct checks *checks)
{
    const struct facts *facts = checks->facts;
    const struct check check = {
        .metric = "steal", .in = "share", .value = facts->steal, .low = NAN, .high = steal_most};
    if (isnan(facts->steal))
        check_skip(checks, "the kernel does not tell stolen time here");
    else if (facts->steal > steal_most)
        check_warn(checks, &check,
                   "%.1f%% of the CPUs' time was taken by other virtual machines over a second",
                   100 * facts->steal);
    else
        check_pass_value(checks, &check, "%.1f%% of the CPUs' time stolen", 100 * facts->steal);
}

static void judge_governor(struct checks *checks)
{
    const struct facts *facts = checks->facts;
    const char *governor = facts->env.governor;
    bool own_driver = strstr(facts->scaling_driver, "pstate") != NULL; /* the hardware decides */
    if (!governor[0])
        check_skip(checks, is_virtual(facts) ? "a virtual machine: its host sets the clocks"
                                             : "the kernel does not set the clocks here");
    else if (strcmp(governor, "performance") == 0)
        check_pass(checks, "CPU governor: performance");
    else if (strcmp(governor, "powersave") == 0 && !own_driver)
        check_fail(checks, NULL, "CPU governor powersave keeps the CPUs at their lowest clock");
    else
        check_warn(checks, NULL, "CPU governor %s: clocks rise after the work has begun", governor);
}

static void judge_idle(struct checks *checks)
{
    const struct facts *facts = checks->facts;
    const struct facts_probe *probe = &facts->probes[PROBE_IDLE_EXIT];
    double worst = NAN,
           most = is_virtual(facts) ? FACTS_IDLE_EXIT_MOST_VIRTUAL_US : FACTS_IDLE_EXIT_MOST_US;
    if (!check_measured(checks, PROBE_IDLE_EXIT))
        return;
    for (size_t i = 0; i < probe->n; i++)
        if (strcmp(probe->values[i].metric, "idle_exit") == 0)
            worst = fmax(worst, probe->values[i].value);
    const struct check check = {
        .metric = "idle_exit", .in = "us", .value = worst, .low = NAN, .high = most};
    if (isnan(worst))
        check_error(checks, "no idle CPU was woken up");
    else if (worst > most)
        check_warn(checks, &check,
                   "an idle CPU takes %.0f us longer to wake up than a busy one%s: deep idle "
                   "states",
                   worst, is_virtual(facts) ? ", by way of the hypervisor" : "");
    else
        check_pass_value(checks, &check, "idle CPUs wake up within %.0f us", worst < 1 ? 1 : worst);
}

static void judge_numa_balancing(struct checks *checks)
{
    const struct facts *facts = checks->facts;
    if (facts->topo->nnodes < 2)
        check_skip(checks, "one NUMA node");
    else if (isnan(facts->env.numa_balancing))
        check_skip(checks, "the kernel does not tell it");
    else if (facts->env.numa_balancing > 0)
        check_warn(checks, NULL,
                   "automatic NUMA balancing is on: it unmaps pages of pinned workers to see who "
                   "uses them");
    else
        check_pass(checks, "automatic NUMA balancing is off");
}

static void judge_memlock(struct checks *checks)
{
    const struct facts *facts = checks->facts;
    double limit = facts->env.memlock_bytes;
    struct check check = {.metric = "memlock",
                          .in = "KiB",
                          .value = limit / 1024,
                          .low = facts->rdma ? INFINITY : memlock_least_bytes / 1024,
                          .high = NAN};
    if (facts->container) {
        check.cause = "container";
        check.command = "docker run --ulimit memlock=-1 ...";
    }
    if (isnan(limit))
        check_skip(checks, "the limit of locked memory is not known");
    else if (isinf(limit))
        check_pass(checks, "locked memory is not limited");
    else if (facts->rdma)
        check_fail(checks, &check,
                   "locked memory is limited to %.0f KiB: RDMA devices cannot register buffers",
                   limit / 1024);
    else if (limit < memlock_least_bytes && !facts->container)
        check_fail(checks, &check,
                   "locked memory is limited to %.0f KiB: MPI and io_uring need more, RDMA has no "
                   "limit",
                   limit / 1024);
    else if (limit < memlock_least_bytes)
        check_warn(checks, &check, "the container limits locked memory to %.0f KiB", limit / 1024);
    else
        check_pass(checks, "%.0f KiB may be locked, which is enough without RDMA", limit / 1024);
}

static void judge_shm(struct checks *checks)
{
    const struct facts *facts = checks->facts;
    const double mib = 1024.0 * 1024;
    struct check check = {.metric = "shm",
                          .in = "MiB",
                          .value = facts->shm_bytes / mib,
                          .low = shm_least_bytes / mib,
                          .high = NAN};
    if (facts->container) {
        check.cause = "container";
        check.command = "docker run --shm-size=16g ...";
    }
    if (isnan(facts->shm_bytes))
        check_skip(checks, "there is no /dev/shm");
    else if (facts->shm_bytes < shm_least_bytes)
        check_warn(checks, &check,
                   "/dev/shm has %.0f MiB: NCCL's shared buffers and loaders of data need more",
                   facts->shm_bytes / mib);
    else
        check_pass_value(checks, &check, "/dev/shm has %.0f MiB", facts->shm_bytes / mib);
}

static void judge_swap(struct checks *checks)
{
    const struct facts *facts = checks->facts;
    const double mib = 1024.0 * 1024;
    double memory = facts->env.memory_bytes, used = facts->swap_used_bytes;
    const struct check check = {
        .metric = "swap_used", .in = "MiB", .value = used / mib, .low = NAN, .high = NAN};
    if (isnan(used))
        check_skip(checks, "the kernel does not tell it");
    else if (!isnan(memory) && used > 0.01 * memory)
        check_warn(checks, &check, "%.0f MiB of memory are swapped out", used / mib);
    else
        check_pass_value(checks, &check,
                         facts->swap_bytes > 0 ? "next to nothing is swapped out" : "no swap");
}

static void judge_huge_pages(struct checks *checks)
{
    const char *thp = checks->facts->env.thp;
    if (!thp[0])
        check_skip(checks, "the kernel has no transparent huge pages");
    else if (strcmp(thp, "never") == 0)
        check_warn(checks, NULL,
                   "transparent huge pages are off, also for programs that ask for them");
    else
        check_pass(checks, "transparent huge pages: %s", thp);
}

static void judge_clock(struct checks *checks)
{
    const char *source = checks->facts->env.clocksource;
    if (!source[0])
        check_skip(checks, "the kernel does not tell its clock source");
    else if (strcmp(source, "hpet") == 0 || strcmp(source, "acpi_pm") == 0 ||
             strcmp(source, "refined-jiffies") == 0)
        check_warn(checks, NULL,
                   "the clock source is %s: reading the time takes a system call of a microsecond",
                   source);
    else
        check_pass(checks, "clock source: %s", source);
}

const struct rule rules_system[] = {
    {.id = "steal",
     .kind = RULE_HEALTH,
     .cause = "setup",
     .action = ACTION_WATCH,
     .needs = "/proc/stat, a second",
     .about = "Other virtual machines take no more than 2% of the CPUs' time.",
     .source = "kernel, filesystems/proc: steal",
     .command = "vmstat 1",
     .judge = judge_steal},
    {.id = "governor",
     .kind = RULE_HEALTH,
     .cause = "configuration",
     .action = ACTION_MEND,
     .needs = "sysfs, no virtual machine",
     .about = "The CPU governor is performance; powersave without a pstate driver fails.",
     .source = "kernel, admin-guide/pm/cpufreq",
     .command = "sudo cpupower frequency-set -g performance",
     .judge = judge_governor},
    {.id = "idle_exit",
     .kind = RULE_HEALTH,
     .cause = "configuration",
     .action = ACTION_MEND,
     .needs = "measurement",
     .about = "A CPU that slept 1 to 10 ms is awake at most 50 us later than one that was busy "
              "(200 us on a virtual machine).",
     .source = "kernel, admin-guide/pm/cpuidle; measured",
     .command = "sudo cpupower idle-set -D 20",
     .probes = 1u << PROBE_IDLE_EXIT,
     .judge = judge_idle},
    {.id = "numa_balancing",
     .kind = RULE_HEALTH,
     .cause = "configuration",
     .action = ACTION_MEND,
     .needs = "two NUMA nodes",
     .about = "Automatic NUMA balancing is off where workers are bound to nodes.",
     .source = "kernel, admin-guide/sysctl/kernel: numa_balancing",
     .command = "sudo sysctl kernel.numa_balancing=0",
     .judge = judge_numa_balancing},
    {.id = "memlock",
     .kind = RULE_HEALTH,
     .cause = "configuration",
     .action = ACTION_MEND,
     .needs = "the process's limits",
     .about = "8 MiB or more may be locked, and without limit where RDMA devices are.",
     .source = "getrlimit(2), RLIMIT_MEMLOCK",
     .command = "ulimit -l unlimited # or memlock in /etc/security/limits.conf",
     .judge = judge_memlock},
    {.id = "shm",
     .kind = RULE_HEALTH,
     .cause = "configuration",
     .action = ACTION_MEND,
     .needs = "/dev/shm",
     .about = "/dev/shm has 1 GiB or more.",
     .source = "NCCL, troubleshooting: shared memory",
     .command = "sudo mount -o remount,size=50% /dev/shm",
     .judge = judge_shm},
    {.id = "swap",
     .kind = RULE_HEALTH,
     .cause = "configuration",
     .action = ACTION_WATCH,
     .needs = "/proc/meminfo",
     .about = "No more than 1% of the memory is swapped out.",
     .source = "kernel, filesystems/proc: meminfo",
     .command = "free -m",
     .judge = judge_swap},
    {.id = "huge_pages",
     .kind = RULE_HEALTH,
     .cause = "configuration",
     .action = ACTION_MEND,
     .needs = "sysfs",
     .about = "Transparent huge pages are there for programs that ask for them.",
     .source = "kernel, admin-guide/mm/transhuge",
     .command = "echo madvise | sudo tee /sys/kernel/mm/transparent_hugepage/enabled",
     .judge = judge_huge_pages},
    {.id = "clock",
     .kind = RULE_HEALTH,
     .cause = "configuration",
     .action = ACTION_MEND,
     .needs = "sysfs",
     .about = "The time can be read without a system call.",
     .source = "kernel, clocksource; vdso(7)",
     .command = "cat /sys/devices/system/clocksource/clocksource0/*_clocksource",
     .judge = judge_clock},
    {.id = NULL}};
