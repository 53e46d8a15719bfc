/* The bound of a run in one sentence, from the stages of its steps and its threads' waits. Pure. */
#ifndef CONTEND_VERDICT_ADVICE_BOUND_H
#define CONTEND_VERDICT_ADVICE_BOUND_H

#include "harness/contract/finding.h"
#include "harness/contract/stages.h"
#include "harness/rows/analysis.h"

enum bound {
    BOUND_CPU,
    BOUND_MEMORY, /* of the CPUs: caches, bandwidth, and siblings and clocks that cost the same */
    BOUND_COPY,
    BOUND_GPU,
    BOUND_GPU_MEMORY,
    BOUND_OTHERS, /* waiting for them: in the run queue, at barriers, for their share of a GPU */
    BOUND_QUOTA,  /* of CPU time, of a cgroup */
    BOUNDS
};
/* "the CPU", "waiting for others". */
const char *bound_name(enum bound bound);

/* Means over the workers, for a step; NaN = unknown. `alone` is one worker with its share of CPUs.
 */
struct bound_facts {
    double stage[STAGE_KINDS], alone[STAGE_KINDS]; /* s: sums of the stages of a kind */
    double oncpu_s, runqueue_s, throttled_s;       /* mean over the threads of a team */
    double more_instructions_s, more_stalls_s;     /* of oncpu_s, more than alone: loss_oncpu_* */
    double instructions, cycles, cache_misses;     /* of all threads */
    double gpu_compute, gpu_memory; /* shares of what the GPU can do, while it worked */
    unsigned sharing;               /* workers on a GPU */
};

/* The parts of a step's time; with the gaps between stages they add up to the step. */
struct bound_parts {
    double s[BOUNDS];
    double step_s;
    enum bound most, second;
};

/*
 * Stages of copies, and the waiting of STAGE_WAIT, stand for themselves. CPU stages divide as their
 * threads' time does: waiting in the run queue, and more instructions than alone, which is spinning
 * at barriers for those who have no CPU, are for others; more stalls are memory. Without counters
 * all that is longer than alone is for others where threads queue (a tenth of their time), else
 * memory. The rest is the CPU's, or its memory's where it does less than BOUND_IPC_LEAST
 * instructions a cycle and more than BOUND_MISSES_LEAST of them miss the last cache. GPU stages are
 * compute, or memory where that is nearer to what the GPU can do; what a GPU that is shared takes
 * longer than alone is for others.
 */
#define BOUND_IPC_LEAST 0.7
#define BOUND_MISSES_LEAST 0.005
#define BOUND_QUEUE_LEAST 0.1
void bound_judge(const struct bound_facts *facts, struct bound_parts *parts);

/*
 * Adds a finding "bound" for `none` and for the recommended placement, else the best, of each
 * benchmark with stages, with the most workers; of one that was measured alone, for that.
 */
void bound_find(const struct analysis *analysis, struct findings *findings);

#endif
