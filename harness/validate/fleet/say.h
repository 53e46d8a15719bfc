/* What was judged of a fleet as findings. Pure. */
#ifndef CONTEND_VALIDATE_FLEET_SAY_H
#define CONTEND_VALIDATE_FLEET_SAY_H

#include "harness/validate/fleet/judge.h"

/* Of a machine that is wholly off, the worst so many; the last one says how many more there are. */
enum { FLEET_FINDINGS_A_MACHINE = 20 };

/*
 * One for each offence, worst machine first, with the machine as subject; and one of outcome PASS,
 * id "fleet_machine", for each machine without any. -ENOMEM only.
 */
int fleet_findings(const struct fleet *fleet, const struct bounds *bounds,
                   const struct fleet_judgement *judgement, struct findings *findings,
                   struct err *err);

/* One machine, looked at by bounds. */
struct fleet_look {
    struct fleet fleet;
    struct fleet_judgement judgement;
};

/*
 * What is off as findings of the rule RULES_BASELINE_ID, with the figure as subject; of a second
 * look also what was off `before` (or NULL) and is good now. -ENOMEM only.
 */
int fleet_look_findings(const struct fleet_look *look, const struct fleet_look *before,
                        const struct bounds *bounds, struct findings *findings, struct err *err);

#endif
