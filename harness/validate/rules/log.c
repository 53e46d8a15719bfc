/* Rules of the kernel's log and counters: Xids, machine checks, errors of links. */
#include <math.h>
#include <string.h>

#include "harness/lib/text.h"
#include "harness/validate/rules/rules.h"

/*
 * Xids that show a hardware error. Others, such as 13, 31, 43 and 45, mostly come from a program's
 * own errors. Source: NVIDIA, "XID Errors", the catalogue's column of actions.
 */
static const struct {
    int number;
    const char *meaning;
} hardware_xids[] = {
    {48, "double-bit ECC error"},
    {54, "auxiliary power is not connected"},
    {61, "internal micro-controller breakpoint"},
    {62, "internal micro-controller halt"},
    {63, "memory row remapped, or page retired"},
    {64, "remapping or retirement has failed"},
    {74, "NVLink error"},
    {79, "GPU has fallen off the bus"},
    {92, "high rate of single-bit ECC errors"},
    {94, "contained ECC error"},
    {95, "uncontained ECC error"},
    {119, "GSP does not answer"},
    {120, "GSP error"},
    {136, "link training failed"},
    {140, "unrecovered ECC error"},
    {143, "GPU initialisation failed"},
};

static const char *xid_meaning(int number)
{
    for (size_t i = 0; i < sizeof(hardware_xids) / sizeof(hardware_xids[0]); i++)
        if (hardware_xids[i].number == number)
            return hardware_xids[i].meaning;
    return NULL;
}

static bool is_of_hardware(const struct unit *unit)
{
    return xid_meaning(((const struct facts_event *)unit->at)->number);
}

static const char *format_xid(const struct unit *unit)
{
    const struct facts_event *event = unit->at;
    const char *meaning = xid_meaning(event->number);
    return str_fmt("Xid %d in the kernel's log: %s", event->number,
                   meaning ? meaning : "usually an error of a program, not of the GPU");
}

static bool is_not_fatal(const struct unit *unit)
{
    return strstr(((const struct facts_event *)unit->at)->line, "Non-fatal");
}

static const char *sxid_number(const struct unit *unit)
{
    return str_fmt("%d", ((const struct facts_event *)unit->at)->number);
}

static double aer_uncorrected(const struct unit *unit)
{
    const struct facts_device *device = unit->at;
    return device->aer_fatal < 0 ? (double)NAN
                                 : (double)(device->aer_fatal +
                                            (device->aer_nonfatal > 0 ? device->aer_nonfatal : 0));
}

static bool can_read_log(struct checks *checks)
{
    if (checks->facts->log == FACTS_READ)
        return true;
    check_report(checks, OUTCOME_SKIP, &(struct check){.open = true},
                 checks->facts->log == FACTS_DENIED
                     ? "the kernel's log is readable as root: sudo contend validate"
                     : "the kernel's log is not readable here");
    return false;
}

static bool has_log(const struct facts *facts)
{
    return facts->log == FACTS_READ;
}

static bool has_edac(const struct facts *facts)
{
    return facts->edac == FACTS_READ;
}

static bool has_gpu(const struct facts *facts)
{
    return facts->topo->ngpus;
}

static bool has_switch(const struct facts *facts)
{
    for (size_t i = 0; i < facts->ndevices; i++)
        if (facts->devices[i].kind == FACTS_NVSWITCH)
            return true;
    return false;
}

/* Lines of one kind in the log. */
#define LINES(kind, result, name, sentence)                                                        \
    OF_EVENT, FIELD(facts_event, count), ABOVE, NUMBER(0), OUTCOME_##result, name, "lines",        \
        sentence, .event = EVENT_##kind

