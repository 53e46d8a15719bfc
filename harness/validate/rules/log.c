/* Rules of what the kernel and its counters have seen: Xids, machine checks, errors of links. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "harness/validate/rules/check.h"

/*
 * Xids that tell of hardware. Others, such as 13, 31, 43 and 45, are mostly of a program's own
 * errors. Source: NVIDIA, "XID Errors", the catalogue's column of what to do.
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

/* "3 times, the first 12 s and the last 3401 s after boot: LINE" */
static void tell(const struct facts_event *event, char *buf, size_t size)
{
    if (event->count == 1)
        (void)snprintf(buf, size, "%.0f s after boot: %s", event->first_s, event->line);
    else
        (void)snprintf(buf, size, "%u times, %.0f to %.0f s after boot: %s", event->count,
                       event->first_s, event->last_s, event->line);
}

static bool can_read_log(struct checks *checks)
{
    if (checks->facts->log == FACTS_READ)
        return true;
    if (checks->facts->log == FACTS_DENIED)
        check_skip(checks, "the kernel's log is readable as root: sudo contend validate");
    else
        check_skip(checks, "the kernel's log is not to be seen from here");
    return false;
}

static void name_gpu(const struct facts_event *event, char *buf, size_t size)
{
    (void)snprintf(buf, size, "GPU %s", event->unit);
}

static void judge_xid(struct checks *checks)
{
    const struct facts *facts = checks->facts;
    bool any = false;
    char evidence[200], unit[64];
    if (!can_read_log(checks))
        return;
    for (size_t i = 0; i < facts->nevents; i++) {
        const struct facts_event *event = &facts->events[i];
        if (event->kind != EVENT_XID)
            continue;
        const char *meaning = xid_meaning(event->number);
        tell(event, evidence, sizeof(evidence));
        name_gpu(event, unit, sizeof(unit));
        struct check check = {.unit = unit,
                              .evidence = evidence,
                              .metric = "xid",
                              .in = "lines",
                              .value = event->count,
                              .low = NAN,
                              .high = 0};
        any = true;
        if (meaning)
            check_fail(checks, &check, "Xid %d in the kernel's log: %s", event->number, meaning);
        else {
            check.cause = "setup";
            check_warn(checks, &check,
                       "Xid %d in the kernel's log: mostly a program's own error, not the GPU's",
                       event->number);
        }
    }
    if (!any && !facts->topo->ngpus)
        check_skip(checks, "no GPU");
    else if (!any)
        check_pass(checks, "no Xid in the kernel's log");
}

/* Those of one kind, which fail or warn alike. */
static bool judge_events(struct checks *checks, enum facts_event_kind kind, bool fails,
                         const char *what)
{
    const struct facts *facts = checks->facts;
    bool any = false;
    char evidence[200];
    for (size_t i = 0; i < facts->nevents; i++) {
        const struct facts_event *event = &facts->events[i];
        if (event->kind != kind)
            continue;
        tell(event, evidence, sizeof(evidence));
        const struct check check = {.unit = event->unit,
                                    .evidence = evidence,
                                    .metric = "log_lines",
                                    .in = "lines",
                                    .value = event->count,
                                    .low = NAN,
                                    .high = 0};
        any = true;
        if (fails)
            check_fail(checks, &check, "%s in the kernel's log", what);
        else
            check_warn(checks, &check, "%s in the kernel's log", what);
    }
    return any;
}

