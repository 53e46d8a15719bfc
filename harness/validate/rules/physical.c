/* Rules of physics: a link or a memory against what it can do, by its own width and clock. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/machine/gpu/health.h"
#include "harness/machine/topo/topo_gpu.h"
#include "harness/validate/rules/check.h"

/*
 * What of the physical limit a measurement has to reach, and what none can exceed. Pinned copies
 * reach 0.8 to 0.9 of a PCIe link (256 B payloads: 256 / 280 of the bytes are data), STREAM 0.75 to
 * 0.9 of DDR, device kernels 0.85 to 0.95 of HBM. The lower bounds are well below: what falls short
 * of them has lost lanes, channels or clocks.
 */
static const double pcie_least = 0.6, ddr_least = 0.4, hbm_least = 0.7, most = 1.02;

static const char *const kind_names[] = {
    [FACTS_GPU] = "GPU", [FACTS_NVSWITCH] = "NVSwitch", [FACTS_NIC] = "NIC", [FACTS_NVME] = "NVMe"};

static void name_device(const struct facts_device *device, char *buf, size_t size)
{
    char name[96];
    (void)snprintf(buf, size, "%s %s", kind_names[device->kind],
                   facts_device_name(device, name, sizeof(name)));
}

static void say_width(struct checks *checks, const char *unit, int lanes, int lanes_max, int slot)
{
    const struct check check = {.unit = unit,
                                .metric = "pcie_width",
                                .in = "lanes",
                                .value = lanes,
                                .low = lanes_max,
                                .high = NAN};
    if (slot == lanes)
        check_warn(checks, &check, "PCIe width is x%d of x%d: the port above it has no more lanes",
                   lanes, lanes_max);
    else
        check_fail(checks, &check,
                   "PCIe width is x%d of x%d: seat the card and its riser anew, then replace them",
                   lanes, lanes_max);
}

/* GPUs whose link sysfs does not show, as on virtual machines, by what NVML says. */
static void judge_width_of_gpus(struct checks *checks, unsigned *n, bool *wrong)
{
    const struct topo *topo = checks->facts->topo;
    char name[64];
    for (unsigned i = 0; i < topo->ngpus; i++) {
        const struct gpu_health *health = topo->gpus[i].health;
        const struct facts_device *device = facts_find_device(checks->facts, topo->gpus[i].pci_bdf);
        if (!health || health->pcie_width < 1 || health->pcie_width_max < 1 ||
            (device && device->lanes > 0 && device->lanes_max > 0))
            continue;
        ++*n;
        if (health->pcie_width >= health->pcie_width_max)
            continue;
        *wrong = true;
        say_width(checks, topo_gpu_name(&topo->gpus[i], name, sizeof(name)), health->pcie_width,
                  health->pcie_width_max, -1);
    }
}

static void judge_width(struct checks *checks)
{
    const struct facts *facts = checks->facts;
    unsigned n = 0;
    bool wrong = false;
    char unit[160];
    for (size_t i = 0; i < facts->ndevices; i++) {
        const struct facts_device *device = &facts->devices[i];
        if (device->kind == FACTS_OTHER || device->lanes < 1 || device->lanes_max < 1)
            continue;
        n++;
        if (device->lanes >= device->lanes_max)
            continue;
        wrong = true;
        name_device(device, unit, sizeof(unit));
        say_width(checks, unit, device->lanes, device->lanes_max, device->lanes_slot);
    }
    judge_width_of_gpus(checks, &n, &wrong);
    if (!n)
        check_skip(checks, "no GPU, NIC or NVMe drive whose PCIe link is told");
    else if (!wrong)
        check_pass(checks, "%u PCIe link%s full width", n, n == 1 ? " has its" : "s have their");
}

/* A GPU lowers its link while it is idle: there, the most that board and slot can do together. */
static void judge_speed(struct checks *checks)
{
    const struct facts *facts = checks->facts;
    unsigned n = 0;
    bool wrong = false;
    char unit[160];
    for (size_t i = 0; i < facts->ndevices; i++) {
        const struct facts_device *device = &facts->devices[i];
        if ((device->kind != FACTS_NIC && device->kind != FACTS_NVME) || isnan(device->gts) ||
            isnan(device->gts_max))
            continue;
        n++;
        if (device->gts >= device->gts_max)
            continue;
        wrong = true;
        name_device(device, unit, sizeof(unit));
        check_warn(checks,
                   &(struct check){.unit = unit,
                                   .metric = "pcie_speed",
                                   .in = "GT/s",
                                   .value = device->gts,
                                   .low = device->gts_max,
                                   .high = NAN},
                   "its PCIe link runs at %g of %g GT/s", device->gts, device->gts_max);
    }
    for (unsigned i = 0; i < facts->topo->ngpus; i++) {
        const struct gpu_health *health = facts->topo->gpus[i].health;
        if (!health || health->pcie_generation_link < 1 || health->pcie_generation_gpu < 1)
            continue;
        n++;
        if (health->pcie_generation_link >= health->pcie_generation_gpu)
            continue;
        wrong = true;
        check_warn(checks,
                   &(struct check){.unit = topo_gpu_name(&facts->topo->gpus[i], unit, 64),
                                   .metric = "pcie_generation",
                                   .in = "generation",
                                   .value = health->pcie_generation_link,
                                   .low = health->pcie_generation_gpu,
                                   .high = NAN},
                   "slot and board allow PCIe gen %d, the GPU gen %d", health->pcie_generation_link,
                   health->pcie_generation_gpu);
    }
    if (!n)
        check_skip(checks, "no GPU, NIC or NVMe drive whose PCIe speed is told");
    else if (!wrong)
        check_pass(checks, "%u PCIe link%s full speed", n, n == 1 ? " has its" : "s have their");
}

