#include "harness/record/baseline.h"

#include <math.h>

unsigned rounds_cpus(const struct result *result, unsigned planned_workers)
{
    struct bitset all = {0};
    for (size_t i = 0; i < result_measured(result); i++) {
        const struct arm *arm = &result->arms[i];
        if (arm->planned_workers != planned_workers || arm->plan.status != PLAN_OK ||
            !arm->plan.nworkers)
            continue;
        if (arm->placement == PLACE_NONE)
            return bitset_count(&arm->plan.workers[0].cpus);
        for (unsigned w = 0; w < plan_requested(&arm->plan); w++)
            bitset_or(&all, &arm->plan.workers[w].cpus);
    }
    return bitset_count(&all);
}

/* True if `arm` is one worker that does the work of `of` on the idle machine, under a plan for as
 * many workers. */
static bool is_solo(const struct arm *arm, const struct arm *of)
{
    return arm->bench == of->bench && !bench_is_team(arm->bench) && arm->params == of->params &&
           arm->planned_workers == of->planned_workers &&
           (arm->is_baseline || (arm->planned_workers == 1 && !arm_background(arm))) &&
           arm->plan.status == PLAN_OK;
}

static bool owns_a_slice(const struct arm *arm, unsigned cpus)
{
    bool sliced = placement_infos[arm->placement].disjoint || arm->placement == PLACE_SAME;
    unsigned share = (cpus + arm->planned_workers - 1) / arm->planned_workers;
    return sliced && arm->plan.nworkers && bitset_count(&arm->plan.workers[0].cpus) <= share;
}

static int find_slice(const struct result *result, const struct rounds *rounds,
                      const struct arm *of)
{
    unsigned cpus = rounds_cpus(result, of->planned_workers);
    int best = -1;
    double best_rate = 0;
    for (size_t i = 0; i < result->narms; i++) {
        if (!is_solo(&result->arms[i], of) || !owns_a_slice(&result->arms[i], cpus))
            continue;
        if (rounds->arms[i].rate > best_rate) {
            best = (int)i;
            best_rate = rounds->arms[i].rate;
        }
    }
    return best;
}

/* The solo run of that placement. A baseline arm is preferred to an arm that has N = 1 anyway. */
static int find_solo(const struct result *result, const struct rounds *rounds, const struct arm *of,
                     enum placement placement)
{
    int found = -1;
    for (size_t i = 0; i < result->narms; i++) {
        const struct arm *arm = &result->arms[i];
        if (arm->placement != placement || !is_solo(arm, of) || !rounds->arms[i].n)
            continue;
        if (arm->is_baseline)
            return (int)i;
        if (found < 0)
            found = (int)i;
    }
    return found;
}

/*
 * N, if N divides the CPUs. Otherwise the measured slice may be larger than the slices of other
 * workers, so it counts by its share of all CPUs.
 */
static double count_slices(const struct result *result, const struct arm *of, int slice)
{
    if (slice < 0)
        return NAN;
    double own = bitset_count(&result->arms[slice].plan.workers[0].cpus);
    return fmin(of->planned_workers, rounds_cpus(result, of->planned_workers) / own);
}

/* The arm's team without its background load. */
static int find_idle(const struct result *result, const struct arm *of)
{
    for (size_t i = 0; arm_background(of) && bench_is_team(of->bench) && i < result->narms; i++) {
        const struct arm *arm = &result->arms[i];
        if (arm->is_baseline && arm->bench == of->bench && arm->params == of->params &&
            arm->planned_workers == of->planned_workers)
            return (int)i;
    }
    return -1;
}

/* True for `same` and `remote`: placements to compare with, never to use. */
static bool is_comparison_only(enum placement placement)
{
    return placement_infos[placement].pinned && !placement_infos[placement].effort;
}

/* Lower is better: an arm that failed in a round, or is only a bound, is a poor reference. */
static int rank_of(const struct arm *arm, enum status status)
{
    int rank = status <= STATUS_NOISY ? 0 : status == STATUS_CENSORED ? 1 : 2;
    return is_comparison_only(arm->placement) ? rank + 3 : rank;
}

static int find_best(const struct result *result, const struct rounds *rounds, const struct arm *of)
{
    int best = -1, best_rank = 0;
    for (size_t i = 0; i < result->narms && !of->is_baseline && !of->bench->scan; i++) {
        const struct arm *arm = &result->arms[i];
        double rate = rounds->arms[i].rate;
        if (arm->is_baseline || arm->bench != of->bench || arm->params != of->params ||
            arm->variant != of->variant || arm->planned_workers != of->planned_workers ||
            isnan(rate))
            continue;
        int rank = rank_of(arm, rounds->arms[i].status);
        if (best < 0 || rank < best_rank || (rank == best_rank && rate > rounds->arms[best].rate)) {
            best = (int)i;
            best_rank = rank;
        }
    }
    return best;
}

void baseline_choose(const struct result *result, struct rounds *rounds)
{
    for (size_t i = 0; i < rounds->narms; i++) {
        const struct arm *arm = &result->arms[i];
        int *baseline = rounds->arms[i].baseline;
        baseline[BASELINE_NONE] = -1;
        baseline[BASELINE_SLICE] = find_slice(result, rounds, arm);
        rounds->arms[i].slices = count_slices(result, arm, baseline[BASELINE_SLICE]);
        baseline[BASELINE_SAME_PLACEMENT] = find_solo(result, rounds, arm, arm->placement);
        baseline[BASELINE_SINGLE] = find_solo(result, rounds, arm, PLACE_NONE);
        baseline[BASELINE_IDLE] = find_idle(result, arm);
        baseline[BASELINE_BEST] = find_best(result, rounds, arm);
    }
}
