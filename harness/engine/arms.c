#include "harness/engine/arms.h"

#include <errno.h>
#include <stdlib.h>

#include "harness/lib/stats.h"

bool arm_runs(const struct arm *arm)
{
    return arm->plan.status == PLAN_OK && arm->same_as < 0;
}

static bool same_worker(const struct plan_worker *a, const struct plan_worker *b)
{
    return bitset_equal(&a->cpus, &b->cpus) && bitset_equal(&a->mem_nodes, &b->mem_nodes) &&
           a->mem_policy == b->mem_policy && a->threads == b->threads && a->gpu == b->gpu &&
           a->passive == b->passive;
}

bool arm_same_plan(const struct arm *a, const struct arm *b)
{
    if (a->plan.status != PLAN_OK || b->plan.status != PLAN_OK || a->workers != b->workers ||
        a->plan.nworkers != b->plan.nworkers)
        return false;
    for (unsigned w = 0; w < a->plan.nworkers; w++)
        if (!same_worker(&a->plan.workers[w], &b->plan.workers[w]))
            return false;
    return true;
}

/* True if a baseline may use this slice: as many CPUs as slot 0, and no earlier slot is equal. */
static bool is_slice(const struct arm *arm, unsigned slot)
{
    const struct plan_worker *workers = arm->plan.workers;
    for (unsigned w = 0; w < slot; w++)
        if (same_worker(&workers[w], &workers[slot]))
            return false;
    return bitset_count(&workers[slot].cpus) == bitset_count(&workers[0].cpus);
}

/* The slot of the next such slice, or arm->planned_workers. */
static unsigned next_slice(const struct arm *arm, unsigned slot)
{
    do
        slot++;
    while (slot < arm->planned_workers && !is_slice(arm, slot));
    return slot;
}

unsigned arms_slices(const struct arm *arm)
{
    unsigned n = 1;
    if (!arm->is_baseline || bench_is_team(arm->bench) || arm->plan.status != PLAN_OK)
        return n;
    for (unsigned slot = next_slice(arm, 0); slot < arm->planned_workers;
         slot = next_slice(arm, slot))
        n++;
    return n;
}

unsigned arms_slot(const struct arm *arm, uint64_t seed, unsigned round)
{
    uint64_t state = seed;
    unsigned n = arms_slices(arm), slot = 0;
    for (unsigned turn = (unsigned)((random_next(&state) % n + round) % n); turn > 0; turn--)
        slot = next_slice(arm, slot);
    return slot;
}

/* True when both baselines run the same worker in each round. */
static bool same_slices(const struct arm *a, const struct arm *b)
{
    unsigned i = 0, j = 0;
    for (; i < a->planned_workers && j < b->planned_workers;
         i = next_slice(a, i), j = next_slice(b, j))
        if (!same_worker(&a->plan.workers[i], &b->plan.workers[j]))
            return false;
    return i == a->planned_workers && j == b->planned_workers;
}

static int find_same_baseline(const struct result *result, const struct arm *arm)
{
    for (size_t i = 0; i < result->narms; i++) {
        const struct arm *other = &result->arms[i];
        if (other->is_baseline && arm_runs(other) && other->bench == arm->bench &&
            other->params == arm->params && same_slices(other, arm))
            return (int)i;
    }
    return -1;
}

static unsigned least_count(const struct arms_request *request)
{
    unsigned least = request->workers[0];
    for (size_t n = 1; n < request->nworkers; n++)
        least = request->workers[n] < least ? request->workers[n] : least;
    return least;
}

