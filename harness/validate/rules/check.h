/*
 * How a rule reports: one finding per unit, with the rule's own class, kind and action. Pure.
 *
 *   check_report(checks, OUTCOME_FAIL, &(struct check){.unit = "GPU 2", .metric = "pcie_width",
 *             .in = "lanes", .value = 8, .low = 16, .high = NAN}, "PCIe width is x8 of x16");
 *   check_report(checks, OUTCOME_PASS, NULL, "%zu GPUs are known to the driver", n);
 */
#ifndef CONTEND_VALIDATE_RULES_CHECK_H
#define CONTEND_VALIDATE_RULES_CHECK_H

#include "harness/lib/finding.h"
#include "harness/validate/rules/rules.h"

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
