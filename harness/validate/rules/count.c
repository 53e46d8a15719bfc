/* Rules that count: what the bus, the firmware and the kernel list, against what can be used. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "harness/machine/gpu/health.h"
#include "harness/machine/topo/topo_gpu.h"
#include "harness/validate/rules/check.h"
#include "harness/validate/rules/expect.h"

static bool driver_shows(const struct topo *topo, const char *bdf)
{
    for (unsigned i = 0; i < topo->ngpus; i++)
        if (strcasecmp(topo->gpus[i].pci_bdf, bdf) == 0)
            return true;
    return false;
}

static unsigned count_gpus(const struct facts *facts)
{
    unsigned n = 0;
    for (size_t i = 0; i < facts->ndevices; i++)
        n += facts->devices[i].kind == FACTS_GPU;
    return n;
}

/* In a container the bus shows all GPUs of the host, and the driver those that were handed in. */
static void say_hidden(struct checks *checks, const struct facts_device *device, unsigned shown,
                       unsigned all)
{
    const struct facts *facts = checks->facts;
    char name[96];
    struct check check = {.unit = facts_device_name(device, name, sizeof(name)),
                          .metric = "gpus",
                          .in = "GPUs",
                          .value = shown,
                          .low = all,
                          .high = all};
    if (strcmp(device->driver, "vfio-pci") == 0) {
        check.cause = "configuration";
        check_warn(checks, &check, "this GPU is bound to vfio-pci: it is meant for a guest");
    } else if (facts->container) {
        check.cause = "container";
        check.command = "docker run --gpus all ...";
        check_warn(checks, &check, "this GPU of the host was not handed to the container");
    } else if (!shown) {
        check.cause = "configuration";
        check.command = "lsmod | grep nvidia; sudo dmesg | grep -i nvrm";
        check_fail(checks, &check, "no GPU answers: %s",
                   facts->why_no_gpus[0] ? facts->why_no_gpus : "the driver shows none");
    } else {
        check_fail(checks, &check,
                   "this GPU is on the PCI bus, and the driver does not show it: %u of %u GPUs",
                   shown, all);
    }
}

static void judge_gpus(struct checks *checks)
{
    const struct facts *facts = checks->facts;
    unsigned all = count_gpus(facts), shown = 0;
    bool wrong = false;
    if (facts->pci != FACTS_READ)
        check_skip(checks, "the PCI bus cannot be read here");
    else if (!all && !facts->topo->ngpus)
        check_skip(checks, "no NVIDIA GPU is on the PCI bus");
    else if (!all)
        check_skip(checks, "the PCI bus of this container does not show the GPUs");
    if (facts->pci != FACTS_READ || !all)
        return;
    for (size_t i = 0; i < facts->ndevices; i++)
        shown +=
            facts->devices[i].kind == FACTS_GPU && driver_shows(facts->topo, facts->devices[i].bdf);
    for (size_t i = 0; i < facts->ndevices; i++) {
        const struct facts_device *device = &facts->devices[i];
        if (device->kind != FACTS_GPU || driver_shows(facts->topo, device->bdf))
            continue;
        wrong = true;
        say_hidden(checks, device, shown, all);
    }
    if (!wrong)
        check_pass(checks, "%u GPU%s on the bus, known to the driver", all, all == 1 ? "" : "s");
}

/* The rules of GPUs skip where there is none; that must not add up to a pass of a GPU server. */
static void judge_gpus_judged(struct checks *checks)
{
    static const char type[] = "of a CPU-only machine, add --expect gpus=0; of a GPU server, "
                               "--expect gpus=N";
    const struct facts *facts = checks->facts;
    const struct rule_expected *expected = expect_of_gpus(checks->request);
    unsigned shown = facts->topo->ngpus, on_bus = count_gpus(facts);
    if (shown)
        check_pass(checks, "%u GPU%s answer%s and can be judged", shown, shown == 1 ? "" : "s",
                   shown == 1 ? "s" : "");
    else if (expected && expected->count < 1)
        check_pass(checks, "there is no GPU to judge, as expected");
    else if (!expected && checks->request->of_known_kind)
        check_pass(checks, "there is no GPU to judge, as in the machines of the baseline");
    else if (on_bus)
        check_skip_with(checks, type, "%u NVIDIA GPU%s on the PCI bus, and none answers%s", on_bus,
                        on_bus == 1 ? " is" : "s are",
                        facts->container ? " in this container" : "");
    else if (facts->pci != FACTS_READ)
        check_skip_with(checks, type, "no driver shows a GPU, and the PCI bus cannot be read");
    else
        check_skip_with(checks, type, "no NVIDIA GPU is on the PCI bus%s%s",
                        facts->other_gpus[0] ? "; " : "", facts->other_gpus);
}

