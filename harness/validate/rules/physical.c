/* Rules of physics: a link or a memory compared with the limit of its own width and clock. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "harness/lib/text.h"
#include "harness/validate/rules/rules.h"

/*
 * The shares of the physical limit that a measurement must reach, and that none can exceed. Pinned
 * copies reach 0.8 to 0.9 of a PCIe link (256 B payloads: 256 / 280 of the bytes are data), STREAM
 * 0.75 to 0.9 of DDR, device kernels 0.85 to 0.95 of HBM. The lower bounds are well below these
 * values: a measurement below them has lost lanes, channels or clocks.
 */
#define PCIE_LEAST 0.6
#define DDR_LEAST 0.4
#define HBM_LEAST 0.7
#define MOST 1.02

#define TOO_MUCH(what)                                                                             \
    "{v} GB/s is more than " what " can do ({w} GB/s): a cache was measured instead"
#define TOO_LITTLE(what) "{v} GB/s is {p}% of what " what " can do ({w} GB/s)"

static bool has_link(const struct unit *unit)
{
    const struct facts_device *device = unit->at;
    return device->kind != FACTS_OTHER && device->lanes > 0 && device->lanes_max > 0;
}

static bool is_in_short_slot(const struct unit *unit)
{
    const struct facts_device *device = unit->at;
    return has_link(unit) && device->lanes_slot == device->lanes;
}

/* True if sysfs hides the link, as on virtual machines; NVML's values count then. */
static bool has_hidden_link(const struct unit *unit)
{
    const struct facts_device *device =
        facts_find_device(unit->facts, unit->facts->topo->gpus[unit->i].pci_bdf);
    const struct gpu_health *health = unit->at;
    return health->pcie_width > 0 && !(device && device->lanes > 0 && device->lanes_max > 0);
}

static bool is_nic_or_nvme(const struct unit *unit)
{
    const struct facts_device *device = unit->at;
    return device->kind == FACTS_NIC || device->kind == FACTS_NVME;
}

static bool has_modules(struct checks *checks)
{
    return check_firmware(checks, checks->facts->ndimms);
}

/*
 * Names the channel of a module: modules of one channel share it. If the bank locator does not name
 * the channel ("P0 CHANNEL A"), "DIMM_A1" and "DIMM_A2" are of one channel.
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

/* GB/s of all channels; NaN = unknown. */
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

static double memory_gbps(const struct unit *unit)
{
    unsigned channels;
    return memory_limit_gbps(unit->facts, &channels);
}

static const char *channels_of(const struct unit *unit)
{
    unsigned channels;
    (void)memory_limit_gbps(unit->facts, &channels);
    return str_fmt("%u memory channel%s", channels, channels == 1 ? "" : "s");
}

/* True if the limit is known and all CPUs were available to reach it. */
static bool can_judge_memory(struct checks *checks)
{
    const struct facts *facts = checks->facts;
    const struct number measured = checks->rule->limits->value;
    const struct unit machine = {.facts = facts, .at = facts};
    struct bitset allowed = {0};
    unsigned channels;
    double value = unit_number(&measured, &machine);
    topo_allowed_cpus(facts->topo, &allowed);
    if (facts->probes[PROBE_MEMORY_BANDWIDTH].status != PROBE_DONE || isnan(value))
        return true; /* the caller reports this */
    if (isnan(memory_limit_gbps(facts, &channels)) || machine_is_virtual(facts))
        check_report(checks, OUTCOME_SKIP, &(struct check){.open = true}, "%s",
                     machine_is_virtual(facts)    ? CHECK_VIRTUAL
                     : facts->dmi == FACTS_DENIED ? CHECK_DENIED
                                                  : "the firmware reports no memory channels");
    else if (bitset_count(&allowed) < facts->topo->ncpus)
        check_report(checks, OUTCOME_SKIP, &(struct check){.open = true},
                     "%s GB/s, by %u of %u CPUs: too few to saturate the memory",
                     units_plain(value, 4), bitset_count(&allowed), facts->topo->ncpus);
    else
        return true;
    return false;
}

