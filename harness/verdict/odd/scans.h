/* What rows of scans say of themselves, as findings: ratios below 1. */
#ifndef CONTEND_VERDICT_ODD_SCANS_H
#define CONTEND_VERDICT_ODD_SCANS_H

#include "harness/contract/finding.h"
#include "harness/rows/analysis.h"

/*
 * A ratio is below 1 where all of its interval is below this: closer to 1 it says nothing. Of many
 * ratios some are by chance, since the interval of three rounds is their range: they have to be a
 * share of all.
 */
#define SCANS_BELOW_ONE 0.99
#define SCANS_BELOW_SHARE 0.25

/*
 * Id: "below_one", for ratios of three rounds or more that are (`below_one` of struct
 * bench_metric); one at most for an arm and metric. Appends; -ENOMEM only. Pure.
 */
int scans_find(const struct analysis *analysis, struct findings *findings, struct err *err);

#endif
