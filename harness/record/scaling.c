#include "harness/record/scaling.h"

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