/* GB/s of one lane: 8b/10b before gen 3, then 128b/130b, flits of 242 / 256 from gen 6 on. */
static double lane_gbps(int generation)
{
    static const double gbps[] = {NAN, 0.25, 0.5, 0.985, 1.969, 3.938, 7.563};
    size_t known = sizeof(gbps) / sizeof(gbps[0]);
    return generation < 1 || (size_t)generation >= known ? (double)NAN : gbps[generation];
}

static double link_gbps(const struct unit *unit)
{
    const struct gpu_health *health = unit->at;
    return health->pcie_width < 1
               ? (double)NAN
               : lane_gbps(health->pcie_generation_link) * health->pcie_width_max;
}

static const char *link_of(const struct unit *unit)
{
    const struct gpu_health *health = unit->at;
    return str_fmt("PCIe gen %d x%d", health->pcie_generation_link, health->pcie_width_max);
}

/* Two transfers per clock, for DDR and HBM, as NVML reports the clock. */
static double hbm_gbps(const struct unit *unit)
{
    const struct gpu_health *health = unit->at;
    return 2 * health->memory_clock_max_mhz * 1e6 * (health->memory_bus_bits / 8.0) / 1e9;
}

static bool none_lost(struct checks *checks)
{
    return !check_lost(checks, check_probe(checks));
}

/* A unit's measured value must be within shares of its limit. */
#define WITHIN(unit, measured, least, can, name, what, ...)                                        \
    {unit,       measured,         BELOW,                                                          \
     MADE(can),  OUTCOME_FAIL,     name,                                                           \
     "GB/s",     TOO_LITTLE(what), .share = (least),                                               \
     __VA_ARGS__},                                                                                 \
    {                                                                                              \
        unit, measured, ABOVE, MADE(can), OUTCOME_FAIL, name, "GB/s", TOO_MUCH(what),              \
            .share = MOST, .cause = "setup", __VA_ARGS__                                           \
    }
#define COPY(dir)                                                                                  \
    WITHIN(OF_GPU, MEASURED(PROBE_GPU_COPY, "copy_bandwidth", "dir=" dir), PCIE_LEAST, link_gbps,  \
           "pcie_copy", "{t}", .text = link_of, .part = (dir), .independent = true)

