#include <math.h>
#include <string.h>

#include "harness/validate/rules/rules.h"

/* Rules of settings and limits that cost time or keep programs from starting. */

/* Share of a second; idle neighbours steal nothing. */
#define STEAL_MOST 0.02
/* Docker's default of 64 MiB is too little for NCCL and for data loaders. */
#define SHM_LEAST 0x1p30
/* The default limit is 8 MiB since kernel 5.16, 64 KiB before. */
#define MEMLOCK_LEAST 0x1p23

/* With a pstate driver, the hardware sets the frequency. */
static bool has_no_pstate(const struct unit *unit)
{
    return !strstr(unit->facts->scaling_driver, "pstate");
}

static double idle_exit_most_us(const struct unit *unit)
{
    return machine_is_virtual(unit->facts) ? FACTS_IDLE_EXIT_MOST_VIRTUAL_US
                                           : FACTS_IDLE_EXIT_MOST_US;
}

static bool has_nodes(const struct unit *unit)
{
    return unit->facts->topo->nnodes > 1;
}

/* A setting that is a word; the limits for its words are tried in turn. */
#define WORDS(name, op, outcome, sentence)                                                         \
    OF_MACHINE, NUMBER(1), op, NUMBER(0), OUTCOME_##outcome, NULL, NULL, sentence,                 \
        .setting = SETTING(name)
#define SLOW_CLOCK(source)                                                                         \
    {                                                                                              \
        WORDS(env.clocksource, ANY, WARN,                                                          \
              "the clock source is {t}: reading the time takes a system call of a microsecond"),   \
            .is = (source)                                                                         \
    }
#define MEMLOCK(least, outcome, sentence)                                                          \
    OF_MACHINE, FACT(env.memlock_bytes), BELOW, NUMBER(least), OUTCOME_##outcome, "memlock",       \
        "KiB", sentence, .per = 1024, .in_container = "docker run --ulimit memlock=-1 ..."

