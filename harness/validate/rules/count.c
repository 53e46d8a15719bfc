/* Rules that compare counts: what bus, firmware and kernel list, with what can be used. */
#include "harness/validate/rules/count.h"

#include <math.h>
#include <string.h>

#include "harness/validate/rules/rules.h"

static bool driver_shows(const struct topo *topo, const char *bdf)
{
    for (unsigned i = 0; i < topo->ngpus; i++)
        if (strcasecmp(topo->gpus[i].pci_bdf, bdf) == 0)
            return true;
    return false;
}

double count_devices(const struct facts *facts, enum facts_kind kind)
{
    unsigned n = 0;
    for (size_t i = 0; i < facts->ndevices; i++)
        n += facts->devices[i].kind == kind;
    return facts->pci == FACTS_READ ? (double)n : (double)NAN;
}

static bool is_gpu(const struct unit *unit)
{
    return ((const struct facts_device *)unit->at)->kind == FACTS_GPU;
}

/* In a container the bus shows all GPUs of the host, the driver only those passed in. */
static bool is_hidden(const struct unit *unit)
{
    return is_gpu(unit) &&
           !driver_shows(unit->facts->topo, ((const struct facts_device *)unit->at)->bdf);
}

static bool is_for_guest(const struct unit *unit)
{
    return is_hidden(unit) &&
           strcmp(((const struct facts_device *)unit->at)->driver, "vfio-pci") == 0;
}

static bool is_hidden_by_container(const struct unit *unit)
{
    return is_hidden(unit) && unit->facts->container;
}

static double gpus_shown(const struct unit *unit)
{
    const struct facts *facts = unit->facts;
    unsigned n = 0;
    for (size_t i = 0; i < facts->ndevices; i++)
        n +=
            facts->devices[i].kind == FACTS_GPU && driver_shows(facts->topo, facts->devices[i].bdf);
    return n;
}

static double gpus_on_bus(const struct unit *unit)
{
    return count_devices(unit->facts, FACTS_GPU);
}

static bool shows_no_gpu(const struct unit *unit)
{
    return is_hidden(unit) && gpus_shown(unit) < 1;
}

static const char *why_no_gpu(const struct unit *unit)
{
    const char *text = "";
    (void)text;
    return unit->facts->why_no_gpus[0] ? unit->facts->why_no_gpus : "the driver shows none";
}

static bool can_read_bus(struct checks *checks)
{
    const struct facts *facts = checks->facts;
    if (count_devices(facts, FACTS_GPU) > 0)
        return true;
    check_report(checks, OUTCOME_SKIP,
                 &(struct check){.open = facts->pci != FACTS_READ || facts->topo->ngpus},
                 facts->pci != FACTS_READ ? "the PCI bus cannot be read here"
                 : facts->topo->ngpus     ? "the PCI bus of this container does not show the GPUs"
                                          : "no NVIDIA GPU is on the PCI bus");
    return false;
}

static double gpus_of_cuda(const struct unit *unit)
{
    return topo_visible_gpus(unit->facts->topo);
}

double count_gpus_of_driver(const struct unit *unit)
{
    return unit->facts->topo->ngpus;
}

static const char *why_hidden(const struct unit *unit)
{
    const char *text = "";
    (void)text;
    return unit->facts->topo->gpu_note[0] ? unit->facts->topo->gpu_note
                                          : "see CUDA_VISIBLE_DEVICES and MIG";
}

static bool has_no_smt(const struct unit *unit)
{
    const struct facts *facts = unit->facts;
    return (strcmp(facts->smt, "off") == 0 || strcmp(facts->smt, "forceoff") == 0) &&
           facts->cpus_online * 2 >= facts->cpus_present;
}

double count_cpus_of_machine(const struct unit *unit)
{
    const struct facts *facts = unit->facts;
    return facts->cpus_online > 0 ? facts->cpus_online : (double)facts->topo->ncpus;
}

static double cpus_allowed(const struct unit *unit)
{
    struct bitset allowed = {0};
    topo_allowed_cpus(unit->facts->topo, &allowed);
    return bitset_count(&allowed);
}

static double cpus_of_cgroup(const struct unit *unit)
{
    struct bitset cpus = {0};
    const char *list = unit->facts->env.cgroup.cpuset;
    return !list[0] || bitset_parse(list, &cpus, NULL) ? (double)NAN : bitset_count(&cpus);
}

/* NaN: unknown for a socket. */
static double sum_cores(const struct facts *facts, bool enabled)
{
    double sum = 0;
    for (size_t i = 0; i < facts->nsockets; i++) {
        const struct facts_socket *socket = &facts->sockets[i];
        if (socket->populated && (socket->cores < 1 || socket->cores_enabled < 1))
            return NAN;
        if (socket->populated)
            sum += enabled ? socket->cores_enabled : socket->cores;
    }
    return sum;
}

