/* Rules of RDMA ports. */
#include <math.h>
#include <string.h>

#include "harness/validate/rules/check.h"

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
