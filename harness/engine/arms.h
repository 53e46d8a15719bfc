/* Chooses the arms of a run, the configurations that it measures: worker counts x placements, and
 * the baselines that they are compared with. Pure. */
#ifndef CONTEND_ENGINE_ARMS_H
#define CONTEND_ENGINE_ARMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "harness/engine/result.h"
#include "harness/lib/err.h"
#include "harness/machine/topo.h"
#include "harness/plan/plan.h"

/* One part of a scenario: one benchmark with one set of parameters. */
struct arms_request {
    const struct bench *bench;
    const void *params;            /* borrowed by the arms */
    const struct variant *variant; /* borrowed by the arms; or NULL */
    const enum placement *placements;
    size_t nplacements;
    const bool *optional; /* by placement index: too few CPUs give a skipped arm, no error */
    const unsigned *workers;
    size_t nworkers;
    bool baselines;
    bool few_baselines; /* only of `none` and of the first disjoint placement */
    bool is_control;    /* controls that watch the machine: add them last */
    double cpu_max;     /* see struct arm, as priority */
    struct cpu_priority priority[2];
    struct dose dose;           /* see struct arm; baselines have none */
    bool background_as_workers; /* as many background as foreground workers; overrides plan */
    struct plan_request plan;   /* placement and workers are filled in here */
};

/*
 * Chooses the arms of a part in place of arms_add: `add` gets the request that arms_add would get,
 * without baselines.
 */
struct arrange {
    enum purpose purpose;
    int (*add)(void *arg, const struct topo *topo, const struct arms_request *request,
               struct result *result, struct err *err);
    void *arg;
};

/*
 * Appends to result->arms, which starts out NULL. For each worker count and placement it adds the
 * arm and, with baselines, one worker of the same plan alone on the idle machine: arms_slot. A
 * baseline with the same slices as an earlier one points to it (same_as), and only the earlier one
 * is measured. If the benchmark is a scan `gang`, there is a baseline only with a background, of
 * the first possible placement: all workers without the background. Errors: those of plan_make and
 * plan_add_dose. Free with arms_free, also after an error.
 */
int arms_add(const struct topo *topo, const struct arms_request *request, struct result *result,
             struct err *err);
void arms_free(struct result *result);

/* True when the arm has a plan and is not the copy of another baseline. */
bool arm_runs(const struct arm *arm);

/* True when both plan all workers alike: their times then differ only by chance. */
bool arm_same_plan(const struct arm *a, const struct arm *b);

/*
 * Index of the planned worker whose slice (CPUs, memory and GPU) a baseline of one worker uses in a
 * round; 0 for other arms. Distinct slices with as many CPUs as the first take turns, so that no
 * slice is the reference of all rounds. Their counts differ by at most one round; the seed chooses
 * the first.
 */
unsigned arms_slot(const struct arm *arm, uint64_t seed, unsigned round);
/* How many slices take turns; 1 = no turns. */
unsigned arms_slices(const struct arm *arm);

/*
 * The order of the arms in a round, shuffled from (seed, round). With result->until_clear every
 * second round reverses the order of the round before it: of any two arms, each comes first in one
 * of the two rounds.
 */
void arms_order(const struct result *result, unsigned round, size_t *order);

/* round_seed of struct bench_ctx: all arms and workers of a round have the same. */
uint64_t arms_round_seed(uint64_t seed, unsigned round);

#endif