static void judge_memory_speed(struct checks *checks)
{
    const struct facts *facts = checks->facts;
    int rated = 0, configured = 0;
    const char *slow = NULL;
    for (size_t i = 0; i < facts->ndimms; i++) {
        const struct facts_dimm *dimm = &facts->dimms[i];
        if (dimm->size_mib <= 0 || dimm->rated_mts < 1 || dimm->configured_mts < 1)
            continue;
        if (!slow || dimm->configured_mts < dimm->rated_mts) {
            slow = dimm->locator;
            rated = dimm->rated_mts;
            configured = dimm->configured_mts;
        }
    }
    const struct check check = {
        .metric = "memory_speed", .in = "MT/s", .value = configured, .low = rated, .high = NAN};
    if (facts->dmi == FACTS_DENIED)
        check_skip(checks, "the firmware's tables are readable as root: sudo contend validate");
    else if (!slow)
        check_skip(checks, "no speeds of memory modules are told");
    else if (configured < rated)
        check_warn(checks, &check,
                   "memory runs at %d of %d MT/s (%s): two modules a channel, a mix, or a setting "
                   "of the firmware",
                   configured, rated, slow);
    else
        check_pass_value(checks, &check, "memory runs at its %d MT/s", configured);
}

/*
 * Modules of one channel share it. "DIMM_A1" and "DIMM_A2" are one channel by their locators, where
 * bank locators do not name it ("P0 CHANNEL A"). Returns GB/s of all channels; NaN = not told.
 */
static void channel_of(const struct facts_dimm *dimm, char *buf, size_t size)
{
    bool by_bank = strstr(dimm->bank, "CHANNEL") || strstr(dimm->bank, "Channel");
    (void)snprintf(buf, size, "%s|%s", dimm->bank, by_bank ? "" : dimm->locator);
    size_t length = strlen(buf);
    if (!by_bank && length > 1 && buf[length - 1] >= '0' && buf[length - 1] <= '9' &&
        buf[length - 2] >= 'A' && buf[length - 2] <= 'Z')
        buf[length - 1] = '\0';
}

static bool is_first_of_channel(const struct facts *facts, size_t index)
{
    char mine[100], other[100];
    channel_of(&facts->dimms[index], mine, sizeof(mine));
    for (size_t i = 0; i < index; i++) {
        channel_of(&facts->dimms[i], other, sizeof(other));
        if (facts->dimms[i].size_mib > 0 && strcmp(mine, other) == 0)
            return false;
    }
    return true;
}

static double memory_limit_gbps(const struct facts *facts, unsigned *channels)
{
    double sum = 0;
    *channels = 0;
    for (size_t i = 0; i < facts->ndimms; i++) {
        const struct facts_dimm *dimm = &facts->dimms[i];
        if (dimm->size_mib <= 0 || !is_first_of_channel(facts, i))
            continue;
        if (dimm->configured_mts < 1 || dimm->data_bits < 8)
            return NAN;
        ++*channels;
        sum += dimm->configured_mts * 1e6 * (dimm->data_bits / 8.0) / 1e9;
    }
    return sum > 0 ? sum : (double)NAN;
}

static double best_value(const struct facts_probe *probe, const char *metric)
{
    double best = NAN;
    for (size_t i = 0; i < probe->n; i++)
        if (strcmp(probe->values[i].metric, metric) == 0)
            best = fmax(best, probe->values[i].value);
    return best;
}

