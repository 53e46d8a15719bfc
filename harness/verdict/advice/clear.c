#include "harness/verdict/advice/clear.h"

#include "harness/lib/stats/sequential.h"

/* An arm is out if it is behind by this much in each of at least this many rounds. */
static const struct out {
    size_t rounds;
    double behind;
} outs[] = {{2, 1}, {3, 0.1}};

/* True if the arm is simpler than the recommended one and may turn out to be as good. */
static bool may_be_simpler(const struct analysis *analysis, const struct recommendation *made,
                           size_t arm)
{
    const struct arm *arms = analysis->result->arms;
    const struct arm *best = &arms[made->arm], *other = &arms[arm];
    unsigned effort = recommend_effort_of(other);
    const struct paired_ratio behind = analysis_ratio(analysis, (int)arm, (size_t)made->arm);
    return (int)arm != made->reference && recommend_competes(analysis->result, other, best) &&
           effort && effort < recommend_effort_of(best) && behind.rounds &&
           !recommend_is_ahead(analysis->result, &behind);
}

int clear_simpler(const struct analysis *analysis, const struct recommendation *made)
{
    for (size_t i = 0; i < analysis->result->narms; i++)
        if (may_be_simpler(analysis, made, i))
            return (int)i;
    return -1;
}

bool clear_is_made(const struct analysis *analysis, const struct recommendation *made)
{
    if (made->reference < 0 || (made->best < 0 && !made->disturbed))
        return true;
    if (made->disturbed || (!made->lost && !made->best_gain.is_sequential))
        return false;
    if (!recommend_applies(made))
        return made->best_gain.is_within;
    if (made->arm != made->best)
        return analysis_ratio(analysis, made->arm, (size_t)made->best).is_within;
    return clear_simpler(analysis, made) < 0;
}

bool clear_is_reached(const struct analysis *analysis)
{
    bool any = false;
    for (size_t i = 0; i < analysis->result->narms; i++) {
        if (!recommend_is_first(analysis, i))
            continue;
        const struct recommendation made = recommend_make(analysis, &analysis->result->arms[i]);
        if (!clear_is_made(analysis, &made))
            return false;
        any = true;
    }
    return any;
}

static bool is_out(const struct analysis *analysis, const struct recommendation *made, size_t arm)
{
    if ((int)arm == made->reference)
        return recommend_applies(made) && !made->lost && made->gain.is_sequential;
    if ((int)arm == made->best || (int)arm == made->arm)
        return false;
    const struct paired_ratio behind = analysis_ratio(analysis, (int)arm, (size_t)made->best);
    bool far = false;
    for (size_t i = 0; i < sizeof(outs) / sizeof(outs[0]); i++)
        far = far || (behind.rounds >= outs[i].rounds && behind.low > 1 + outs[i].behind);
    return far && !behind.disturbed;
}

static void drop(const struct analysis *analysis, size_t first, const struct recommendation *made,
                 struct result *result)
{
    for (size_t i = 0; made->best >= 0 && i < result->narms; i++)
        if (recommend_competes(result, &result->arms[first], &result->arms[i]) &&
            is_out(analysis, made, i))
            result->arms[i].idle = true;
}

/* Each round had a gain, but the rounds are too few to prove it. */
static bool is_near(const struct result *result, const struct recommendation *made)
{
    return !recommend_applies(made) && made->best_gain.is_sequential && !made->disturbed &&
           made->best_gain.low > 1 && made->best_gain.median > 1 + result_within(result);
}

void clear_next(const struct analysis *analysis, struct result *result)
{
    const bool has_limit = result->rounds_least < SEQUENTIAL_LEAST; /* set by the user */
    if (clear_is_reached(analysis))
        result->rounds_planned = result->rounds_done;
    for (size_t i = 0; i < result->narms; i++) {
        if (!recommend_is_first(analysis, i))
            continue;
        const struct recommendation made = recommend_make(analysis, &result->arms[i]);
        drop(analysis, i, &made, result);
        if (!has_limit && result->rounds_done < SEQUENTIAL_SIGNS && is_near(result, &made))
            result->rounds_planned = result->rounds_done + 1;
    }
}
