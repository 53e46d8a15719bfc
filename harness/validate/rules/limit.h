/*
 * Rules as data: a number of the machine, or of each unit of one kind, is compared with a bound; a
 * sentence reports a number beyond the bound. Pure.
 *
 *   .limits = {{OF_GPU, GPU(power_limit_w), BELOW, GPU(power_limit_default_w), OUTCOME_WARN,
 *               "power_limit", "W", "its power limit is {v} W, and {w} W by default"}},
 *   .passed = "power limits are the default ones"
 *
 * The limits of a unit are tried in order, and the first that is exceeded is reported. If none is
 * exceeded and a number is known, the rule passes.
 */
#ifndef CONTEND_VALIDATE_RULES_LIMIT_H
#define CONTEND_VALIDATE_RULES_LIMIT_H

#include <stddef.h>

#include "harness/lib/finding.h"
#include "harness/machine/facts.h"
#include "harness/machine/gpu_health.h"

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
    size_t i;       /* index among units of its kind */
    const void *at; /* the unit; for a GPU its health */
};

/*
 * The source of a number: a constant; a field of the unit (negative or NaN: unknown); a function of
 * the unit; the largest value measured on the unit; or as a bound, what most of its peers have.
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

/* When a value is beyond its bound. NONE: it is 0, but the bound is not. HAS: it has any bit of the
 * bound. ANY: always. TOLD: never, the number is only for information. */
enum limit_op { BELOW, ABOVE, EQUALS, DIFFERS, NONE, HAS, ANY, TOLD };

struct limit {
    enum limit_of of;
    struct number value;
    enum limit_op op;
    struct number bound;
    enum finding_outcome outcome;
    const char *metric, *in; /* NULL = no number; in: its unit */
    /*
     * {v} the value, {b} the bound, {w} the bound without `share`, {p} the value in percent of {w},
     * {%} the value in percent, {d} what is missing, {t} the text.
     */
    const char *sentence;
    double share;                          /* factor of the bound; 0 = 1 */
    double per;                            /* numbers are divided by it for display; 0 = 1 */
    bool (*when)(const struct unit *unit); /* applies to these units only; NULL = all */
    struct number only;                    /* and only to those where this is above 0 */
    const char *(*text)(const struct unit *unit);
    size_t setting;              /* offset of a fact: the text; "" = unknown */
    const char *is, *is_not;     /* only for this setting, or for all others */
    struct number shown;         /* the finding's number, instead of the value */
    const char *cause, *command; /* instead of the rule's; NULL = the rule's */
    const char *in_container;    /* command in a container, which is then the cause */
    const char *part;            /* appended to the unit's name: "h2d" */
    enum facts_event_kind event; /* for OF_EVENT */
    bool independent;            /* tried even if an earlier limit is exceeded */
    bool fallback;               /* tried if no unit exceeded an earlier limit */
    bool once;                   /* only the first unit beyond it is reported */
    bool virtual_warns;          /* only warns on a VM: its host may have to act */
};

struct checks;

/* Judges by checks->rule->limits. */
void limits_judge(struct checks *checks);

double unit_number(const struct number *number, const struct unit *unit);
bool unit_is_outside(const struct unit *unit);
bool machine_is_virtual(const struct facts *facts);

#endif