/* One value against its physical limit; true where it is within. */
static bool judge_share(struct checks *checks, const char *unit, const char *metric, double value,
                        double limit, double least, const char *of)
{
    const struct check check = {.unit = unit,
                                .metric = metric,
                                .in = "GB/s",
                                .value = value,
                                .low = least * limit,
                                .high = most * limit};
    const struct check impossible = {.unit = unit,
                                     .cause = "setup",
                                     .metric = metric,
                                     .in = "GB/s",
                                     .value = value,
                                     .low = least * limit,
                                     .high = most * limit};
    if (value > most * limit)
        check_fail(checks, &impossible,
                   "%.4g GB/s is more than %s can do (%.4g GB/s): not what was meant to be "
                   "measured",
                   value, of, limit);
    else if (value < least * limit)
        check_fail(checks, &check, "%.4g GB/s is %.0f%% of what %s can do (%.4g GB/s)", value,
                   100 * value / limit, of, limit);
    else
        return true;
    return false;
}

static void judge_memory_bandwidth(struct checks *checks)
{
    const struct facts *facts = checks->facts;
    const struct facts_probe *probe = &facts->probes[PROBE_MEMORY_BANDWIDTH];
    unsigned channels;
    char of[64];
    double limit = memory_limit_gbps(facts, &channels);
    if (!check_measured(checks, PROBE_MEMORY_BANDWIDTH))
        return;
    double value = best_value(probe, "bandwidth");
    struct bitset allowed = {0};
    topo_allowed_cpus(facts->topo, &allowed);
    const struct check check = {.metric = "memory_bandwidth",
                                .in = "GB/s",
                                .value = value,
                                .low = ddr_least * limit,
                                .high = most * limit};
    if (isnan(value))
        check_error(checks, "no bandwidth was measured");
    else if (isnan(limit) || facts->env.virtual_machine > 0)
        check_skip(checks, "%.4g GB/s; %s", value,
                   facts->env.virtual_machine > 0
                       ? "a virtual machine does not tell its memory's channels"
                   : facts->dmi == FACTS_DENIED
                       ? "channels and speed are readable as root: sudo contend validate"
                       : "the firmware does not tell the memory's channels and speed");
    else if (bitset_count(&allowed) < facts->topo->ncpus)
        check_skip(checks, "%.4g GB/s, by %u of %u CPUs: too few to fill the memory", value,
                   bitset_count(&allowed), facts->topo->ncpus);
    else {
        (void)snprintf(of, sizeof(of), "%u memory channel%s", channels, channels == 1 ? "" : "s");
        if (judge_share(checks, NULL, "memory_bandwidth", value, limit, ddr_least, of))
            check_pass_value(checks, &check, "%.4g GB/s, %.0f%% of %u memory channels", value,
                             100 * value / limit, channels);
    }
}

/* GB/s of one lane: 128b/130b from gen 3 on, 8b/10b before, flits of 242 / 256 from gen 6 on. */
static double lane_gbps(int generation)
{
    static const double gbps[] = {NAN, 0.25, 0.5, 0.985, 1.969, 3.938, 7.563};
    size_t known = sizeof(gbps) / sizeof(gbps[0]);
    return generation < 1 || (size_t)generation >= known ? (double)NAN : gbps[generation];
}

/* Of the keys "gpu=0;dir=h2d;...": the best of that GPU and text in its key. */
static double best_of_gpu(const struct facts_probe *probe, const char *metric, int ordinal,
                          const char *part)
{
    double best = NAN;
    for (size_t i = 0; i < probe->n; i++) {
        const struct facts_value *value = &probe->values[i];
        const char *at = strstr(value->key, "gpu=");
        if (strcmp(value->metric, metric) == 0 && at && atoi(at + 4) == ordinal &&
            strstr(value->key, part))
            best = fmax(best, value->value);
    }
    return best;
}

static void judge_pcie_bandwidth(struct checks *checks)
{
    static const char *const directions[] = {"dir=h2d", "dir=d2h"};
    const struct facts *facts = checks->facts;
    unsigned n = 0, good = 0;
    if (!check_measured(checks, PROBE_GPU_COPY) || check_lost(checks, PROBE_GPU_COPY))
        return;
    for (unsigned i = 0; i < facts->topo->ngpus; i++) {
        const struct topo_gpu *gpu = &facts->topo->gpus[i];
        if (gpu->cuda_ordinal < 0 || !gpu->health || gpu->health->pcie_width < 1)
            continue;
        double limit = lane_gbps(gpu->health->pcie_generation_link) * gpu->health->pcie_width_max;
        for (int d = 0; d < 2 && !isnan(limit); d++) {
            char unit[96], name[64], of[48];
            double value = best_of_gpu(&facts->probes[PROBE_GPU_COPY], "copy_bandwidth",
                                       gpu->cuda_ordinal, directions[d]);
            if (isnan(value))
                continue;
            (void)snprintf(unit, sizeof(unit), "%s %s", topo_gpu_name(gpu, name, sizeof(name)),
                           directions[d] + strlen("dir="));
            (void)snprintf(of, sizeof(of), "PCIe gen %d x%d", gpu->health->pcie_generation_link,
                           gpu->health->pcie_width_max);
            n++;
            good += judge_share(checks, unit, "pcie_copy", value, limit, pcie_least, of);
        }
    }
    if (!n)
        check_skip(checks, "the driver does not tell the PCIe links");
    else if (good == n)
        check_pass(checks, "pinned copies are within their PCIe links");
}