const struct rule rules_physical[] = {
    {"pcie_width", RULE_PHYSICAL, "hardware", ACTION_REPLACE, "PCI bus or driver",
     "GPUs, NICs and NVMe drives use all of their PCIe lanes.",
     "sysfs, current_link_width against max_link_width; NVML where that is hidden",
     "sudo lspci -vv | grep -e '^[0-9a-f]' -e LnkSta:",
     .limits =
         {{OF_DEVICE, DEVICE(lanes), BELOW, DEVICE(lanes_max), OUTCOME_WARN, "pcie_width", "lanes",
           "PCIe width is x{v} of x{b}: its slot has no more lanes", .when = is_in_short_slot},
          {OF_DEVICE, DEVICE(lanes), BELOW, DEVICE(lanes_max), OUTCOME_FAIL, "pcie_width", "lanes",
           "PCIe width is x{v} of x{b}: seat the card and its riser anew, then replace them",
           .when = has_link},
          {OF_GPU, GPU(pcie_width), BELOW, GPU(pcie_width_max), OUTCOME_FAIL, "pcie_width", "lanes",
           "PCIe width is x{v} of x{b}: seat the card and its riser anew, then replace them",
           .when = has_hidden_link}},
     .unknown = "no GPU, NIC or NVMe drive reports its PCIe link",
     .passed = "{n} PCIe link{s} at full width"},
    {"pcie_speed", RULE_PHYSICAL, "hardware", ACTION_WATCH, "PCI bus or driver",
     "PCIe links run at the generation of the device; those of idle GPUs may rise to it.",
     "sysfs, current_link_speed; NVML", "sudo lspci -vv | grep -e '^[0-9a-f]' -e LnkSta:",
     /* An idle GPU lowers its link: for GPUs the most of board and slot together counts. */
     .limits = {{OF_DEVICE, DEVICE(gts), BELOW, DEVICE(gts_max), OUTCOME_WARN, "pcie_speed", "GT/s",
                 "its PCIe link runs at {v} of {b} GT/s", .when = is_nic_or_nvme},
                {OF_GPU, GPU(pcie_generation_link), BELOW, GPU(pcie_generation_gpu), OUTCOME_WARN,
                 "pcie_generation", "generation",
                 "slot and board allow PCIe gen {v}, the GPU gen {b}"}},
     .unknown = "no GPU, NIC or NVMe drive reports its PCIe link",
     .passed = "{n} PCIe link{s} at full speed"},
    {"memory_speed", RULE_PHYSICAL, "configuration", ACTION_FIX, "firmware's tables (root)",
     "Memory modules run at their rated speed.", "SMBIOS 3.7, type 17", "sudo dmidecode -t memory",
     .ready = has_modules,
     .limits = {{OF_DIMM, FIELD(facts_dimm, configured_mts), BELOW, FIELD(facts_dimm, rated_mts),
                 OUTCOME_WARN, "memory_speed", "MT/s",
                 "memory runs at {v} of {b} MT/s: two modules a channel, a mix, or a setting of "
                 "the firmware",
                 .only = FIELD(facts_dimm, size_mib), .once = true}},
     .unknown = "no speeds of memory modules are reported",
     .passed = "memory runs at its {v} MT/s"},
    {"memory_bandwidth", RULE_PHYSICAL, "hardware", ACTION_REPLACE,
     "measurement; firmware's tables (root)",
     "All CPUs together reach 40 to 102% of what memory channels and their speed allow.",
     "STREAM (McCalpin) against SMBIOS type 17", "contend bench mem_bandwidth",
     .probes = 1u << PROBE_MEMORY_BANDWIDTH, .ready = can_judge_memory,
     .limits = {WITHIN(OF_MACHINE, MEASURED(PROBE_MEMORY_BANDWIDTH, "bandwidth", ""), DDR_LEAST,
                       memory_gbps, "memory_bandwidth", "{t}", .text = channels_of)},
     .passed = "{v} GB/s, {p}% of {t}"},
    {"pcie_bandwidth", RULE_PHYSICAL, "hardware", ACTION_REPLACE, "measurement, driver",
     "Copies between pinned memory and a GPU reach 60 to 102% of its PCIe generation and width.",
     "PCI Express base specification: GT/s, encoding",
     "contend bench gpu_copy -p mem=pinned -p via=ce", .probes = 1u << PROBE_GPU_COPY,
     .of_gpus = true, .ready = none_lost, .limits = {COPY("h2d"), COPY("d2h")},
     .unknown = "the driver does not report the PCIe links",
     .passed = "pinned copies are within their PCIe links"},
    {"gpu_bandwidth", RULE_PHYSICAL, "hardware", ACTION_REPLACE, "measurement, driver",
     "A GPU's memory reaches 70 to 102% of its clock times its width.",
     "NVML, nvmlDeviceGetMemoryBusWidth and nvmlDeviceGetMaxClockInfo", "contend bench gpu_stream",
     .probes = 1u << PROBE_GPU_STREAM, .of_gpus = true, .ready = none_lost,
     .limits = {WITHIN(OF_GPU, MEASURED(PROBE_GPU_STREAM, "device_bandwidth", ""), HBM_LEAST,
                       hbm_gbps, "device_bandwidth", "its memory", .part = NULL)},
     .unknown = "the driver does not report the GPUs' memory clock and width",
     .passed = "{n} GPU{s} with memory as fast as its clock and width"},
    {.id = NULL}};
