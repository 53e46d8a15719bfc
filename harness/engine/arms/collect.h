/* From the shared memory to a result that outlives it. */
#ifndef CONTEND_ENGINE_ARMS_COLLECT_H
#define CONTEND_ENGINE_ARMS_COLLECT_H

#include "harness/engine/arms/result.h"
#include "harness/engine/worker/shared.h"
#include "harness/engine/worker/usage.h"

/* An arm with a larger share of the time of its CPUs stolen by the hypervisor is flagged noisy. */
#define COLLECT_NOISY_STEAL 0.05

/* Also one in which other processes than the workers used a larger share. */
#define COLLECT_NOISY_FOREIGN 0.1

/* And one with a GPU whose clock heat held back for a larger share of the time. */
#define COLLECT_NOISY_HEAT 0.01

/*
 * Copies one worker's report. `killed_ns` != 0: its step was ended by the limit at that clock, and
 * becomes a censored sample. `go_ns`: of the go signal, for a worker that never got to run.
 * -ENOMEM only.
 */
int collect_worker(const struct shared_worker *worker, uint64_t go_ns, uint64_t killed_ns,
                   struct worker_result *out);

/*
 * phase_s up to the check, each until the last of the workers has come through it, of those in
 * front where those behind take no part. `begin_ns`: before any was started.
 */
void collect_phases(const struct shared *shared, unsigned foreground, uint64_t begin_ns,
                    struct observation *out);

/* Steal, CPU pressure and foreign load between two readings; the workers used ours_s meanwhile. */
void collect_machine(const struct usage_machine *go, const struct usage_machine *end, double ours_s,
                     struct observation *out);

/*
 * Disjoint pinned workers with no more threads than CPUs have nobody to wait for: where one waited
 * a larger share of its time for a CPU, somebody else was there, and the observation is noisy.
 */
#define COLLECT_NOISY_WAIT 0.02
void collect_waits(const struct arm *arm, struct observation *out);

/* One whose command bound itself to CPUs that it was not given is noisy. */
void collect_masks(struct observation *out);

/* Whether heat, or a slowdown that is noise, held back the clock of a GPU in use. */
bool collect_gpu_held_back(const struct observation *of);

/* status and reason of the whole observation, from its workers and the machine. */
void collect_verdict(struct observation *out);

#endif
