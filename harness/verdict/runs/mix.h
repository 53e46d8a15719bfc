/*
 * Unlike jobs on one node: what each keeps of its rate alone, as the cores are divided among them.
 * Pure apart from allocation.
 *
 * Arms are each job alone (sized), then all jobs under each placement, and with the cores divided
 * in other ways: the first job, or the protected one, on 1, 2, 3, 4, 6, 8, ... cores, the others on
 * the rest, by their shares. Every round measures all of them, so what a job keeps is a ratio
 * within a round. The sum of these is the weighted speed-up (record/rounds.c). Which jobs may run
 * together at which cost was asked so by Bubble-Up (Mars et al., MICRO 2011), Heracles (Lo et al.,
 * ISCA 2015) and PARTIES (Chen et al., ASPLOS 2019), which also move cores until a latency holds.
 */
#ifndef CONTEND_VERDICT_RUNS_MIX_H
#define CONTEND_VERDICT_RUNS_MIX_H

#include "harness/engine/arms.h"
#include "harness/verdict/evidence.h"

enum { MIX_ARMS = 64 };

/* Zeroed. */
struct mix {
    size_t n; /* internal */
    struct variant variants[MIX_ARMS];
};

/* Adds the arms of the result's jobs: for struct arrange, `arg` is the struct mix. */
int mix_arrange(void *arg, const struct topo *topo, const struct arms_request *request,
                struct result *result, struct err *err);

/* True if no other arm of all jobs lets one of them keep more, and each as much. By medians. */
bool mix_is_pareto(const struct analysis *analysis, size_t arm);

/* Length of the job's name in the metric of what it keeps; 0 = it is another metric. */
size_t mix_kept_by(const char *metric);

/* Appends the findings: the trade between the jobs, and the placement that keeps the protected
 * bound and most of the rest. */
void mix_judge(const struct analysis *analysis, struct findings *findings);

#endif
