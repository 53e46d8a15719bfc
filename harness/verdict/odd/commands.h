/* What a user's command did that its rows do not show. Pure. */
#ifndef CONTEND_VERDICT_ODD_COMMANDS_H
#define CONTEND_VERDICT_ODD_COMMANDS_H

#include "harness/contract/finding.h"
#include "harness/rows/analysis.h"

/*
 * Adds a finding for each placement and name of a thread that was bound to other CPUs than planned
 * (id mask_changed, a doubt where they lie beyond the plan), one for output that was cut, and one
 * for runs that SIGTERM did not end. -ENOMEM only.
 */
int commands_find(const struct analysis *analysis, struct findings *findings, struct err *err);

#endif
