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

#endif