const struct rule rules_system[] = {
    {"steal", RULE_HEALTH, "setup", ACTION_WATCH, "/proc/stat, a second",
     "Other virtual machines take no more than 2% of the CPUs' time.",
     "kernel, filesystems/proc: steal", "vmstat 1",
     .limits = {{OF_MACHINE, FACT(steal), ABOVE, NUMBER(STEAL_MOST), OUTCOME_WARN, "steal", "share",
                 "{%}% of the CPUs' time was taken by other virtual machines over a second"}},
     .unknown = "the kernel does not report stolen time here",
     .passed = "{%}% of the CPUs' time stolen"},
    {"governor", RULE_HEALTH, "configuration", ACTION_FIX, "sysfs, no virtual machine",
     "The CPU governor is performance; powersave without a pstate driver fails.",
     "kernel, admin-guide/pm/cpufreq", "sudo cpupower frequency-set -g performance",
     .limits =
         {{WORDS(env.governor, ANY, FAIL, "CPU governor {t} keeps the CPUs at their lowest clock"),
           .is = "powersave", .when = has_no_pstate},
          {WORDS(env.governor, ANY, WARN, "CPU governor {t}: clocks rise after the work has begun"),
           .is_not = "performance"},
          {WORDS(env.governor, TOLD, PASS, "")}},
     .absent = "the kernel does not set the clocks here, as on a virtual machine",
     .passed = "CPU governor: {t}"},
    {"idle_exit", RULE_HEALTH, "configuration", ACTION_FIX, "measurement",
     "A CPU that slept 1 to 10 ms wakes up at most 50 us later than a busy one (200 us on a "
     "virtual machine).",
     "kernel, admin-guide/pm/cpuidle; measured", "sudo cpupower idle-set -D 20",
     .probes = 1u << PROBE_IDLE_EXIT,
     .limits = {{OF_MACHINE, MEASURED(PROBE_IDLE_EXIT, "idle_exit", ""), ABOVE,
                 MADE(idle_exit_most_us), OUTCOME_WARN, "idle_exit", "us",
                 "an idle CPU takes {v} us longer to wake up than a busy one: deep idle states"}},
     .passed = "idle CPUs wake up within {v} us"},
    {"numa_balancing", RULE_HEALTH, "configuration", ACTION_FIX, "two NUMA nodes",
     "Automatic NUMA balancing is off: it disturbs workers bound to nodes.",
     "kernel, admin-guide/sysctl/kernel: numa_balancing", "sudo sysctl kernel.numa_balancing=0",
     .limits =
         {{OF_MACHINE, FACT(env.numa_balancing), ABOVE, NUMBER(0), OUTCOME_WARN, NULL, NULL,
           "automatic NUMA balancing is on: it unmaps pages of pinned workers to find their users",
           .when = has_nodes}},
     .absent = "one NUMA node, or the kernel does not report it",
     .passed = "automatic NUMA balancing is off"},
    {"memlock", RULE_HEALTH, "configuration", ACTION_FIX, "the process's limits",
     "8 MiB or more may be locked, with RDMA devices any amount.", "getrlimit(2), RLIMIT_MEMLOCK",
     "ulimit -l unlimited # or memlock in /etc/security/limits.conf",
     .limits = {{MEMLOCK(INFINITY, FAIL,
                         "locked memory is limited to {v} KiB: RDMA devices cannot register "
                         "buffers"),
                 .only = FACT(rdma)},
                {MEMLOCK(MEMLOCK_LEAST, WARN, "the container limits locked memory to {v} KiB"),
                 .only = FACT(container)},
                {MEMLOCK(MEMLOCK_LEAST, FAIL,
                         "locked memory is limited to {v} KiB: MPI and io_uring need more, RDMA "
                         "has no limit")}},
     .unknown = "the limit of locked memory is not known", .passed = "enough memory may be locked"},
    {"shm", RULE_HEALTH, "configuration", ACTION_FIX, "/dev/shm", "/dev/shm has 1 GiB or more.",
     "NCCL, troubleshooting: shared memory", "sudo mount -o remount,size=50% /dev/shm",
     .limits = {{OF_MACHINE, FACT(shm_bytes), BELOW, NUMBER(SHM_LEAST), OUTCOME_WARN, "shm", "MiB",
                 "/dev/shm has {v} MiB: NCCL's shared buffers and loaders of data need more",
                 .per = 0x1p20, .in_container = "docker run --shm-size=16g ..."}},
     .unknown = "there is no /dev/shm", .passed = "/dev/shm has {v} MiB"},
    {"swap", RULE_HEALTH, "configuration", ACTION_WATCH, "/proc/meminfo",
     "No more than 1% of the memory is swapped out.", "kernel, filesystems/proc: meminfo",
     "free -m",
     .limits = {{OF_MACHINE, FACT(swap_used_bytes), ABOVE, FACT(env.memory_bytes), OUTCOME_WARN,
                 "swap_used", "MiB", "{v} MiB of memory are swapped out", .share = 0.01,
                 .per = 0x1p20}},
     .unknown = "the kernel does not report it", .passed = "almost no memory is swapped out"},
    {"huge_pages", RULE_HEALTH, "configuration", ACTION_FIX, "sysfs",
     "Programs that ask for transparent huge pages get them.", "kernel, admin-guide/mm/transhuge",
     "echo madvise | sudo tee /sys/kernel/mm/transparent_hugepage/enabled",
     .limits = {{WORDS(env.thp, ANY, WARN,
                       "transparent huge pages are off, even for programs that ask"),
                 .is = "never"},
                {WORDS(env.thp, TOLD, PASS, "")}},
     .unknown = "the kernel has no transparent huge pages",
     .passed = "transparent huge pages: {t}"},
    {"clock", RULE_HEALTH, "configuration", ACTION_FIX, "sysfs",
     "The time can be read without a system call.", "kernel, clocksource; vdso(7)",
     "cat /sys/devices/system/clocksource/clocksource0/*_clocksource",
     .limits = {SLOW_CLOCK("hpet"),
                SLOW_CLOCK("acpi_pm"),
                SLOW_CLOCK("refined-jiffies"),
                {WORDS(env.clocksource, TOLD, PASS, "")}},
     .unknown = "the kernel does not report its clock source", .passed = "clock source: {t}"},
    {.id = NULL}};

/* Rules of RDMA ports. */

/* From the kernel's rdma/ib_verbs.h: enum ib_port_state and enum ib_port_phys_state. */
enum { PORT_DOWN = 1, PORT_ACTIVE = 4, PHYSICAL_LINK_UP = 5 };
/* Plugging in a cable leaves some errors; ibcheckerrors uses the same limit. */
#define PORT_ERRORS_MOST 10

