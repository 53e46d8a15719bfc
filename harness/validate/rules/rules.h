/*
 * The rules of `contend validate`, as data: limits of facts, or a function. Pure.
 *
 *   rc = rules_judge(&facts, &request, &findings, &err);
 *   struct rules_verdict verdict = rules_verdict(&findings, strict, "8xh100-sxm");
 *
 * A rule without a bound of a model: what a unit should be is what the bus, the firmware, its peers
 * or the physics of its link say. One finding a unit that is wrong, or one that passes, for all of
 * them; never none. Adding a rule: a row in one of the other files here.
 */
#ifndef CONTEND_VALIDATE_RULES_RULES_H
#define CONTEND_VALIDATE_RULES_RULES_H

#include <stdbool.h>
#include <stddef.h>

#include "harness/contract/finding.h"
#include "harness/machine/facts/facts.h"
#include "harness/validate/rules/limit.h"
#include "harness/validate/rules/machine.h"

enum rule_kind { RULE_COUNT, RULE_PHYSICAL, RULE_SYMMETRY, RULE_HEALTH, RULE_KINDS };
const char *rule_kind_name(enum rule_kind kind); /* "count", "physical", ... */

/* The action for a failure. */
enum rule_action { ACTION_REPLACE, ACTION_RESET, ACTION_FIX, ACTION_WATCH };
const char *rule_action_name(enum rule_action action); /* "replace", "reset", "fix", "watch" */

struct checks;

/* Measured values of units that their keys name, "cpu=3", which should be alike. */
struct alike {
    const char *metric, *part; /* part: of the key; "" = any */
    const char *unit, *shown;  /* "cpu" in the key, "CPU" for people */
    const char *in;
    bool same_kind;   /* CPUs are compared with those of their kind of core */
    const char *said; /* what a finding calls the metric; NULL = as it is called */
};

enum { RULE_LIMITS_MAX = 6 };

struct rule {
    const char *id; /* [a-z0-9_]+, the same in all versions; NULL ends a table */
    enum rule_kind kind;
    const char *cause; /* hardware, configuration, container or setup */
    enum rule_action action;
    const char *needs;   /* what it reads */
    const char *about;   /* one sentence: what fails, and why it matters */
    const char *source;  /* where the bound comes from */
    const char *command; /* what fixes or shows it; NULL = nothing to type */
    unsigned probes;     /* bits of enum facts_probe_name: what has to be measured for it */
    bool of_gpus;        /* it judges GPUs: where it is asked, so is gpus_judged */

    /* By its limits (limit.h), where something is known; else by a function of its own. */
    struct limit limits[RULE_LIMITS_MAX + 1];
    const char *passed; /* where nothing is beyond; with {n} units, and holes of the first limit */
    /* Where nothing is known it is skipped: it does not apply, or could not be judged. Without
     * either it passes, as it does where `knows` holds. */
    const char *absent, *unknown;
    bool (*knows)(const struct facts *facts);
    bool (*ready)(struct checks *checks); /* else it has said why nothing is judged */
    struct alike alike[2];                /* what of measured units is to be alike */
    void (*judge)(struct checks *checks); /* NULL = by the limits */
};

/* The tables, each of which ends with an entry of id NULL. */
extern const struct rule rules_count[], rules_machine[], rules_compute[], rules_burn[],
    rules_physical[], rules_symmetry[], rules_health[], rules_system[], rules_log[],
    rules_devices[];

/* What a burn-in did, in a line: clocks, power, temperature, rates. False: there was none. */
bool burn_format(const struct facts *facts, char *buf, size_t size);

/* The rules of --expect and of --machine. */
#define RULES_EXPECTED_ID "expected"
#define RULES_MACHINE_ID "machine"
#define RULES_MACHINE_RATES_ID "machine_rates"

/* Where this rule is skipped, nothing of what the machine is for was judged: no PASS. */
#define RULES_GPUS_ID "gpus_judged"

/* NULL = there is no such rule. */
const struct rule *rule_find(const char *id);

/* The i-th of all, in the order of --list; NULL behind the last. */
const struct rule *rule_at(size_t i);
const char *rule_name(size_t i);

enum { RULES_MAX = 96, RULES_EXPECTED_MAX = 8 };

struct rules_request {
    size_t nrequired;
    const struct rule *required[RULES_MAX]; /* that may not be skipped: then it is an error */
    size_t nonly;
    const struct rule *only[RULES_MAX]; /* these alone; none = all */
    size_t nexpected;
    struct rule_expected {
        const struct expectable *of; /* count.c */
        double count;                /* of memory bytes */
    } expected[RULES_EXPECTED_MAX];
    const struct machine_kind *machine; /* NULL = none is named */
    char suggested[MACHINE_NAME_MAX];   /* what could be: "2xh200-sxm"; "" = not known */
};

/*
 * What the caller says that this server has, "gpus=8,memory=2T", into the request: no rule can know
 * what never was on the bus. NULL = nothing is expected. -EINVAL names the part: no such name, no
 * count of 0 to 1,000,000 (of memory no size), or twice the same.
 */
int expect_parse(const char *text, struct rules_request *request, struct err *err);

/*
 * Also where it is not among the rules alone: those of what is expected or named, where something
 * is, and gpus_judged, where a rule of GPUs is.
 */
bool rules_asked(const struct rules_request *request, const struct rule *rule);

/* The measurements that the asked rules need, as bits of enum facts_probe_name. */
unsigned rules_probes(const struct rules_request *request);

/* Appends; -ENOMEM only. */
int rules_judge(const struct facts *facts, const struct rules_request *request,
                struct findings *findings, struct err *err);

/* The measurements behind rates that failed or warn: they are to be looked at once more. */
unsigned rules_doubted(const struct findings *findings, const struct rules_request *request);

/* 0 = the worst: FAIL, ERROR, WARN, SKIP, PASS. */
int rules_rank(enum finding_outcome outcome);

/* Worst first, and otherwise in the order of the rules. */
void rules_sort(struct findings *findings);

struct rules_verdict {
    enum finding_outcome outcome; /* PASS, FAIL, ERROR; SKIP: nothing was judged, or no GPU */
    unsigned count[OUTCOMES];     /* findings of each outcome */
    unsigned rules;               /* that failed; or, of an error, that did not run */
    char text[400];               /* "FAIL: 2 rules (hardware: replace GPU 2; ...)" */
};
/* strict: what warns fails. of: what passes, "2xh200-sxm". */
struct rules_verdict rules_verdict(const struct findings *findings, bool strict, const char *of);

#endif