const struct rule rules_log[] = {
    {"xid", RULE_HEALTH, "hardware", ACTION_RESET, "kernel's log (root)",
     "The kernel's log has no Xid of a hardware error; Xids of programs are a warning.",
     "NVIDIA, XID Errors", "sudo dmesg -T | grep -i xid", .ready = can_read_log,
     .limits = {{LINES(XID, FAIL, "xid", "{t}"), .when = is_of_hardware, .text = format_xid},
                {LINES(XID, WARN, "xid", "{t}"), .text = format_xid, .cause = "setup"}},
     .absent = "no GPU", .knows = has_gpu, .passed = "no Xid in the kernel's log"},
    {"sxid", RULE_HEALTH, "hardware", ACTION_RESET, "kernel's log (root), NVSwitch",
     "The kernel's log has no fatal SXid of an NVSwitch.",
     "NVIDIA, Fabric Manager for HGX, appendix D", "sudo dmesg -T | grep SXid",
     .ready = can_read_log,
     .limits = {{LINES(SXID, WARN, "sxid", "SXid {t}, not fatal, in the kernel's log"),
                 .when = is_not_fatal, .text = sxid_number},
                {LINES(SXID, FAIL, "sxid", "fatal SXid {t} in the kernel's log"),
                 .text = sxid_number}},
     .absent = "no NVSwitch", .knows = has_switch, .passed = "no SXid in the kernel's log"},
    {"pcie_errors", RULE_HEALTH, "hardware", ACTION_WATCH, "PCI bus, kernel's log",
     "No uncorrected PCIe errors since boot; corrected ones are a warning.",
     "kernel, sysfs-bus-pci-devices-aer_stats", "grep -H TOTAL /sys/bus/pci/devices/*/aer_dev_*",
     /* The counters, which everybody may read, come before the log. */
     .limits = {{OF_DEVICE, MADE(aer_uncorrected), ABOVE, NUMBER(0), OUTCOME_FAIL, "aer_errors",
                 "errors", "{v} uncorrected PCIe errors since boot"},
                {OF_DEVICE, DEVICE(aer_correctable), ABOVE, NUMBER(0), OUTCOME_WARN, "aer_errors",
                 "errors", "{v} corrected PCIe errors since boot"},
                {LINES(AER_UNCORRECTED, FAIL, "log_lines",
                       "uncorrected PCIe errors in the kernel's log"),
                 .fallback = true},
                {LINES(AER_CORRECTED, WARN, "log_lines",
                       "corrected PCIe errors in the kernel's log")}},
     .unknown = "the machine does not report PCIe errors here", .knows = has_log,
     .passed = "no PCIe errors since boot"},
    {"machine_checks", RULE_HEALTH, "hardware", ACTION_REPLACE, "/proc/interrupts, kernel's log",
     "No machine check of a CPU since boot.", "kernel, x86/x86_64/machinecheck",
     "sudo ras-mc-ctl --errors",
     .limits = {{LINES(MACHINE_CHECK, FAIL, "log_lines", "machine checks in the kernel's log")},
                {OF_MACHINE, FACT(machine_checks), ABOVE, NUMBER(0), OUTCOME_FAIL, "machine_checks",
                 "exceptions", "{v} machine check exceptions since boot", .fallback = true}},
     .unknown = "neither counters nor the kernel's log are readable here", .knows = has_log,
     .passed = "no machine checks since boot"},
    {"memory_errors", RULE_HEALTH, "hardware", ACTION_REPLACE, "EDAC",
     "No uncorrected errors of memory modules since boot; corrected ones are a warning.",
     "kernel, sysfs-devices-edac", "grep -H . /sys/devices/system/edac/mc/mc*/*_count",
     .limits = {{OF_EDAC, FIELD(facts_edac, uncorrected), ABOVE, NUMBER(0), OUTCOME_FAIL,
                 "memory_errors", "errors", "{v} uncorrected memory errors since boot"},
                {OF_EDAC, FIELD(facts_edac, corrected), ABOVE, NUMBER(0), OUTCOME_WARN,
                 "memory_errors", "errors", "{v} corrected memory errors since boot"}},
     .unknown = "the kernel counts no memory errors here: no EDAC driver", .knows = has_edac,
     .passed = "no memory errors since boot"},
    {"out_of_memory", RULE_HEALTH, "configuration", ACTION_WATCH, "kernel's log (root)",
     "The machine never ran out of memory since boot. Kills by a container's own limit do not "
     "count.",
     "kernel, mm/oom_kill.c", "sudo dmesg -T | grep 'Out of memory'", .ready = can_read_log,
     .limits = {{LINES(OUT_OF_MEMORY, WARN, "log_lines",
                       "the kernel's log has processes killed as the machine ran out of memory")}},
     .passed = "no process was killed as the machine ran out of memory"},
    {"cpu_heat", RULE_HEALTH, "hardware", ACTION_WATCH, "sysfs",
     "No CPU was slowed down for heat since boot.", "kernel, thermal_throttle/core_throttle_count",
     "grep . /sys/devices/system/cpu/cpu*/thermal_throttle/core_throttle_count",
     .limits = {{OF_MACHINE, FACT(throttle_events), ABOVE, NUMBER(0), OUTCOME_WARN,
                 "throttle_events", "events",
                 "CPUs were slowed down for heat {v} times since boot"}},
     .unknown = "the kernel does not count it on this machine",
     .passed = "no CPU was slowed down for heat since boot"},
    {.id = NULL}};