static void judge_gpu_bandwidth(struct checks *checks)
{
    const struct facts *facts = checks->facts;
    unsigned n = 0, good = 0;
    char name[64];
    if (!check_measured(checks, PROBE_GPU_STREAM) || check_lost(checks, PROBE_GPU_STREAM))
        return;
    for (unsigned i = 0; i < facts->topo->ngpus; i++) {
        const struct topo_gpu *gpu = &facts->topo->gpus[i];
        if (gpu->cuda_ordinal < 0 || !gpu->health)
            continue;
        /* Two transfers a clock: DDR and HBM alike, as NVML tells the clock. */
        double limit = 2 * gpu->health->memory_clock_max_mhz * 1e6 *
                       (gpu->health->memory_bus_bits / 8.0) / 1e9;
        double value = best_of_gpu(&facts->probes[PROBE_GPU_STREAM], "device_bandwidth",
                                   gpu->cuda_ordinal, "");
        if (!(limit > 0) || isnan(value))
            continue;
        n++;
        good += judge_share(checks, topo_gpu_name(gpu, name, sizeof(name)), "device_bandwidth",
                            value, limit, hbm_least, "its memory");
    }
    if (!n)
        check_skip(checks, "the driver does not tell the GPUs' memory clock and width");
    else if (good == n)
        check_pass(checks, "%u GPU%s memory is as fast as its clock and width", n,
                   n == 1 ? "'s" : "s'");
}

const struct rule rules_physical[] = {
    {.id = "pcie_width",
     .kind = RULE_PHYSICAL,
     .cause = "hardware",
     .action = ACTION_REPLACE,
     .needs = "PCI bus or driver",
     .about = "GPUs, NICs and NVMe drives have all the PCIe lanes that they could have.",
     .source = "sysfs, current_link_width against max_link_width; NVML where that is hidden",
     .command = "sudo lspci -vv | grep -e '^[0-9a-f]' -e LnkSta:",
     .judge = judge_width},
    {.id = "pcie_speed",
     .kind = RULE_PHYSICAL,
     .cause = "hardware",
     .action = ACTION_WATCH,
     .needs = "PCI bus or driver",
     .about = "PCIe links of NICs and NVMe drives run, and those of GPUs may run, at the "
              "generation of the device.",
     .source = "sysfs, current_link_speed; NVML",
     .command = "sudo lspci -vv | grep -e '^[0-9a-f]' -e LnkSta:",
     .judge = judge_speed},
    {.id = "memory_speed",
     .kind = RULE_PHYSICAL,
     .cause = "configuration",
     .action = ACTION_MEND,
     .needs = "firmware's tables (root)",
     .about = "Memory modules run at the speed that they are rated for.",
     .source = "SMBIOS 3.7, type 17",
     .command = "sudo dmidecode -t memory",
     .judge = judge_memory_speed},
    {.id = "memory_bandwidth",
     .kind = RULE_PHYSICAL,
     .cause = "hardware",
     .action = ACTION_REPLACE,
     .needs = "measurement; firmware's tables (root)",
     .about = "All CPUs together reach 40% or more of what the channels and their speed allow, and "
              "not more than 102%.",
     .source = "STREAM (McCalpin) against SMBIOS type 17",
     .command = "contend bench mem_bandwidth",
     .probes = 1u << PROBE_MEMORY_BANDWIDTH,
     .judge = judge_memory_bandwidth},
    {.id = "pcie_bandwidth",
     .kind = RULE_PHYSICAL,
     .cause = "hardware",
     .action = ACTION_REPLACE,
     .needs = "measurement, driver",
     .about = "Copies between pinned memory and a GPU reach 60% or more of its PCIe generation and "
              "width, and not more than 102%.",
     .source = "PCI Express base specification: GT/s, encoding",
     .command = "contend bench gpu_copy -p mem=pinned -p via=ce",
     .probes = 1u << PROBE_GPU_COPY,
     .judge = judge_pcie_bandwidth,
     .of_gpus = true},
    {.id = "gpu_bandwidth",
     .kind = RULE_PHYSICAL,
     .cause = "hardware",
     .action = ACTION_REPLACE,
     .needs = "measurement, driver",
     .about = "A GPU's memory reaches 70% or more of its clock times its width, and not more than "
              "102%.",
     .source = "NVML, nvmlDeviceGetMemoryBusWidth and nvmlDeviceGetMaxClockInfo",
     .command = "contend bench gpu_stream",
     .probes = 1u << PROBE_GPU_STREAM,
     .judge = judge_gpu_bandwidth,
     .of_gpus = true},
    {.id = NULL}};
