/* What bounds a run, in one sentence, from the stages of its steps and its threads' waits. Pure. */
#ifndef CONTEND_VERDICT_BOUND_H
#define CONTEND_VERDICT_BOUND_H

#include "harness/engine/contract/stages.h"
#include "harness/lib/finding.h"
#include "harness/record/analysis.h"

enum bound {
    BOUND_CPU,
    BOUND_MEMORY, /* CPU memory: caches, bandwidth; SMT siblings and low clocks look the same */
    BOUND_COPY,
    BOUND_GPU,
    BOUND_GPU_MEMORY,
    BOUND_OTHERS, /* waiting for others: in the run queue, at barriers, for a share of a GPU */
    BOUND_QUOTA,  /* of a cgroup's CPU time */
    BOUNDS
};
/* "the CPU", "waiting for others". */
const char *bound_name(enum bound bound);

/* Means over the workers, per step; NaN = unknown. `solo` is one worker with its share of CPUs. */
struct bound_facts {
    double stage[STAGE_KINDS], solo[STAGE_KINDS]; /* s: sum of the stages of each kind */
    double oncpu_s, runqueue_s, throttled_s;      /* mean over the threads of a team */
    double more_instructions_s, more_stalls_s; /* of oncpu_s, beyond the solo run: loss_oncpu_* */
    double instructions, cycles, cache_misses; /* of all threads */
    double gpu_compute, gpu_memory;            /* shares of the GPU's peak, while it worked */
    unsigned sharing;                          /* workers on a GPU */
};

/* The parts of a step's time. With the gaps between stages, the parts add up to the step. */
struct bound_parts {
    double s[BOUNDS];
    double step_s;
    enum bound most, second;
};

/*
 * Divides a step's time. Copy stages count as BOUND_COPY, and STAGE_WAIT as BOUND_OTHERS. CPU
 * stages divide in proportion to the time of their threads. Run-queue wait goes to others. More
 * instructions than alone also go to others: they are spinning at barriers for threads without a
 * CPU. More stalls go to memory. Without counters, all time beyond the solo run goes to others if
 * the threads queue for BOUND_QUEUE_LEAST of their time, else to memory. The rest is memory below
 * BOUND_IPC_LEAST instructions per cycle with more than BOUND_MISSES_LEAST last-level cache misses
 * per instruction, else CPU. GPU stages are compute, or GPU memory if that is nearer to its peak.
 * On a shared GPU, the time beyond the solo run goes to others.
 */
#define BOUND_IPC_LEAST 0.7
#define BOUND_MISSES_LEAST 0.005
#define BOUND_QUEUE_LEAST 0.1
void bound_judge(const struct bound_facts *facts, struct bound_parts *parts);

/*
 * For each benchmark with stages, at its largest number of workers: adds a finding "bound" for
 * `none` and for the recommended placement, or for the best if none is recommended.
 */
void bound_find(const struct analysis *analysis, struct findings *findings);

#endif
