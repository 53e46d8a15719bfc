/*
 * Rules as data: a number of the machine, or of each unit of one kind, against a bound, and what to
 * say where it is beyond. Pure.
 *
 *   .limits = {{OF_GPU, GPU(power_limit_w), BELOW, GPU(power_limit_default_w), OUTCOME_WARN,
 *               "power_limit", "W", "its power limit is {v} W, and {w} W by default"}},
 *   .passed = "power limits are the default ones"
 *
 * The limits of a unit are tried in their order: the first that it is beyond is said. Without one,
 * and with a number that is known, the rule passes.
 */
#ifndef CONTEND_VALIDATE_RULES_LIMIT_H
#define CONTEND_VALIDATE_RULES_LIMIT_H

#include <stddef.h>

#include "harness/contract/finding.h"
#include "harness/machine/facts/facts.h"
#include "harness/machine/gpu/health.h"

enum limit_of {
    OF_MACHINE,
    OF_GPU,
    OF_DEVICE,
    OF_SOCKET,
    OF_DIMM,
    OF_NODE,
    OF_EDAC,
    OF_PORT,
    OF_EVENT
};

struct unit {
    const struct facts *facts;
    enum limit_of of;
    size_t i;       /* among those of its kind */
    const void *at; /* itself; of a GPU its health */
};

/*
 * A field of the unit, unknown where it is negative or NaN; what a function makes of the unit; the
 * most that was measured of it; what most of its peers have, as a bound; or a constant.
 */
struct number {
    enum {
        CONSTANT,
        FIELD_INT,
        FIELD_UNSIGNED,
        FIELD_INT64,
        FIELD_UINT64,
        FIELD_DOUBLE,
        FIELD_BOOL,
        FUNCTION,
        MEASUREMENT,
        PEER_VALUE
    } from;
    size_t at;
    double constant;
    double (*make)(const struct unit *unit);
    enum facts_probe_name probe;
    const char *metric, *part; /* part: of the key */
};
#define NUMBER(number)                                                                             \
    {                                                                                              \
        .constant = (number)                                                                       \
    }
#define MADE(function)                                                                             \
    {                                                                                              \
        .from = FUNCTION, .make = (function)                                                       \
    }
#define MEASURED(name, of, key)                                                                    \
    {                                                                                              \
        .from = MEASUREMENT, .probe = (name), .metric = (of), .part = (key)                        \
    }
#define PEERS                                                                                      \
    {                                                                                              \
        .from = PEER_VALUE                                                                         \
    }
#define FIELD(type, name)                                                                          \
    {                                                                                              \
        .from = _Generic(((struct type *)0)->name, int                                             \
                         : FIELD_INT, unsigned                                                     \
                         : FIELD_UNSIGNED, int64_t                                                 \
                         : FIELD_INT64, uint64_t                                                   \
                         : FIELD_UINT64, double                                                    \
                         : FIELD_DOUBLE, bool                                                      \
                         : FIELD_BOOL),                                                            \
        .at = offsetof(struct type, name)                                                          \
    }
#define FACT(name) FIELD(facts, name)
#define SETTING(name) offsetof(struct facts, name)
#define GPU(name) FIELD(gpu_health, name)
#define DEVICE(name) FIELD(facts_device, name)

/* When a value is beyond its bound. NONE: it is 0, and the bound is not. HAS: any bit of it. ANY:
 * whatever it is. TOLD: never, the number is for who reads it. */
enum limit_op { BELOW, ABOVE, EQUALS, DIFFERS, NONE, HAS, ANY, TOLD };

struct limit {
    enum limit_of of;
    struct number value;
    enum limit_op op;
    struct number bound;
    enum finding_outcome outcome;
    const char *metric, *in; /* NULL = without the number; in: its unit */
    /*
     * {v} the value, {b} the bound, {w} the bound without `share`, {p} the value in percent of it,
     * {%} the value in percent, {d} what is missing, {t} the text.
     */
    const char *sentence;
    double share;                          /* of the bound; 0 = all of it */
    double per;                            /* numbers are shown in units of it; 0 = 1 */
    bool (*when)(const struct unit *unit); /* it is for these alone; NULL = for all */
    struct number only;                    /* and for those of which this is above 0 */
    const char *(*text)(const struct unit *unit, char buf[static 96]);
    size_t setting;              /* of the facts, as the text; "" = nothing is known */
    const char *is, *is_not;     /* it is for this word of the setting alone, or for all others */
    struct number shown;         /* in place of the value in the finding */
    const char *cause, *command; /* in place of the rule's; NULL = as there */
    const char *in_container;    /* there the cause is the container, and this the command */
    const char *part;            /* behind the name of the unit: "h2d" */
    enum facts_event_kind event; /* of OF_EVENT */
    bool also;                   /* tried even where one before is said */
    bool otherwise;              /* tried where no unit was beyond those before */
    bool once;                   /* the first unit stands for all */
    bool virtual_warns;          /* on a virtual machine it may be the host's to do */
};

struct checks;

/* Judges by checks->rule->limits. */
void limits_judge(struct checks *checks);

double unit_number(const struct number *number, const struct unit *unit);
bool unit_is_outside(const struct unit *unit);
bool machine_is_virtual(const struct facts *facts);

#endif
