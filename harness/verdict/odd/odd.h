/* Findings about oddities of a run beside its numbers: each function appends its own. Pure. */
#ifndef CONTEND_VERDICT_ODD_ODD_H
#define CONTEND_VERDICT_ODD_ODD_H

#include "harness/contract/finding.h"
#include "harness/machine/topo/topo.h"
#include "harness/rows/analysis.h"
#include "harness/verdict/odd/symmetry.h"

/*
 * What a user's command did that its rows do not show: a finding for each placement and name of a
 * thread that was bound to other CPUs than planned (id mask_changed, a doubt where they lie beyond
 * the plan), one for output that was cut, and one for runs that SIGTERM did not end.
 */
void commands_find(const struct analysis *analysis, struct findings *findings);

/*
 * Id: "dose_not_held", of the configuration whose dose was off the most: by more than 2 points of
 * cpu, 0.03 of bandwidth or 5% of latency in the median of its rounds.
 */
void doses_find(const struct analysis *analysis, struct findings *findings);

/* By how much more than that the arm's dose is off; 1 and less: it was held, or nobody knows. */
double doses_off(const struct analysis *analysis, const struct arm *arm);

/*
 * Of the GPUs that CUDA shows, where the run uses any: other processes on it, its compute mode,
 * MIG. Known before anything is measured.
 */
void gpus_find(const struct topo *topo, const struct result *result, struct findings *findings);

/*
 * What changed on GPUs while arms ran: errors of memory and links, Xids, PCIe links that are slow
 * under load (machine/gpu/watch.h). One finding a GPU and kind, which names the arms; the evidence
 * is in how many of the launches of workers on that GPU.
 */
void gpus_find_changes(const struct topo *topo, const struct result *result,
                       struct findings *findings);

/*
 * A ratio is below 1 where all of its interval is below this: closer to 1 it says nothing. Of many
 * ratios some are by chance, since the interval of three rounds is their range: they have to be a
 * share of all.
 */
#define SCANS_BELOW_ONE 0.99
#define SCANS_BELOW_SHARE 0.25

/*
 * Id: "below_one", for ratios of three rounds or more that are (`below_one` of struct
 * bench_metric); one at most for an arm and metric.
 */
void scans_find(const struct analysis *analysis, struct findings *findings);

/*
 * What did not simply end well. Ids: the name of the status of an arm, or of values that its scan
 * could not have or that its benchmark doubts; "few_steps", where its rounds are too short;
 * "efficiency_above_one", which says what that means; "not_here", for placements that this machine
 * cannot express; "small_team", where OpenMP gave a worker fewer threads than planned.
 */
void statuses_find(const struct analysis *analysis, struct findings *findings);

/* "none", "none alone", "none, 4 workers"; of a scan "mem_latency, pages 4k". Returns buf. */
char *statuses_name_arm(const struct result *result, const struct arm *arm, char *buf, size_t size);

/*
 * Appends one finding a unit that is odd, by its worst comparison; then what cannot be decided,
 * then how alike the others are; nothing where nothing was compared. `topo` gives PCI addresses; it
 * may be NULL. Ids:
 *   unit_odd       of a unit, "GPU 2 (0000:00:08.0)", "GPU 0 to GPU 3", "from GPU 2 (...)",
 *                  "rank 5"; bad. The evidence is its ratio to its peers, below 1 also where less
 *                  is better, its robust z-score, and how many are compared
 *   units_differ   two, of which nobody can say which is odd
 *   units_split    too many are worse to be called odd
 *   units_apart    none is odd, but least and most are far from each other
 *   units_alike    within how much of each other; a note
 * The three before that are doubts, or, where the worst GPU was at its power limit, notes that say
 * so
 * and more_units_odd, more_units_undecided for how many of them are not told. All but unit_odd are
 * of the subject "symmetry".
 */
void symmetry_findings(const struct symmetry *symmetry, const struct topo *topo,
                       struct findings *findings);

#endif
