/* Findings about anomalies of a run, apart from its numbers. Each function appends its own.
 * Pure. */
#ifndef CONTEND_VERDICT_ODD_H
#define CONTEND_VERDICT_ODD_H

#include "harness/lib/finding.h"
#include "harness/machine/topo.h"
#include "harness/record/analysis.h"
#include "harness/verdict/symmetry.h"

/*
 * What a user's command did that its rows do not show. One finding "mask_changed" for each
 * placement and thread name that was bound to other CPUs than planned; severity doubt if CPUs lie
 * outside the plan. One for output that was cut, and one for runs that SIGTERM did not end.
 */
void commands_find(const struct analysis *analysis, struct findings *findings);

/* Clients that were the limit themselves, that share the server's CPUs, or print a number often;
 * servers that were kept. */
#define ODD_CLIENT_BUSY 0.9
void clients_find(const struct analysis *analysis, struct findings *findings);

/*
 * Adds "dose_not_held" for the configuration whose dose was off the most. Limits, for the median of
 * its rounds: 0.02 of cpu and throttle, 0.03 of bandwidth, 0.05 of cache, 5% of latency.
 */
void doses_find(const struct analysis *analysis, struct findings *findings);

/* How far the arm's dose is off, as a multiple of the limit; up to 1 = held; 0 = unknown. */
double doses_off(const struct analysis *analysis, const struct arm *arm);

/*
 * If the run uses GPUs: other processes on the GPUs that CUDA shows, their compute mode, MIG. Known
 * before anything is measured.
 */
void gpus_find(const struct topo *topo, const struct result *result, struct findings *findings);

/*
 * Changes of GPUs while arms ran: errors of memory and links, Xids, PCIe links that are slow under
 * load (machine/gpu_watch.h). One finding per GPU and kind, which names the arms; the evidence is
 * the number of affected launches of workers on that GPU.
 */
void gpus_find_changes(const struct topo *topo, const struct result *result,
                       struct findings *findings);

/*
 * What makes workers of one plan differ: "workers_unlike", "worker_no_memory",
 * "worker_some_no_memory" (plan/check.h), by placement. Without topo none.
 */
void plans_find(const struct topo *topo, const struct result *result, struct findings *findings);

/*
 * A ratio is below 1 if its whole interval is below SCANS_BELOW_ONE. Some of many ratios are below
 * by chance, since the interval of three rounds is their range. So the finding needs a share of
 * SCANS_BELOW_SHARE of all ratios of the metric.
 */
#define SCANS_BELOW_ONE 0.99
#define SCANS_BELOW_SHARE 0.25

/*
 * Adds "below_one" for ratios of at least three rounds that are below 1 (`below_one` of struct
 * bench_metric); at most one per arm and metric.
 */
void scans_find(const struct analysis *analysis, struct findings *findings);

/*
 * Arms and values whose status is not OK. Ids: the name of the status of an arm, of values that its
 * scan failed to measure, or of values that its benchmark doubts; "few_steps", where rounds are too
 * short; "efficiency_above_one", with the cause; "not_here" and "absent_here", for placements that
 * this machine does not support; "small_team", where OpenMP gave a worker fewer threads than
 * planned.
 */
void statuses_find(const struct analysis *analysis, struct findings *findings);

/* "none", "none alone", "none, 4 workers"; for a scan "mem_latency, pages 4k". */
const char *statuses_name_arm(const struct result *result, const struct arm *arm);

/*
 * Appends one finding per odd unit, by its worst comparison; then undecided comparisons; then how
 * alike the other units are. Appends nothing if nothing was compared. `topo` provides PCI addresses
 * and may be NULL. Ids:
 *
 *   unit_odd       of a unit, "GPU 2 (0000:00:08.0)", "GPU 0 to GPU 3", "from GPU 2 (...)",
 *                  "rank 5"; bad. The evidence is its ratio to its peers, below 1 also where less
 *                  is better, its robust z-score, and how many units are compared
 *   units_differ   two units: either may be the odd one
 *   units_split    too many units are worse to be called odd
 *   units_apart    none is odd, but least and most are far from each other
 *   units_alike    within how much of each other; a note
 *
 * units_differ, units_split and units_apart are doubts, or notes where the worst GPU was at its
 * power limit. more_units_odd and more_units_undecided count findings that are not listed. All but
 * unit_odd have the subject "symmetry".
 */
void symmetry_findings(const struct symmetry *symmetry, const struct topo *topo,
                       struct findings *findings);

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