static void judge_gpus_for_cuda(struct checks *checks)
{
    const struct topo *topo = checks->facts->topo;
    unsigned visible = topo_visible_gpus(topo);
    if (!topo->ngpus)
        check_skip(checks, "no GPU");
    else if (visible < topo->ngpus)
        check_warn(checks,
                   &(struct check){.metric = "cuda_gpus",
                                   .in = "GPUs",
                                   .value = visible,
                                   .low = topo->ngpus,
                                   .high = NAN},
                   "CUDA shows %u of the driver's %u GPUs: %s", visible, topo->ngpus,
                   topo->gpu_note[0] ? topo->gpu_note : "see CUDA_VISIBLE_DEVICES and MIG");
    else
        check_pass(checks, "CUDA shows all %u GPUs", visible);
}

static void judge_nvlinks(struct checks *checks)
{
    const struct topo *topo = checks->facts->topo;
    bool any = false, wrong = false;
    int links = 0;
    char name[64];
    for (unsigned i = 0; i < topo->ngpus; i++) {
        const struct gpu_health *health = topo->gpus[i].health;
        if (!health || health->nvlinks <= 0)
            continue;
        any = true;
        links = health->nvlinks;
        const struct check check = {.unit = topo_gpu_name(&topo->gpus[i], name, sizeof(name)),
                                    .metric = "nvlinks_active",
                                    .in = "links",
                                    .value = health->nvlinks_active,
                                    .low = health->nvlinks,
                                    .high = NAN};
        wrong = wrong || health->nvlinks_active < health->nvlinks;
        if (health->nvlinks_active == 0)
            check_warn(checks, &check,
                       "none of its %d NVLinks is active: no bridge or switch, or the fabric "
                       "manager has not started",
                       health->nvlinks);
        else if (health->nvlinks_active < health->nvlinks)
            check_fail(checks, &check, "%d of %d NVLinks are down",
                       health->nvlinks - health->nvlinks_active, health->nvlinks);
    }
    if (!any)
        check_skip(checks, topo->ngpus ? "the driver tells of no NVLinks" : "no GPU");
    else if (!wrong)
        check_pass(checks, "all %d NVLinks of each GPU are active", links);
}

static void judge_cpus_online(struct checks *checks)
{
    const struct facts *facts = checks->facts;
    const struct check check = {.metric = "cpus_online",
                                .in = "CPUs",
                                .value = facts->cpus_online,
                                .low = facts->cpus_present,
                                .high = NAN};
    bool no_smt = strcmp(facts->smt, "off") == 0 || strcmp(facts->smt, "forceoff") == 0;
    if (facts->cpus_present < 0 || facts->cpus_online < 0)
        check_skip(checks, "the kernel does not say which CPUs are online");
    else if (facts->cpus_online >= facts->cpus_present)
        check_pass_value(checks, &check, "all %d CPUs are online", facts->cpus_online);
    else if (no_smt && facts->cpus_online * 2 >= facts->cpus_present)
        check_warn(checks, &check, "SMT is switched off: %d of %d CPUs are online",
                   facts->cpus_online, facts->cpus_present);
    else
        check_fail(checks, &check, "%d of %d CPUs are online", facts->cpus_online,
                   facts->cpus_present);
}

static int count_list(const char *list)
{
    struct bitset cpus = {0};
    return !list[0] || bitset_parse(list, &cpus, NULL) ? -1 : (int)bitset_count(&cpus);
}

static void judge_cpus_allowed(struct checks *checks)
{
    const struct facts *facts = checks->facts;
    struct bitset allowed = {0};
    topo_allowed_cpus(facts->topo, &allowed);
    int cpuset = count_list(facts->env.cgroup.cpuset);
    int here = (int)bitset_count(&allowed);
    int all = facts->cpus_online > 0 ? facts->cpus_online : (int)facts->topo->ncpus;
    struct check check = {
        .metric = "cpus_allowed", .in = "CPUs", .value = here, .low = all, .high = NAN};
    if (cpuset >= 0 && cpuset < all) {
        check.value = cpuset < here ? cpuset : here;
        check_warn(checks, &check, "its cgroup allows %d of the machine's %d CPUs (%s)", cpuset,
                   all, facts->env.cgroup.cpuset);
    } else if (here < all) {
        check.cause = facts->container ? "container" : "setup";
        check.command = facts->container ? NULL : "taskset -pc $$";
        check_warn(checks, &check, "this process may run on %d of the machine's %d CPUs", here,
                   all);
    } else {
        check_pass_value(checks, &check, "all %d CPUs may be used", here);
    }
}