static double cores_installed(const struct unit *unit)
{
    return sum_cores(unit->facts, false);
}

static double cores_enabled(const struct unit *unit)
{
    return sum_cores(unit->facts, true);
}

static double cores_seen(const struct unit *unit)
{
    return unit->facts->topo->ncores;
}

static double memory_installed(const struct unit *unit)
{
    double sum = 0;
    for (size_t i = 0; i < unit->facts->ndimms; i++)
        sum += fmax(0, (double)unit->facts->dimms[i].size_mib) * 0x1p20;
    return sum;
}

static bool has_sockets(struct checks *checks)
{
    return check_firmware(checks, checks->facts->nsockets);
}

static bool has_modules(struct checks *checks)
{
    return check_firmware(checks, checks->facts->ndimms);
}

static bool has_cpus(const struct unit *unit)
{
    return unit->facts->topo->nnodes > 1 &&
           !bitset_empty(&((const struct topo_node *)unit->at)->cpus);
}

#define GPUS(outcome, sentence, which)                                                             \
    OF_DEVICE, MADE(gpus_shown), BELOW, MADE(gpus_on_bus), OUTCOME_##outcome, "gpus", "GPUs",      \
        sentence, .when = (which)

const struct rule rules_count[] = {
    {"gpus_on_bus", RULE_COUNT, "hardware", ACTION_RESET, "PCI bus, driver",
     "Every NVIDIA GPU on the PCI bus is one that the driver shows; a lost one is named with its "
     "slot.",
     "sysfs against NVML", "sudo dmesg | grep -i -e nvrm -e xid", .ready = can_read_bus,
     .of_gpus = true,
     .limits =
         {{GPUS(WARN, "this GPU is bound to vfio-pci: it is meant for a guest", is_for_guest),
           .cause = "configuration"},
          {GPUS(WARN, "this GPU of the host was not handed to the container",
                is_hidden_by_container),
           .in_container = "docker run --gpus all ..."},
          {GPUS(FAIL, "no GPU answers: {t}", shows_no_gpu), .text = why_no_gpu,
           .cause = "configuration", .command = "lsmod | grep nvidia; sudo dmesg | grep -i nvrm"},
          {GPUS(FAIL,
                "this GPU is on the PCI bus, and the driver does not show it: {v} of {b} GPUs",
                is_hidden)},
          {OF_DEVICE, MADE(gpus_shown), TOLD, NUMBER(0), OUTCOME_PASS, NULL, NULL, "",
           .when = is_gpu}},
     .passed = "{n} GPU{s} on the bus, known to the driver"},
    {"gpus_for_cuda", RULE_COUNT, "setup", ACTION_FIX, "driver",
     "CUDA shows every GPU that NVML shows: tests reach no others.", "CUDA against NVML",
     "unset CUDA_VISIBLE_DEVICES", .of_gpus = true,
     .limits = {{OF_MACHINE, MADE(gpus_of_cuda), BELOW, MADE(count_gpus_of_driver), OUTCOME_FAIL,
                 "cuda_gpus", "GPUs", "CUDA shows {v} of the driver's {b} GPUs: {t}",
                 .text = why_hidden}},
     .absent = "no GPU", .passed = "CUDA shows what the driver does: {v}"},
    {"nvlinks", RULE_COUNT, "hardware", ACTION_RESET, "driver",
     "Every NVLink of every GPU is active.", "NVML, nvmlDeviceGetNvLinkState",
     "nvidia-smi nvlink --status", .of_gpus = true,
     .limits = {{OF_GPU, GPU(nvlinks_active), NONE, GPU(nvlinks), OUTCOME_WARN, "nvlinks_active",
                 "links",
                 "none of its {b} NVLinks is active: no bridge or switch, or the fabric manager "
                 "has not started"},
                {OF_GPU, GPU(nvlinks_active), BELOW, GPU(nvlinks), OUTCOME_FAIL, "nvlinks_active",
                 "links", "{d} of {b} NVLinks are down"}},
     .absent = "the driver reports no NVLinks", .passed = "all {v} NVLinks of each GPU are active"},
    {"cpus_online", RULE_COUNT, "configuration", ACTION_FIX, "sysfs",
     "Every CPU that is present is online.", "kernel, admin-guide/cputopology",
     "cat /sys/devices/system/cpu/offline /sys/devices/system/cpu/smt/control",
     .limits = {{OF_MACHINE, FACT(cpus_online), BELOW, FACT(cpus_present), OUTCOME_WARN,
                 "cpus_online", "CPUs", "SMT is switched off: {v} of {b} CPUs are online",
                 .when = has_no_smt},
                {OF_MACHINE, FACT(cpus_online), BELOW, FACT(cpus_present), OUTCOME_FAIL,
                 "cpus_online", "CPUs", "{v} of {b} CPUs are online"}},
     .unknown = "the kernel does not say which CPUs are online",
     .passed = "all {v} CPUs are online"},
    {"cpus_allowed", RULE_COUNT, "container", ACTION_FIX, "cgroup, affinity",
     "The cgroup and the affinity of this process allow all of the machine's CPUs: tests see no "
     "others.",
     "cgroup v2, cpuset.cpus.effective",
     "cat /proc/self/cgroup /sys/fs/cgroup/cpuset.cpus.effective",
     .limits = {{OF_MACHINE, MADE(cpus_of_cgroup), BELOW, MADE(count_cpus_of_machine), OUTCOME_WARN,
                 "cpus_allowed", "CPUs", "its cgroup allows {v} of the machine's {b} CPUs ({t})",
                 .setting = SETTING(env.cgroup.cpuset)},
                {OF_MACHINE, MADE(cpus_allowed), BELOW, MADE(count_cpus_of_machine), OUTCOME_WARN,
                 "cpus_allowed", "CPUs", "this process may run on {v} of the machine's {b} CPUs",
                 .only = FACT(container)},
                {OF_MACHINE, MADE(cpus_allowed), BELOW, MADE(count_cpus_of_machine), OUTCOME_WARN,
                 "cpus_allowed", "CPUs", "this process may run on {v} of the machine's {b} CPUs",
                 .cause = "setup", .command = "taskset -pc $$"}},
     .passed = "all {v} CPUs may be used"},
    {"cpu_quota", RULE_COUNT, "container", ACTION_FIX, "cgroup",
     "No cgroup grants less time than the CPUs have.", "cgroup v2, cpu.max",
     "cat /sys/fs/cgroup/cpu.max",
     .limits = {{OF_MACHINE, FACT(env.cgroup.cpus_limit), BELOW, MADE(count_cpus_of_machine),
                 OUTCOME_WARN, "cpu_quota", "CPUs",
                 "the cgroup grants the time of {v} of {b} CPUs: a process that uses more is "
                 "stopped until the next period"}},
     .passed = "no cgroup limits the CPUs' time"},
    {"cpu_sockets", RULE_COUNT, "configuration", ACTION_FIX,
     "firmware's tables (root), no virtual machine",
     "Every populated socket and all its cores are enabled by the firmware and seen by the "
     "kernel.",
     "SMBIOS 3.7, type 4", "sudo dmidecode -t processor", .ready = has_sockets,
     .limits = {{OF_SOCKET, FIELD(facts_socket, enabled), EQUALS, NUMBER(0), OUTCOME_FAIL, NULL,
                 NULL, "a processor is in this socket, and the firmware has disabled it",
                 .only = FIELD(facts_socket, populated)},
                {OF_MACHINE, MADE(cores_enabled), BELOW, MADE(cores_installed), OUTCOME_WARN,
                 "cores_enabled", "cores",
                 "the firmware has enabled {v} of the processors' {b} cores", .fallback = true},
                {OF_MACHINE, MADE(cores_seen), BELOW, MADE(cores_enabled), OUTCOME_WARN,
                 "cores_seen", "cores",
                 "the firmware has enabled {b} cores, and the kernel shows {v}",
                 .when = unit_is_outside}},
     .passed = "every populated socket is enabled"},
    {"memory_size", RULE_COUNT, "hardware", ACTION_REPLACE,
     "firmware's tables (root), no virtual machine",
     "The kernel sees at least 90% of the memory that the modules have together.",
     "SMBIOS 3.7, type 17, against MemTotal", "sudo dmidecode -t memory", .ready = has_modules,
     .limits = {{OF_MACHINE, FACT(env.memory_bytes), BELOW, MADE(memory_installed), OUTCOME_FAIL,
                 "memory", "GiB",
                 "the memory modules have {w} GiB, but the kernel sees {v} GiB: the firmware may "
                 "have disabled one",
                 .share = 0.9, .per = 0x1p30}},
     .unknown = "no sizes are reported", .passed = "memory modules of {w} GiB, seen by the kernel"},
    {"numa_memory", RULE_COUNT, "hardware", ACTION_REPLACE, "topology",
     "Every NUMA node with CPUs has memory.", "kernel, /sys/devices/system/node",
     "numactl --hardware",
     .limits = {{OF_NODE, FIELD(topo_node, memory_bytes), BELOW, NUMBER(1), OUTCOME_FAIL, NULL,
                 NULL, "this NUMA node has CPUs and no memory: its modules are missing or disabled",
                 .when = has_cpus}},
     .absent = "one NUMA node", .passed = "each NUMA node has memory"},
    {.id = NULL}};