static void judge_sxid(struct checks *checks)
{
    const struct facts *facts = checks->facts;
    bool any = false, switches = false;
    char evidence[200], unit[64];
    if (!can_read_log(checks))
        return;
    for (size_t i = 0; i < facts->ndevices; i++)
        switches = switches || facts->devices[i].kind == FACTS_NVSWITCH;
    for (size_t i = 0; i < facts->nevents; i++) {
        const struct facts_event *event = &facts->events[i];
        if (event->kind != EVENT_SXID)
            continue;
        bool fatal = !strstr(event->line, "Non-fatal");
        (void)snprintf(unit, sizeof(unit), "NVSwitch %s", event->unit);
        tell(event, evidence, sizeof(evidence));
        const struct check check = {.unit = unit,
                                    .evidence = evidence,
                                    .metric = "sxid",
                                    .in = "lines",
                                    .value = event->count,
                                    .low = NAN,
                                    .high = 0};
        any = true;
        if (fatal)
            check_fail(checks, &check, "fatal SXid %d in the kernel's log", event->number);
        else
            check_warn(checks, &check, "SXid %d, not fatal, in the kernel's log", event->number);
    }
    if (!any && !switches)
        check_skip(checks, "no NVSwitch");
    else if (!any)
        check_pass(checks, "no SXid in the kernel's log");
}

/* By the counters of the devices, which everybody may read, and the log. */
static void judge_pcie_errors(struct checks *checks)
{
    const struct facts *facts = checks->facts;
    bool wrong = false, known = facts->log == FACTS_READ;
    char unit[96];
    for (size_t i = 0; i < facts->ndevices; i++) {
        const struct facts_device *device = &facts->devices[i];
        struct check check = {.unit = facts_device_name(device, unit, sizeof(unit)),
                              .metric = "aer_errors",
                              .in = "errors",
                              .low = NAN,
                              .high = 0};
        known = known || device->aer_fatal >= 0;
        check.value = (double)(device->aer_fatal + device->aer_nonfatal);
        if (device->aer_fatal > 0 || device->aer_nonfatal > 0) {
            wrong = true;
            check_fail(checks, &check, "%lld uncorrected PCIe errors since boot",
                       (long long)check.value);
        } else if (device->aer_correctable > 0) {
            wrong = true;
            check.value = (double)device->aer_correctable;
            check_warn(checks, &check, "%lld corrected PCIe errors since boot",
                       (long long)device->aer_correctable);
        }
    }
    if (!wrong) {
        wrong = judge_events(checks, EVENT_AER_UNCORRECTED, true, "uncorrected PCIe errors");
        wrong = judge_events(checks, EVENT_AER_CORRECTED, false, "corrected PCIe errors") || wrong;
    }
    if (!known)
        check_skip(checks, "the machine does not report PCIe errors here");
    else if (!wrong)
        check_pass(checks, "no PCIe errors since boot");
}

static void judge_machine_checks(struct checks *checks)
{
    const struct facts *facts = checks->facts;
    const struct check check = {.metric = "machine_checks",
                                .in = "exceptions",
                                .value = facts->machine_checks,
                                .low = NAN,
                                .high = 0};
    bool any = judge_events(checks, EVENT_MACHINE_CHECK, true, "machine checks");
    if (!any && facts->machine_checks > 0)
        check_fail(checks, &check, "%.0f machine check exceptions since boot",
                   facts->machine_checks);
    else if (!any && isnan(facts->machine_checks) && facts->log != FACTS_READ)
        check_skip(checks, "neither counters nor the kernel's log are to be seen from here");
    else if (!any)
        check_pass(checks, "no machine checks since boot");
}

static void judge_memory_errors(struct checks *checks)
{
    const struct facts *facts = checks->facts;
    bool wrong = false;
    for (size_t i = 0; i < facts->nedac; i++) {
        const struct facts_edac *edac = &facts->edacs[i];
        struct check check = {.unit = edac->name,
                              .metric = "memory_errors",
                              .in = "errors",
                              .value = (double)edac->uncorrected,
                              .low = NAN,
                              .high = 0};
        if (edac->uncorrected > 0)
            check_fail(checks, &check, "%lld uncorrected memory errors since boot",
                       (long long)edac->uncorrected);
        else if (edac->corrected > 0) {
            check.value = (double)edac->corrected;
            check_warn(checks, &check, "%lld corrected memory errors since boot",
                       (long long)edac->corrected);
        }
        wrong = wrong || edac->uncorrected > 0 || edac->corrected > 0;
    }
    if (facts->edac != FACTS_READ)
        check_skip(checks, "the kernel counts no memory errors here: no EDAC driver");
    else if (!wrong)
        check_pass(checks, "no memory errors since boot");
}

