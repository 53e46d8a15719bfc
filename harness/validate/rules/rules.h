/*
 * The rules of `contend validate`, as data: limits of facts, or a function. Pure.
 *
 *   rc = rules_judge(&facts, &request, &findings, &numbers, &err);
 *   struct rules_verdict verdict = rules_verdict(&findings, strict, "8xh100-sxm");
 *
 * Without --machine no rule has bounds per model: the bus, the firmware, the peers or the physics
 * of its link say what a unit should be. A rule adds a finding for each unit that is wrong, or one
 * finding that all pass; never none. To add a rule, add a row in one of the other files here.
 */
#ifndef CONTEND_VALIDATE_RULES_RULES_H
#define CONTEND_VALIDATE_RULES_RULES_H

#include <stdbool.h>
#include <stddef.h>

#include "harness/lib/finding.h"
#include "harness/machine/facts.h"
#include "harness/validate/rules/limit.h"
#include "harness/validate/rules/machine.h"

enum rule_kind { RULE_COUNT, RULE_PHYSICAL, RULE_SYMMETRY, RULE_HEALTH, RULE_KINDS };
const char *rule_kind_name(enum rule_kind kind); /* "count", "physical", ... */

/* The action for a failure. */
enum rule_action { ACTION_REPLACE, ACTION_RESET, ACTION_FIX, ACTION_WATCH };
const char *rule_action_name(enum rule_action action); /* "replace", "reset", "fix", "watch" */

struct checks;

/* Measured values that should be alike on units, which the values' keys name: "cpu=3". */
struct alike {
    const char *metric, *part; /* part: of the key; "" = any */
    const char *unit, *shown;  /* "cpu" in the key, "CPU" in messages */
    const char *in;
    bool same_kind;          /* compares CPUs only with the same kind of core */
    const char *metric_name; /* the metric's name in findings; NULL = `metric` */
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
    const char *command; /* fixes or shows it; NULL = nothing to type */
    unsigned probes;     /* measurements it needs, bits of enum facts_probe_name */
    bool of_gpus;        /* it judges GPUs; if requested, so is gpus_judged */

    /* Judges by limits (limit.h), or by a function of its own (`judge`). */
    struct limit limits[RULE_LIMITS_MAX + 1];
    const char *passed; /* sentence of PASS; has {n} units, and placeholders of the first limit */
    /* If nothing is known the rule is skipped: `absent` if it does not apply, `unknown` if it could
     * not be judged. It passes if both are NULL, or `knows` holds. */
    const char *absent, *unknown;
    bool (*knows)(const struct facts *facts);
    bool (*ready)(struct checks *checks); /* false: it has reported why not */
    struct alike alike[2];                /* measured values that should be alike */
    void (*judge)(struct checks *checks); /* NULL = by the limits */
};

/* The tables of rules; each ends with an entry whose id is NULL. */
extern const struct rule rules_expected[], rules_count[], rules_machine[], rules_compute[],
    rules_burn[], rules_physical[], rules_symmetry[], rules_health[], rules_system[], rules_log[],
    rules_devices[];

/* Formats a burn-in in a line: clocks, power, temperature, rates. False: there was no burn-in. */
bool burn_format(const struct facts *facts, char *buf, size_t size);

/* The rules of --expect and of --machine. */
#define RULES_EXPECTED_ID "expected"
#define RULES_MACHINE_ID "machine"
#define RULES_MACHINE_RATES_ID "machine_rates"

/* If this rule is skipped, no GPU was judged, and the verdict is not PASS. */
#define RULES_GPUS_ID "gpus_judged"

/* NULL = no such rule. */
const struct rule *rule_find(const char *id);

/* The i-th rule in the order of --list; NULL after the last. */
const struct rule *rule_at(size_t i);
const char *rule_name(size_t i);

enum { RULES_MAX = 96, RULES_EXPECTED_MAX = 8 };

struct rules_request {
    size_t nrequired;
    const struct rule *required[RULES_MAX]; /* if one is skipped, that is an error */
    size_t nonly;
    const struct rule *only[RULES_MAX]; /* only these; none = all */
    size_t nexpected;
    struct rule_expected {
        const struct expectable *of; /* expect.c */
        double count;                /* for memory, bytes */
    } expected[RULES_EXPECTED_MAX];
    const struct machine_kind *machine; /* NULL = not given */
    char suggested[MACHINE_NAME_MAX];   /* kind that fits: "2xh200-sxm"; "" = none known */
};

/*
 * Parses what the caller expects of this server, "gpus=8,memory=2T", into the request: no rule can
 * find what was never on the bus. NULL = nothing is expected. -EINVAL names the part: an unknown
 * name, not a count of 0 to 1,000,000 (for memory not a size), or a name given twice.
 */
int expect_parse(const char *text, struct rules_request *request, struct err *err);

/*
 * True if the rule is to be judged. With `only`, also the rules of what is expected or of the
 * machine, if given, and gpus_judged if a rule of GPUs is among `only`.
 */