static const struct facts_port *port_of(const struct unit *unit)
{
    return unit->at;
}

static bool is_active(const struct unit *unit)
{
    return port_of(unit)->state == PORT_ACTIVE;
}

static bool is_down(const struct unit *unit)
{
    return port_of(unit)->state == PORT_DOWN && port_of(unit)->physical != PHYSICAL_LINK_UP;
}

static bool is_up_and_unused(const struct unit *unit)
{
    return port_of(unit)->state >= 0 && !is_active(unit) &&
           port_of(unit)->physical == PHYSICAL_LINK_UP;
}

static const char *name_of_state(const struct unit *unit)
{
    const char *text = "";
    static const char *const names[] = {"NOP", "DOWN", "INIT", "ARMED", "ACTIVE", "ACTIVE_DEFER"};
    const unsigned state = (unsigned)port_of(unit)->state;
    (void)text;
    return state < sizeof(names) / sizeof(names[0]) ? names[state] : "unknown";
}

/* The highest rate of an active port of the same board: sysfs does not say what a port can do. */
static double rate_of_peers(const struct unit *unit)
{
    double most = NAN;
    for (size_t i = 0; i < unit->facts->nports; i++) {
        const struct facts_port *peer = &unit->facts->ports[i];
        if (peer->state == PORT_ACTIVE && strcmp(peer->model, port_of(unit)->model) == 0)
            most = fmax(most, peer->rate_gbps);
    }
    return most;
}

static double ports_down(const struct unit *unit)
{
    unsigned n = 0;
    for (size_t i = 0; i < unit->facts->nports; i++) {
        const struct unit port = {.facts = unit->facts, .at = &unit->facts->ports[i]};
        n += is_down(&port);
    }
    return n;
}

#define PORT(name) FIELD(facts_port, name)
#define PORT_ERRORS(field, sentence)                                                               \
    {                                                                                              \
        OF_PORT, PORT(field), ABOVE, NUMBER(PORT_ERRORS_MOST), OUTCOME_WARN, #field, "events",     \
            sentence " since its counters were cleared"                                            \
    }

const struct rule rules_devices[] = {
    {"rdma_ports", RULE_HEALTH, "hardware", ACTION_REPLACE, "sysfs, RDMA device",
     "Every RDMA port with a link is active, as fast as other ports of the same board; ports that "
     "are down are one warning.",
     "kernel, sysfs-class-infiniband", "rdma link; ibstat",
     .limits = {{OF_PORT, NUMBER(1), ANY, NUMBER(0), OUTCOME_FAIL, NULL, NULL,
                 "its link is up and its state is {t}, not ACTIVE: is there a subnet manager?",
                 .when = is_up_and_unused, .text = name_of_state, .cause = "configuration"},
                {OF_PORT, PORT(rate_gbps), BELOW, MADE(rate_of_peers), OUTCOME_FAIL, "rdma_rate",
                 "Gb/s", "its rate is {v} Gb/s, and {b} on another port of the same board",
                 .when = is_active},
                {OF_PORT, MADE(ports_down), ABOVE, NUMBER(0), OUTCOME_WARN, "rdma_ports_down",
                 "ports", "this port is down: no cable, or its other end is off ({v} are down)",
                 .when = is_down, .cause = "configuration", .independent = true, .once = true}},
     .absent = "no RDMA device", .passed = "RDMA ports are active and as fast as their peers"},
    {"rdma_errors", RULE_HEALTH, "hardware", ACTION_WATCH, "sysfs, RDMA device",
     "No RDMA port has counted more than 10 errors of one kind.",
     "kernel, sysfs-class-infiniband; infiniband-diags, ibcheckerrors", "perfquery -x",
     .limits = {PORT_ERRORS(symbol_errors, "{v} symbol errors"),
                PORT_ERRORS(recoveries, "its link recovered from errors {v} times"),
                PORT_ERRORS(downs, "its link went down {v} times"),
                PORT_ERRORS(receive_errors, "{v} packets arrived with errors")},
     .absent = "no RDMA device with counters", .passed = "hardly any errors of RDMA ports"},
    {.id = NULL}};