static void judge_cpu_quota(struct checks *checks)
{
    const struct facts *facts = checks->facts;
    double limit = facts->env.cgroup.cpus_limit;
    int all = facts->cpus_online > 0 ? facts->cpus_online : (int)facts->topo->ncpus;
    if (isnan(limit) || limit >= all)
        check_pass(checks, "no cgroup limits the CPUs' time");
    else
        check_warn(
            checks,
            &(struct check){
                .metric = "cpu_quota", .in = "CPUs", .value = limit, .low = all, .high = NAN},
            "the cgroup grants the time of %.3g of %d CPUs: who takes more is stopped until "
            "the next period",
            limit, all);
}

/* Virtual machines have tables, too, and what is in them is made up. */
static bool has_firmware(struct checks *checks, size_t n)
{
    const struct facts *facts = checks->facts;
    if (facts->env.virtual_machine > 0)
        check_skip(checks, "a virtual machine: its firmware's tables are made up");
    else if (facts->dmi == FACTS_DENIED)
        check_skip(checks, "the firmware's tables are readable as root: sudo contend validate");
    else if (facts->dmi == FACTS_ABSENT || !n)
        check_skip(checks, "the firmware has no such table here");
    else
        return true;
    return false;
}

static void judge_sockets(struct checks *checks)
{
    const struct facts *facts = checks->facts;
    int cores = 0, enabled = 0;
    bool wrong = false, known = true;
    if (!has_firmware(checks, facts->nsockets))
        return;
    for (size_t i = 0; i < facts->nsockets; i++) {
        const struct facts_socket *socket = &facts->sockets[i];
        if (!socket->populated)
            continue;
        if (!socket->enabled) {
            wrong = true;
            check_fail(checks, &(struct check){.unit = socket->name},
                       "a processor is in this socket, and the firmware has disabled it");
        }
        known = known && socket->cores > 0 && socket->cores_enabled > 0;
        cores += socket->cores;
        enabled += socket->cores_enabled;
    }
    const struct check check = {
        .metric = "cores_enabled", .in = "cores", .value = enabled, .low = cores, .high = NAN};
    if (!wrong && known && enabled < cores)
        check_warn(checks, &check, "the firmware has enabled %d of the processors' %d cores",
                   enabled, cores);
    else if (!wrong && known && (int)facts->topo->ncores < enabled && !facts->container)
        check_warn(checks, &check, "the firmware has enabled %d cores, and the kernel shows %u",
                   enabled, facts->topo->ncores);
    else if (!wrong)
        check_pass(checks, "every populated socket is enabled");
}

static void judge_memory_size(struct checks *checks)
{
    const struct facts *facts = checks->facts;
    double installed = 0, seen = facts->env.memory_bytes;
    size_t modules = 0;
    if (!has_firmware(checks, facts->ndimms))
        return;
    for (size_t i = 0; i < facts->ndimms; i++) {
        if (facts->dimms[i].size_mib <= 0)
            continue;
        modules++;
        installed += (double)facts->dimms[i].size_mib * 0x1p20;
    }
    /* The kernel, firmware and graphics keep a few percent. */
    const struct check check = {.metric = "memory",
                                .in = "GiB",
                                .value = seen / 0x1p30,
                                .low = 0.9 * installed / 0x1p30,
                                .high = installed / 0x1p30};
    if (isnan(seen) || modules == 0)
        check_skip(checks, "no sizes are told");
    else if (seen < 0.9 * installed)
        check_fail(checks, &check,
                   "%zu memory modules have %.0f GiB, and the kernel sees %.0f GiB of it: the "
                   "firmware may have disabled one",
                   modules, installed / 0x1p30, seen / 0x1p30);
    else
        check_pass_value(checks, &check, "%zu memory modules, %.0f GiB", modules,
                         installed / 0x1p30);
}

static void judge_numa_memory(struct checks *checks)
{
    const struct topo *topo = checks->facts->topo;
    bool wrong = false;
    for (unsigned i = 0; i < topo->nnodes; i++) {
        const struct topo_node *node = &topo->nodes[i];
        char unit[32];
        if (node->memory_bytes || bitset_empty(&node->cpus))
            continue;
        wrong = true;
        (void)snprintf(unit, sizeof(unit), "node %u", node->os_node);
        check_fail(checks, &(struct check){.unit = unit},
                   "this NUMA node has CPUs and no memory: its modules are missing or disabled");
    }
    if (topo->nnodes < 2)
        check_skip(checks, "one NUMA node");
    else if (!wrong)
        check_pass(checks, "each of %u NUMA nodes has memory", topo->nnodes);
}