static int add_arm(const struct topo *topo, const struct arms_request *request, size_t p,
                   unsigned planned_workers, bool is_baseline, struct result *result,
                   struct err *err)
{
    struct plan_request plan_request = request->plan;
    plan_request.placement = request->placements[p];
    plan_request.workers = planned_workers;
    if (request->background_as_workers)
        plan_request.background = planned_workers;
    struct arm arm = {
        .bench = request->bench,
        .params = request->params,
        .variant = request->variant,
        .placement = plan_request.placement,
        .workers = is_baseline && !bench_is_team(request->bench) ? 1 : planned_workers,
        .planned_workers = planned_workers,
        .is_baseline = is_baseline,
        .cpu_max = request->cpu_max,
        .priority = {request->priority[0], request->priority[1]},
        .dose = is_baseline ? (struct dose){0} : request->dose,
        .is_control = request->is_control,
        .same_as = -1,
    };
    /* Only the smallest of several counts must be possible: a curve ends where CPUs run out. */
    bool optional =
        (request->optional && request->optional[p]) || planned_workers > least_count(request);
    int rc = optional ? plan_make_or_skip(topo, &plan_request, &arm.plan, err)
                      : plan_make(topo, &plan_request, &arm.plan, err);
    if (!rc && arm.plan.status == PLAN_OK && !dose_is_idle(&arm.dose))
        rc = plan_add_dose(topo, (enum dose_kind)arm.dose.kind, &arm.plan, err);
    if (rc) {
        plan_free(&arm.plan);
        return rc;
    }
    if (is_baseline && arm.plan.status == PLAN_OK && !bench_is_team(request->bench))
        arm.same_as = find_same_baseline(result, &arm);
    if (is_baseline && arm.plan.status == PLAN_SKIPPED) {
        plan_free(&arm.plan); /* the arm itself already says why */
        return 0;
    }
    result->arms[result->narms++] = arm;
    return 0;
}

/* True if the arm added last has disjoint slices, and no baseline of its kind has any so far. */
static bool is_first_slice(const struct result *result)
{
    const struct arm *arm = &result->arms[result->narms - 1];
    if (!placement_infos[arm->placement].disjoint || arm->plan.status != PLAN_OK)
        return false;
    for (size_t i = 0; i < result->narms; i++)
        if (result->arms[i].is_baseline && result->arms[i].bench == arm->bench &&
            result->arms[i].params == arm->params &&
            result->arms[i].planned_workers == arm->planned_workers &&
            placement_infos[result->arms[i].placement].disjoint)
            return false;
    return true;
}

/* True if the arm added last needs a baseline; `have_team`: the team has its only one already. */
static bool wants_baseline(const struct arms_request *request, const struct result *result,
                           bool have_team)
{
    const struct arm *arm = &result->arms[result->narms - 1];
    bool background =
        request->plan.background || request->background_as_workers || !dose_is_idle(&request->dose);
    if (bench_is_team(request->bench))
        return request->baselines && background && !have_team;
    return request->baselines && (arm->planned_workers > 1 || background) &&
           (!request->few_baselines || arm->placement == PLACE_NONE || is_first_slice(result));
}

int arms_add(const struct topo *topo, const struct arms_request *request, struct result *result,
             struct err *err)
{
    size_t most = result->narms + request->nworkers * request->nplacements * 2;
    struct arm *grown = realloc(result->arms, most * sizeof(*grown));
    if (!grown)
        return err_set(err, -ENOMEM, "no memory for %zu arms", most);
    result->arms = grown;
    for (size_t n = 0; n < request->nworkers; n++) {
        bool have_team = false;
        for (size_t p = 0; p < request->nplacements; p++) {
            unsigned planned_workers = request->workers[n];
            int rc = add_arm(topo, request, p, planned_workers, false, result, err);
            if (!rc && wants_baseline(request, result, have_team))
                rc = add_arm(topo, request, p, planned_workers, true, result, err);
            if (rc)
                return rc;
            have_team = have_team || result->arms[result->narms - 1].is_baseline;
        }
    }
    return 0;
}

void arms_free(struct result *result)
{
    for (size_t i = 0; i < result->narms; i++) {
        struct arm *arm = &result->arms[i];
        for (size_t o = 0; o < arm->nobservations; o++)
            observation_free(&arm->observations[o]);
        free(arm->observations);
        plan_free(&arm->plan);
    }
    free(result->arms);
    result->arms = NULL;
    result->narms = 0;
}

/* The seed of all random choices of a round. */
static uint64_t seed_of(uint64_t seed, unsigned round)
{
    return seed ^ ((uint64_t)round << 32);
}

void arms_order(const struct result *result, unsigned round, size_t *order)
{
    const size_t n = result->narms;
    const bool back = result->until_clear && round % 2;
    random_shuffle(seed_of(result->seed, round - back), n, order);
    for (size_t i = 0; back && i < n / 2; i++) {
        const size_t swap = order[i];
        order[i] = order[n - 1 - i];
        order[n - 1 - i] = swap;
    }
}

uint64_t arms_round_seed(uint64_t seed, unsigned round)
{
    uint64_t state = seed_of(seed, round);
    return random_next(&state);
}