bool rules_asked(const struct rules_request *request, const struct rule *rule);

/* The measurements that the rules to be judged need, as bits of enum facts_probe_name. */
unsigned rules_probes(const struct rules_request *request);

/*
 * Judges, and appends findings, and to `numbers` each number that was compared with a bound: its
 * metric, unit, value, low, high and outcome. -ENOMEM only.
 */
int rules_judge(const struct facts *facts, const struct rules_request *request,
                struct findings *findings, struct findings *numbers, struct err *err);

/* The measurements behind rates that failed or warn, to be repeated. */
unsigned rules_to_repeat(const struct findings *findings, const struct rules_request *request);

/* 0 = the worst: FAIL, ERROR, WARN, SKIP, PASS. */
int rules_rank(enum finding_outcome outcome);

/* Sorts the worst first, otherwise in the order of the rules. */
void rules_sort(struct findings *findings);

struct rules_verdict {
    enum finding_outcome outcome; /* PASS, FAIL, ERROR; SKIP: nothing was judged, or no GPU */
    unsigned count[OUTCOMES];     /* findings of each outcome */
    unsigned rules;               /* that failed; for ERROR, that did not run */
    char text[400];               /* "FAIL: 2 rules (hardware: replace GPU 2; ...)" */
};
/* strict: warnings fail. of: what was judged, "2xh200-sxm". */
struct rules_verdict rules_verdict(const struct findings *findings, bool strict, const char *of);

/*
 * Waivers: failures of `contend validate` that somebody accepts, for a reason and until a day.
 * Pure; validate/files.h reads them.
 */
struct waiver {
    char rule[32];
    char unit[160]; /* the subject, or a word of it: "GPU 2", "0000:3b:00.0"; "" = all units */
    char reason[160];
    char until[11]; /* "2026-12-31": the last day on which it counts */
    unsigned line;  /* in the file, for messages */
};

struct waivers {
    size_t n, capacity;
    struct waiver *all; /* owned */
};

/*
 * Turns failures that a waiver covers into warnings that give its reason. Covered failures and
 * warnings do not fail a strict verdict either. A waiver after its day does not count, and the
 * failure says so. `today` has the form of `until`.
 */
void waive_findings(const struct waivers *waivers, const char *today, struct findings *findings);

/*
 * How a rule reports: one finding per unit, with the rule's own class, kind and action. Pure.
 *
 *   check_report(checks, OUTCOME_FAIL, &(struct check){.unit = "GPU 2", .metric = "pcie_width",
 *             .in = "lanes", .value = 8, .low = 16, .high = NAN}, "PCIe width is x8 of x16");
 *   check_report(checks, OUTCOME_PASS, NULL, "%zu GPUs are known to the driver", n);
 */

/* The state while one rule is judged. */
struct checks {
    const struct rule *rule;
    const struct facts *facts;
    const struct rules_request *request;
    struct findings *findings;
    struct findings *numbers; /* what check_number adds to */
};

/* Reasons why several rules cannot judge. Rules with the same reason are listed together. */
#define CHECK_VIRTUAL "the firmware's tables of a virtual machine are not real"
#define CHECK_DENIED "the firmware's tables need root: sudo contend validate"

/* Unset fields keep the rule's value, or mean open. */
struct check {
    const char *unit;    /* the subject; NULL = the machine */
    const char *cause;   /* instead of the rule's class */
    const char *command; /* instead of the rule's command */
    const char *evidence;
    bool open;               /* for SKIP: the rule applies here, but could not be judged */
    const char *metric, *in; /* NULL = no number; in: its unit */
    double value, low, high; /* NaN = open; used only with a metric */
};

/*
 * Adds a finding. PASS: one per rule, if no unit failed or warns. SKIP: the rule does not apply
 * here, or cannot be judged, for this reason. ERROR: it should have run. check NULL: only the
 * sentence.
 */
void check_report(struct checks *checks, enum finding_outcome outcome, const struct check *check,
                  const char *fmt, ...) __attribute__((format(printf, 4, 5)));

/*
 * Records a number that was compared with its bounds, for the table of all of them. A second bound
 * of the same number is added to its entry.
 */
void check_number(struct checks *checks, enum finding_outcome outcome, const struct check *check);

/* The measurement that the rule needs; the rule must have one. */
enum facts_probe_name check_probe(const struct checks *checks);

/*
 * True if the measurement can be judged. If not, the reason has been reported: SKIP if it does not
 * apply or was not requested, ERROR if it should have run.
 */
bool check_measured(struct checks *checks, enum facts_probe_name name);

/* Reports FAIL for each value that was lost during the measurement, such as a copy that arrived
 * wrong. Returns true if there was one. */
bool check_lost(struct checks *checks, enum facts_probe_name name);

/*
 * True if the firmware's tables, which have `n` entries, can be judged; if not, the reason has been
 * reported. Virtual machines have such tables, too, but their content is made up.
 */
bool check_firmware(struct checks *checks, size_t n);

#endif