const struct rule rules_count[] = {
    {.id = RULES_GPUS_ID,
     .kind = RULE_COUNT,
     .cause = "setup",
     .action = ACTION_MEND,
     .needs = "a GPU, or --expect gpus=0",
     .about = "A GPU answers and can be judged, or --expect gpus=0 says that this machine has "
              "none. Where this is skipped the verdict is SKIP, not PASS.",
     .source = "a pass is of what the machine is for",
     .command = "contend topo; lspci",
     .judge = judge_gpus_judged},
    {.id = "gpus_on_bus",
     .kind = RULE_COUNT,
     .cause = "hardware",
     .action = ACTION_RESET,
     .needs = "PCI bus, driver",
     .about = "Every NVIDIA GPU on the PCI bus is one that the driver shows; a lost one is named "
              "with its slot.",
     .source = "sysfs against NVML",
     .command = "sudo dmesg | grep -i -e nvrm -e xid",
     .judge = judge_gpus,
     .of_gpus = true},
    {.id = "gpus_for_cuda",
     .kind = RULE_COUNT,
     .cause = "setup",
     .action = ACTION_MEND,
     .needs = "driver",
     .about = "CUDA shows every GPU that NVML shows: the tests reach those alone.",
     .source = "CUDA against NVML",
     .command = "unset CUDA_VISIBLE_DEVICES",
     .judge = judge_gpus_for_cuda,
     .of_gpus = true},
    {.id = "nvlinks",
     .kind = RULE_COUNT,
     .cause = "hardware",
     .action = ACTION_RESET,
     .needs = "driver",
     .about = "Every NVLink of every GPU is active.",
     .source = "NVML, nvmlDeviceGetNvLinkState",
     .command = "nvidia-smi nvlink --status",
     .judge = judge_nvlinks,
     .of_gpus = true},
    {.id = "cpus_online",
     .kind = RULE_COUNT,
     .cause = "configuration",
     .action = ACTION_MEND,
     .needs = "sysfs",
     .about = "Every CPU that is present is online.",
     .source = "kernel, admin-guide/cputopology",
     .command = "cat /sys/devices/system/cpu/offline /sys/devices/system/cpu/smt/control",
     .judge = judge_cpus_online},
    {.id = "cpus_allowed",
     .kind = RULE_COUNT,
     .cause = "container",
     .action = ACTION_MEND,
     .needs = "cgroup, affinity",
     .about = "The cgroup and the affinity of this process allow all of the machine's CPUs: the "
              "tests see those alone.",
     .source = "cgroup v2, cpuset.cpus.effective",
     .command = "cat /proc/self/cgroup /sys/fs/cgroup/cpuset.cpus.effective",
     .judge = judge_cpus_allowed},
    {.id = "cpu_quota",
     .kind = RULE_COUNT,
     .cause = "container",
     .action = ACTION_MEND,
     .needs = "cgroup",
     .about = "No cgroup grants less time than the CPUs have.",
     .source = "cgroup v2, cpu.max",
     .command = "cat /sys/fs/cgroup/cpu.max",
     .judge = judge_cpu_quota},
    {.id = "cpu_sockets",
     .kind = RULE_COUNT,
     .cause = "configuration",
     .action = ACTION_MEND,
     .needs = "firmware's tables (root), no virtual machine",
     .about = "Every populated socket and all its cores are enabled by the firmware and seen by "
              "the kernel.",
     .source = "SMBIOS 3.7, type 4",
     .command = "sudo dmidecode -t processor",
     .judge = judge_sockets},
    {.id = "memory_size",
     .kind = RULE_COUNT,
     .cause = "hardware",
     .action = ACTION_REPLACE,
     .needs = "firmware's tables (root), no virtual machine",
     .about = "The kernel sees at least 90% of the memory that the modules have together.",
     .source = "SMBIOS 3.7, type 17, against MemTotal",
     .command = "sudo dmidecode -t memory",
     .judge = judge_memory_size},
    {.id = "numa_memory",
     .kind = RULE_COUNT,
     .cause = "hardware",
     .action = ACTION_REPLACE,
     .needs = "topology",
     .about = "Every NUMA node with CPUs has memory.",
     .source = "kernel, /sys/devices/system/node",
     .command = "numactl --hardware",
     .judge = judge_numa_memory},
    {.id = NULL}};