static void judge_out_of_memory(struct checks *checks)
{
    if (can_read_log(checks) &&
        !judge_events(checks, EVENT_OUT_OF_MEMORY, false, "processes killed for want of memory"))
        check_pass(checks, "no process was killed for want of memory");
}

static void judge_cpu_heat(struct checks *checks)
{
    const struct facts *facts = checks->facts;
    const struct check check = {.metric = "throttle_events",
                                .in = "events",
                                .value = facts->throttle_events,
                                .low = NAN,
                                .high = 0};
    if (isnan(facts->throttle_events))
        check_skip(checks, "the kernel does not count it on this machine");
    else if (facts->throttle_events > 0)
        check_warn(checks, &check, "CPUs were slowed down for heat %.0f times since boot",
                   facts->throttle_events);
    else
        check_pass_value(checks, &check, "no CPU was slowed down for heat since boot");
}

const struct rule rules_log[] = {
    {.id = "xid",
     .kind = RULE_HEALTH,
     .cause = "hardware",
     .action = ACTION_RESET,
     .needs = "kernel's log (root)",
     .about = "No Xid of a hardware error in the kernel's log; those of programs are a warning.",
     .source = "NVIDIA, XID Errors",
     .command = "sudo dmesg -T | grep -i xid",
     .judge = judge_xid},
    {.id = "sxid",
     .kind = RULE_HEALTH,
     .cause = "hardware",
     .action = ACTION_RESET,
     .needs = "kernel's log (root), NVSwitch",
     .about = "No fatal SXid of an NVSwitch in the kernel's log.",
     .source = "NVIDIA, Fabric Manager for HGX, appendix D",
     .command = "sudo dmesg -T | grep SXid",
     .judge = judge_sxid},
    {.id = "pcie_errors",
     .kind = RULE_HEALTH,
     .cause = "hardware",
     .action = ACTION_WATCH,
     .needs = "PCI bus, kernel's log",
     .about = "No uncorrected PCIe errors since boot; corrected ones are a warning.",
     .source = "kernel, sysfs-bus-pci-devices-aer_stats",
     .command = "grep -H TOTAL /sys/bus/pci/devices/*/aer_dev_*",
     .judge = judge_pcie_errors},
    {.id = "machine_checks",
     .kind = RULE_HEALTH,
     .cause = "hardware",
     .action = ACTION_REPLACE,
     .needs = "/proc/interrupts, kernel's log",
     .about = "No machine check of a CPU since boot.",
     .source = "kernel, x86/x86_64/machinecheck",
     .command = "sudo ras-mc-ctl --errors",
     .judge = judge_machine_checks},
    {.id = "memory_errors",
     .kind = RULE_HEALTH,
     .cause = "hardware",
     .action = ACTION_REPLACE,
     .needs = "EDAC",
     .about = "No uncorrected errors of memory modules since boot; corrected ones are a warning.",
     .source = "kernel, sysfs-devices-edac",
     .command = "grep -H . /sys/devices/system/edac/mc/mc*/*_count",
     .judge = judge_memory_errors},
    {.id = "out_of_memory",
     .kind = RULE_HEALTH,
     .cause = "configuration",
     .action = ACTION_WATCH,
     .needs = "kernel's log (root)",
     .about = "No process was killed for want of memory since boot.",
     .source = "kernel, mm/oom_kill.c",
     .command = "sudo dmesg -T | grep -i 'out of memory'",
     .judge = judge_out_of_memory},
    {.id = "cpu_heat",
     .kind = RULE_HEALTH,
     .cause = "hardware",
     .action = ACTION_WATCH,
     .needs = "sysfs",
     .about = "No CPU was slowed down for heat since boot.",
     .source = "kernel, thermal_throttle/core_throttle_count",
     .command = "grep . /sys/devices/system/cpu/cpu*/thermal_throttle/core_throttle_count",
     .judge = judge_cpu_heat},
    {.id = NULL}};
