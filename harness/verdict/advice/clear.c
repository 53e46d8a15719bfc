#include "harness/verdict/advice/clear.h"

#include "harness/lib/stats/sequential.h"

/* An arm is out if it is behind by this much in each of at least this many rounds. */
static const struct out_rule {
    size_t rounds;
    double behind;
} out_rules[] = {{2, 1}, {3, 0.1}};

/* True if the arm is simpler than the recommended one and may turn out to be as good. */
static bool may_be_simpler(const struct analysis *analysis,
                           const struct recommendation *recommendation, size_t arm)
{
    const struct arm *arms = analysis->result->arms;
    const struct arm *best = &arms[recommendation->arm], *other = &arms[arm];
    unsigned effort = recommend_effort_of(other);
    const struct paired_ratio behind =
        analysis_ratio(analysis, (int)arm, (size_t)recommendation->arm);
    return (int)arm != recommendation->reference &&
           recommend_competes(analysis->result, other, best) && effort &&
           effort < recommend_effort_of(best) && behind.rounds &&
           !recommend_is_ahead(analysis->result, &behind);
}

int clear_simpler(const struct analysis *analysis, const struct recommendation *recommendation)
{
    for (size_t i = 0; i < analysis->result->narms; i++)
        if (may_be_simpler(analysis, recommendation, i))
            return (int)i;
    return -1;
}

bool clear_is_decided(const struct analysis *analysis, const struct recommendation *recommendation)
{
    if (recommendation->reference < 0 || recommendation->best < 0)
        return true;
    if (recommendation->disturbed ||
        (!recommendation->reference_failed && !recommendation->best_gain.is_sequential))
        return false;
    if (!recommend_applies(recommendation))
        return recommendation->best_gain.is_within;
    if (recommendation->arm != recommendation->best)
        return analysis_ratio(analysis, recommendation->arm, (size_t)recommendation->best)
            .is_within;
    return clear_simpler(analysis, recommendation) < 0;
}

bool clear_is_reached(const struct analysis *analysis)
{
    bool any = false;
    for (size_t i = 0; i < analysis->result->narms; i++) {
        if (!recommend_is_first(analysis, i))
            continue;
        const struct recommendation recommendation =
            recommend_make(analysis, &analysis->result->arms[i]);
        if (!clear_is_decided(analysis, &recommendation))
            return false;
        any = true;
    }
    return any;
}

static bool is_ruled_out(const struct analysis *analysis,
                         const struct recommendation *recommendation, size_t arm)
{
    if ((int)arm == recommendation->reference)
        return recommend_applies(recommendation) && !recommendation->reference_failed &&
               recommendation->gain.is_sequential;
    if ((int)arm == recommendation->best || (int)arm == recommendation->arm)
        return false;
    const struct paired_ratio behind =
        analysis_ratio(analysis, (int)arm, (size_t)recommendation->best);
    bool far = false;
    for (size_t i = 0; i < sizeof(out_rules) / sizeof(out_rules[0]); i++)
        far = far || (behind.rounds >= out_rules[i].rounds && behind.low > 1 + out_rules[i].behind);
    return far;
}

static void idle_ruled_out(const struct analysis *analysis, size_t first,
                           const struct recommendation *recommendation, struct result *result)
{
    for (size_t i = 0; recommendation->best >= 0 && i < result->narms; i++)
        if (recommend_competes(result, &result->arms[first], &result->arms[i]) &&
            is_ruled_out(analysis, recommendation, i))
            result->arms[i].idle = true;
}

/* Each round had a gain, but the rounds are too few to prove it. */
static bool is_near(const struct result *result, const struct recommendation *recommendation)
{
    return !recommend_applies(recommendation) && recommendation->best_gain.is_sequential &&
           recommendation->best_gain.low > 1 &&
           recommendation->best_gain.median > 1 + result_within(result);
}

void clear_next(const struct analysis *analysis, struct result *result)
{
    const bool has_limit = result->rounds_least < SEQUENTIAL_LEAST; /* set by the user */
    if (clear_is_reached(analysis))
        result->rounds_planned = result->rounds_done;
    for (size_t i = 0; i < result->narms; i++) {
        if (!recommend_is_first(analysis, i))
            continue;
        const struct recommendation recommendation = recommend_make(analysis, &result->arms[i]);
        idle_ruled_out(analysis, i, &recommendation, result);
        if (!has_limit && result->rounds_done < SEQUENTIAL_SIGNS &&
            is_near(result, &recommendation))
            result->rounds_planned = result->rounds_done + 1;
    }
}
