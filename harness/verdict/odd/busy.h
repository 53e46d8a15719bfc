/* Reports a busy machine once, instead of once for every disturbed arm. Pure. */
#ifndef CONTEND_VERDICT_ODD_BUSY_H
#define CONTEND_VERDICT_ODD_BUSY_H

#include "harness/contract/finding.h"
#include "harness/rows/analysis.h"

/*
 * Adds the finding "busy", of the whole run, if more than half of all launches were disturbed:
 * other programs used more than COLLECT_NOISY_FOREIGN of the CPUs, or the hypervisor took more than
 * COLLECT_NOISY_STEAL. The same limits flag a single launch as noisy. Names the processes that used
 * the most. Why half: a median over rounds holds for the quiet machine only while the disturbed
 * rounds are the minority; ratios within rounds hold beside the load (recommend.h).
 */
void busy_find(const struct analysis *analysis, struct findings *findings);

/* The finding "busy" among them, or NULL. */
const struct finding *busy_among(const struct findings *findings);

/* True if the finding "busy" explains why the arm is noisy: none of its GPUs was held back. */
bool busy_explains(const struct findings *findings, const struct arm *arm);

#endif
