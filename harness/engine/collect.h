/* Copies workers' reports from shared memory into a result that outlives it. */
#ifndef CONTEND_ENGINE_COLLECT_H
#define CONTEND_ENGINE_COLLECT_H

#include "harness/engine/result.h"
#include "harness/engine/worker/shared.h"
#include "harness/engine/worker/usage.h"

/* An arm is noisy if the hypervisor stole a larger share of its CPUs' time. */
#define COLLECT_NOISY_STEAL 0.05

/* It is noisy, too, if processes other than the workers used a larger share. */
#define COLLECT_NOISY_FOREIGN 0.1

/* The same if heat held back the clock of a GPU in use for a larger share of the time. */
#define COLLECT_NOISY_HEAT 0.01

/* What a parent knows of its worker's end; zeroed = only what the worker itself reports. */
struct worker_end {
    enum worker_state state; /* WORKER_FAILED or WORKER_HUNG, with the reason; else 0 */
    struct err err;
    uint64_t killed_ns;           /* when the limit ended its step; 0 = it did not */
    struct usage_snapshot at_end; /* read at that time */
};

/*
 * Copies one worker's report. A step that the limit ended becomes a censored sample. `go_ns`: time
 * of the go signal, for a worker that never ran. The only error is -ENOMEM. Whatever the worker
 * has written, nothing is read beyond its report.
 */
int collect_worker(const struct shared_worker *worker, uint64_t go_ns, const struct worker_end *end,
                   struct worker_result *out);

/*
 * Fills phase_s up to PHASE_CHECK. A phase ends when the last worker has left it; in phases without
 * the background (settle, measure) only foreground workers count. `begin_ns`: time before any
 * worker was started.
 */
void collect_phases(const struct shared *shared, unsigned foreground, uint64_t begin_ns,
                    struct observation *out);

/* Fills steal, CPU pressure and foreign load between two readings, in which our own processes used
 * ours_s of CPU time. */
void collect_machine(const struct usage_machine *go, const struct usage_machine *end, double ours_s,
                     struct observation *out);

/*
 * Disjoint pinned workers with no more threads than CPUs need not wait for a CPU. If one waited for
 * a larger share of its time, other programs ran on its CPUs, and the observation is noisy.
 */
#define COLLECT_NOISY_WAIT 0.02
void collect_waits(const struct arm *arm, struct observation *out);

/* Marks an observation noisy if a command bound itself to CPUs outside its placement. */
void collect_masks(struct observation *out);

/* True if heat, or another throttling that counts as noise, held back a GPU in use. */
bool collect_gpu_held_back(const struct observation *of);

/* Sets status and reason of the whole observation from its workers and the machine. */
void collect_verdict(struct observation *out);

#endif
