/* What did not simply end well, as findings: arms, placements that cannot be had, small teams. */
#ifndef CONTEND_VERDICT_ODD_STATUSES_H
#define CONTEND_VERDICT_ODD_STATUSES_H

#include "harness/contract/finding.h"
#include "harness/rows/analysis.h"

/*
 * Ids: the name of the status of an arm, or of values that its scan could not have or that
 * its benchmark doubts; "few_steps", where its rounds are too short; "efficiency_above_one", which
 * says what that means; "not_here", for placements that this machine cannot express; "small_team",
 * where OpenMP gave a worker fewer threads than planned. Appends; -ENOMEM only. Pure.
 */
int statuses_find(const struct analysis *analysis, struct findings *findings, struct err *err);

/* "none", "none alone", "none, 4 workers"; of a scan "mem_latency, pages 4k". Returns buf. */
char *statuses_name_arm(const struct result *result, const struct arm *arm, char *buf, size_t size);

#endif
