/* A machine on which too much else went on: said once, and not of every arm again. Pure. */
#ifndef CONTEND_VERDICT_ODD_BUSY_H
#define CONTEND_VERDICT_ODD_BUSY_H

#include "harness/contract/finding.h"
#include "harness/rows/analysis.h"

/*
 * Adds the finding "busy", of the whole run and with its figure, where more than half of all
 * launches were disturbed: other programs, or the hypervisor, had a larger share of the CPUs than
 * COLLECT_NOISY_FOREIGN or COLLECT_NOISY_STEAL, which flag one launch as noisy. Why half: a median
 * over rounds holds while the disturbed ones are the fewer, and no longer.
 */
void busy_find(const struct analysis *analysis, struct findings *findings);

/* That one among them, or NULL. */
const struct finding *busy_among(const struct findings *findings);

/* Whether that finding says already why the arm is noisy: no GPU of it was held back. */
bool busy_explains(const struct findings *findings, const struct arm *arm);

#endif
