/* Which arms a run has: worker counts x placements, and the baselines that they are held against.
 * PURE */
#ifndef CONTEND_ENGINE_ARMS_ARMS_H
#define CONTEND_ENGINE_ARMS_ARMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "harness/engine/arms/result.h"
#include "harness/lib/base/err.h"
#include "harness/machine/topo/topo.h"
#include "harness/plan/placement/plan.h"

/* One part of a scenario: one benchmark with one set of parameters. */
struct arms_request {
    const struct bench *bench;
    const void *params;            /* borrowed by the arms */
    const struct variant *variant; /* the same; or NULL */
    const enum placement *placements;
    size_t nplacements;
    const bool *optional; /* by placement index: too few CPUs are a skipped arm, not an error */
    const unsigned *workers;
    size_t nworkers;
    bool baselines;
    bool few_baselines;         /* of them `none`, and one that owns its share of the CPUs */
    bool canary;                /* arms that watch the machine: the last ones to be added */
    double cpu_max;             /* of its arms: see there */
    struct dose dose;           /* the same; baselines have none */
    bool background_as_workers; /* as many behind as in front, whatever plan.background says */
    struct plan_request plan;   /* placement and workers are filled in here */
};

/*
 * Who chooses the arms of a part in place of arms_add on all that the request names; the rest is
 * called with it, as struct arms_request says.
 */
struct arrange {
    enum purpose purpose;
    int (*add)(void *arg, const struct topo *topo, const struct arms_request *request,
               struct result *result, struct err *err);
    void *arg;
};

/*
 * Appends to result->arms, which starts out NULL. For each worker count and placement the arm
 * itself and, with baselines, one worker of the same plan alone on the idle machine: arms_slot. A
 * baseline whose workers have the slices of an earlier one's points to it (same_as) and is measured
 * once. Where the benchmark is a scan `gang`, the baseline is all workers without the
 * background, of the first placement that there is, and only with a background. Errors: those of
 * plan_make. Free with arms_free, also after an error.
 */
int arms_add(const struct topo *topo, const struct arms_request *request, struct result *result,
             struct err *err);
void arms_free(struct result *result);

/* True when the arm is to be launched in every round. */
bool arm_runs(const struct arm *arm);

/* True when both plan all their workers alike: what differs between their times is chance. */
bool arm_same_plan(const struct arm *a, const struct arm *b);

/*
 * Whose slice (CPUs, memory and GPU) a baseline of one worker has in a round; of other arms 0. The
 * plan's slices that differ and have as many CPUs as the first take turns, so that none is the
 * yardstick of all rounds: each as often as the others, but for one round. The seed says who
 * begins.
 */
unsigned arms_slot(const struct arm *arm, uint64_t seed, unsigned round);
/* How many take turns; 1 where none do. */
unsigned arms_slices(const struct arm *arm);

/*
 * The order of the arms in a round, shuffled from (seed, round). Of a run that ends when it is
 * clear every second round has that of the one before it backwards, so that of any two arms each
 * comes first in one of the two.
 */
void arms_order(const struct result *result, unsigned round, size_t *order);

/* round_seed of struct bench_ctx: all arms and workers of a round have the same. */
uint64_t arms_round_seed(uint64_t seed, unsigned round);

#endif
