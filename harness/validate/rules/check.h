/*
 * How a rule says what it found: one finding a unit, with the rule's own class, kind and action.
 * Pure.
 *
 *   check_report(checks, OUTCOME_FAIL, &(struct check){.unit = "GPU 2", .metric = "pcie_width",
 *             .in = "lanes", .value = 8, .low = 16, .high = NAN}, "PCIe width is x8 of x16");
 *   check_report(checks, OUTCOME_PASS, NULL, "%zu GPUs are known to the driver", n);
 */
#ifndef CONTEND_VALIDATE_RULES_CHECK_H
#define CONTEND_VALIDATE_RULES_CHECK_H

#include "harness/contract/finding.h"
#include "harness/validate/rules/rules.h"

/* While one rule looks at the facts. */
struct checks {
    const struct rule *rule;
    const struct facts *facts;
    const struct rules_request *request;
    struct findings *findings;
    int rc;
    struct err *err;
};

/* Why several rules cannot judge: those of one cause are listed together. */
#define CHECK_VIRTUAL "the firmware's tables of a virtual machine are not real"
#define CHECK_DENIED "the firmware's tables need root: sudo contend validate"

/* Unset fields stay the rule's, or open. */
struct check {
    const char *unit;    /* the subject; NULL = the machine */
    const char *cause;   /* another class than the rule's */
    const char *command; /* another command than the rule's */
    const char *evidence;
    bool open;               /* of a SKIP: it applies here, and could not be judged */
    const char *metric, *in; /* NULL = no number; in: its unit */
    double value, low, high; /* NaN = open; looked at where there is a metric */
};

/*
 * PASS: one a rule, where no unit of it failed or warns. SKIP: does not apply here, or cannot be
 * known, for this reason. ERROR: should have run. check: NULL = nothing beside the sentence.
 */
void check_report(struct checks *checks, enum finding_outcome outcome, const struct check *check,
                  const char *fmt, ...) __attribute__((format(printf, 4, 5)));

/* The measurement of the rule, which has one. */
enum facts_probe_name check_probe(const struct checks *checks);

/*
 * True where the measurement is there to be judged. Else it has been said why not: a skip where it
 * does not apply or was not asked for, an error where it should have run.
 */
bool check_measured(struct checks *checks, enum facts_probe_name name);

/* Fails what was lost while the rest was measured, such as a copy that arrived wrong: any was. */
bool check_lost(struct checks *checks, enum facts_probe_name name);

/*
 * True where the firmware's tables can be judged, of which there are `n`; else it has been said why
 * not. Virtual machines have tables, too, and what is in them is made up.
 */
bool check_firmware(struct checks *checks, size_t n);

#endif
