#include "harness/record/analysis.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

int analysis_make(const struct result *result, struct analysis *analysis, struct err *err)
{
    *analysis = (struct analysis){.result = result};
    int rc = rounds_make(result, &analysis->rounds, err);
    if (!rc)
        rc = values_make(result, &analysis->rounds, &analysis->values, err);
    if (!rc)
        rc = rows_make(result, &analysis->rounds, &analysis->values, &analysis->rows, err);
    return rc;
}

int analysis_make_round(const struct result *result, unsigned round, struct analysis *analysis,
                        struct err *err)
{
    struct result *alone = malloc(sizeof(*alone) + result->narms * sizeof(*alone->arms));
    *analysis = (struct analysis){0};
    if (!alone)
        return err_set(err, -ENOMEM, "out of memory for round %u", round + 1);
    *alone = *result;
    alone->arms = memcpy(alone + 1, result->arms, result->narms * sizeof(*alone->arms));
    for (size_t i = 0; i < result->narms; i++) {
        struct arm *arm = &alone->arms[i];
        arm->observations = arm_observation(arm, round);
        arm->nobservations = arm->observations != NULL;
    }
    int rc = analysis_make(alone, analysis, err);
    analysis->round = alone;
    return rc;
}

struct analysis analysis_measured(const struct analysis *full, struct result *result)
{
    struct analysis measured = *full;
    size_t narms = result_measured(full->result);
    *result = *full->result;
    result->narms = narms;
    measured.result = result;
    measured.rounds.narms = narms;
    measured.values.narms = narms;
    measured.values.n = full->values.first ? full->values.first[narms] : 0;
    while (measured.rows.n && measured.rows.row[measured.rows.n - 1].arm->is_control)
        measured.rows.n--;
    return measured;
}

void analysis_free(struct analysis *analysis)
{
    free(analysis->recommended);
    rows_free(&analysis->rows);
    values_free(&analysis->values);
    rounds_free(&analysis->rounds);
    free(analysis->round);
    *analysis = (struct analysis){0};
}

static bool is_of_steps(const struct arm *arm)
{
    return !arm->is_baseline && !arm->is_control && !arm->bench->scan;
}

static bool has_several_parts(const struct result *result)
{
    const struct arm *first = NULL;
    for (size_t i = 0; i < result->narms; i++) {
        const struct arm *arm = &result->arms[i];
        if (!is_of_steps(arm))
            continue;
        first = first ? first : arm;
        if (arm->bench != first->bench || arm->params != first->params)
            return true;
    }
    return false;
}

static size_t placement_of(struct scaling *scaling, enum placement placement)
{
    size_t at = 0;
    while (at < scaling->nplacements && scaling->placements[at] != placement)
        at++;
    if (at == scaling->nplacements)
        scaling->placements[scaling->nplacements++] = placement;
    return at;
}

bool scaling_read(const struct result *result, struct scaling *scaling)
{
    *scaling = (struct scaling){0};
    if (result->variants || result->purpose != PURPOSE_RUN || has_several_parts(result))
        return false;
    for (size_t c = 0; c < SCALING_COUNTS; c++)
        for (size_t p = 0; p < PLACEMENTS; p++)
            scaling->arm[c][p] = -1;
    for (unsigned planned_workers = 0;
         (planned_workers = result_next_workers(result, planned_workers)) != 0;) {
        if (scaling->ncounts == SCALING_COUNTS)
            return false;
        size_t c = scaling->ncounts++;
        scaling->counts[c] = planned_workers;
        for (size_t i = 0; i < result->narms; i++) {
            const struct arm *arm = &result->arms[i];
            if (is_of_steps(arm) && arm->planned_workers == planned_workers &&
                arm->plan.status == PLAN_OK)
                scaling->arm[c][placement_of(scaling, arm->placement)] = (int)i;
        }
    }
    return scaling->ncounts > 1 && scaling->nplacements > 0;
}

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
        baseline[BASELINE_NONE] = baseline[BASELINE_SLICE] = baseline[BASELINE_SINGLE] =
            baseline[BASELINE_SAME_PLACEMENT] = baseline[BASELINE_IDLE] = -1;
        baseline[BASELINE_BEST] = find_best(result, rounds, arm);
        if (result->neighbours) /* a job alone does not the work of all */
            continue;
        baseline[BASELINE_SLICE] = find_slice(result, rounds, arm);
        rounds->arms[i].slices = count_slices(result, arm, baseline[BASELINE_SLICE]);
        baseline[BASELINE_SAME_PLACEMENT] = find_solo(result, rounds, arm, arm->placement);
        baseline[BASELINE_SINGLE] = find_solo(result, rounds, arm, PLACE_NONE);
        baseline[BASELINE_IDLE] = find_idle(result, arm);
    }
}
