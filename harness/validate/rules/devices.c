/* Rules of RDMA ports and NVMe drives. */
#include <math.h>
#include <string.h>

#include "harness/validate/rules/check.h"

/* Of the kernel's rdma/ib_verbs.h: enum ib_port_state, and the physical state of the same name. */
enum { PORT_DOWN = 1, PORT_ACTIVE = 4, PHYSICAL_LINK_UP = 5 };
/* A cable that was plugged in leaves some behind; ibcheckerrors takes the same number. */
#define PORT_ERRORS_MOST 10
#define DRIVE_USED_MOST 90

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

static const char *name_of_state(const struct unit *unit, char buf[static 96])
{
    static const char *const names[] = {"NOP", "DOWN", "INIT", "ARMED", "ACTIVE", "ACTIVE_DEFER"};
    const unsigned state = (unsigned)port_of(unit)->state;
    (void)buf;
    return state < sizeof(names) / sizeof(names[0]) ? names[state] : "unknown";
}

/* The highest rate of an active port of the same board: sysfs has no other sign of what it can. */
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

static const struct facts_nvme *drive_of(const struct unit *unit)
{
    return unit->at;
}

static bool is_not_live(const struct unit *unit)
{
    return drive_of(unit)->state[0] && strcmp(drive_of(unit)->state, "live") != 0;
}

static bool is_known(const struct unit *unit)
{
    return drive_of(unit)->state[0] || !isnan(drive_of(unit)->critical_warning);
}

static const char *state_of(const struct unit *unit, char buf[static 96])
{
    (void)buf;
    return drive_of(unit)->state;
}

static const char *what_was_read(const struct unit *unit, char buf[static 96])
{
    (void)buf;
    return isnan(drive_of(unit)->critical_warning)
               ? "live; wear and errors are unknown: smartctl, as root, did not report them"
               : "healthy";
}

#define PORT(name) FIELD(facts_port, name)
#define DRIVE(name) FIELD(facts_nvme, name)
#define PORT_ERRORS(field, said)                                                                   \
    {                                                                                              \
        OF_PORT, PORT(field), ABOVE, NUMBER(PORT_ERRORS_MOST), OUTCOME_WARN, #field, "events",     \
            said " since its counters were cleared"                                                \
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
                 .when = is_down, .cause = "configuration", .also = true, .once = true}},
     .absent = "no RDMA device", .passed = "RDMA ports are active and as fast as their peers"},
    {"rdma_errors", RULE_HEALTH, "hardware", ACTION_WATCH, "sysfs, RDMA device",
     "No RDMA port has counted more than 10 errors of one kind.",
     "kernel, sysfs-class-infiniband; infiniband-diags, ibcheckerrors", "perfquery -x",
     .limits = {PORT_ERRORS(symbol_errors, "{v} symbol errors"),
                PORT_ERRORS(recoveries, "its link recovered from errors {v} times"),
                PORT_ERRORS(downs, "its link went down {v} times"),
                PORT_ERRORS(receive_errors, "{v} packets arrived with errors")},
     .absent = "no RDMA device with counters", .passed = "hardly any errors of RDMA ports"},
    {"nvme_health", RULE_HEALTH, "hardware", ACTION_REPLACE, "sysfs; smartctl (root)",
     "Every NVMe drive is live, without a critical warning or media errors, and has spare blocks; "
     "90% of its life used is a warning.",
     "kernel, nvme: state; NVMe 2.0, SMART / Health Information",
     "for d in /dev/nvme?; do sudo smartctl -a $d; done",
     .limits = {{OF_NVME, NUMBER(1), TOLD, NUMBER(0), OUTCOME_PASS, NULL, NULL, "",
                 .when = is_known, .text = what_was_read},
                {OF_NVME, NUMBER(1), ANY, NUMBER(0), OUTCOME_FAIL, NULL, NULL,
                 "its state is {t}, not live", .when = is_not_live, .text = state_of},
                {OF_NVME, DRIVE(critical_warning), ABOVE, NUMBER(0), OUTCOME_FAIL,
                 "nvme_critical_warning", "bits", "its critical warning is {v}"},
                {OF_NVME, DRIVE(media_errors), ABOVE, NUMBER(0), OUTCOME_FAIL, "nvme_media_errors",
                 "errors", "{v} media errors: data could not be read or was damaged"},
                {OF_NVME, DRIVE(spare_percent), BELOW, DRIVE(spare_least_percent), OUTCOME_FAIL,
                 "nvme_spare", "%", "{v}% of its spare blocks are left, below its limit of {b}%"},
                {OF_NVME, DRIVE(used_percent), ABOVE, NUMBER(DRIVE_USED_MOST), OUTCOME_WARN,
                 "nvme_used", "%", "{v}% of its life is used", .cause = "hardware"}},
     .absent = "no NVMe drive", .passed = "{n} NVMe drive{s}, {t}"},
    {.id = NULL}};
