#include "harness/verdict/advice/recommend.h"

#include <math.h>
#include <string.h>

#include "harness/engine/arms/arms.h"
#include "harness/rows/metric.h"

enum { EFFORT_CHANGE = 10 }; /* more than any placement's effort */

unsigned recommend_effort(enum placement placement, const char *name)
{
    unsigned effort = placement_infos[placement].effort;
    if (!effort || !name)
        return effort;
    for (const char *at = strchr(name, '+'); at; at = strchr(at, '+')) {
        size_t digits = strspn(++at, "0123456789");
        if (digits && at[digits] == 't' && placement == PLACE_SIZED)
            effort++;
        else if (!digits || at[digits] != 'w') /* "+3w": a number of workers is no change */
            effort += EFFORT_CHANGE;
    }
    const char *fewer = strrchr(name, '-'); /* "sized-4": cores that fresh rounds keep free */
    return fewer && strspn(fewer + 1, "0123456789") ? effort + EFFORT_CHANGE : effort;
}

unsigned recommend_effort_of(const struct arm *arm)
{
    return recommend_effort(arm->placement, arm->variant ? arm->variant->name : NULL);
}

struct choice {
    const struct analysis *analysis;
    const struct result *result; /* of the analysis */
    const struct arm *of;
    struct recommendation *made;
};

static const struct arm_rounds *rounds_of(const struct choice *choice, int arm)
{
    return &choice->analysis->rounds.arms[arm];
}

static unsigned effort_of(const struct choice *choice, int arm)
{
    return recommend_effort_of(&choice->result->arms[arm]);
}

static struct paired_ratio ratio_of(const struct choice *choice, int slow, int fast)
{
    return analysis_ratio(choice->analysis, slow, (size_t)fast);
}

static bool has_choice(const struct result *result, const struct arm *arm)
{
    bool chosen = result->purpose == PURPOSE_TUNE ? arm_is_fresh(arm)
                                                  : result->purpose == PURPOSE_RUN && !arm->variant;
    return chosen && !arm->is_baseline && !arm->is_control && !arm->bench->scan;
}

bool recommend_competes(const struct result *result, const struct arm *a, const struct arm *b)
{
    return has_choice(result, a) && has_choice(result, b) && a->bench == b->bench &&
           a->params == b->params &&
           (a->planned_workers == b->planned_workers || result->purpose == PURPOSE_TUNE);
}

bool recommend_is_first(const struct analysis *analysis, size_t arm)
{
    const struct arm *arms = analysis->result->arms;
    for (size_t i = 0; i < arm; i++)
        if (recommend_competes(analysis->result, &arms[i], &arms[arm]))
            return false;
    return has_choice(analysis->result, &arms[arm]);
}

bool recommend_is_ahead(const struct result *result, const struct paired_ratio *ratio)
{
    bool is_clear = ratio->is_sequential ? ratio->is_above : ratio->rounds == 1 || ratio->low > 1;
    return ratio->median > 1 + result_within(result) && is_clear;
}

bool recommend_applies(const struct recommendation *made)
{
    return made->arm >= 0 && made->arm != made->reference;
}

static bool takes_part(const struct choice *choice, int arm)
{
    return recommend_competes(choice->result, &choice->result->arms[arm], choice->of) &&
           !isnan(rounds_of(choice, arm)->rate);
}

/* The arm was run, but no round gave a rate: it failed or was cut off. */
static bool gave_nothing(const struct choice *choice, int arm)
{
    enum status status = rounds_of(choice, arm)->status;
    return recommend_competes(choice->result, &choice->result->arms[arm], choice->of) &&
           choice->result->arms[arm].plan.status == PLAN_OK &&
           isnan(rounds_of(choice, arm)->rate) && status >= STATUS_CENSORED &&
           status != STATUS_SKIPPED;
}

static void choose_reference(const struct choice *choice)
{
    struct recommendation *made = choice->made;
    for (int at = 0; at < (int)choice->result->narms; at++) {
        bool none = choice->result->arms[at].placement == PLACE_NONE;
        bool lost = none && gave_nothing(choice, at);
        if (made->is_default || (!takes_part(choice, at) && !lost))
            continue;
        if (none || made->reference < 0 ||
            rounds_of(choice, at)->rate < rounds_of(choice, made->reference)->rate)
            made->reference = at;
        made->is_default = none;
        made->lost = lost;
    }
}

/* Disturbed in all its rounds, or in all rounds that it shares with the reference. */
static bool is_disturbed(const struct choice *choice, int arm)
{
    const struct round_values *values = &choice->analysis->values;
    bool all = true;
    for (size_t i = values->first[arm]; i < values->first[arm + 1]; i++)
        all = all && (values->value[i].status != STATUS_OK ||
                      strcmp(values->value[i].metric, METRIC_RATE) != 0);
    return all || (!choice->made->lost && ratio_of(choice, choice->made->reference, arm).disturbed);
}

/* Neither failed nor cut off, and its plan differs from the reference's. */
static bool may_be(const struct choice *choice, int arm)
{
    const struct arm *arms = choice->result->arms;
    return takes_part(choice, arm) && effort_of(choice, arm) > 0 &&
           rounds_of(choice, arm)->status <= STATUS_NOISY &&
           (arm == choice->made->reference ||
            !arm_same_plan(&arms[arm], &arms[choice->made->reference]));
}

static bool is_candidate(const struct choice *choice, int arm)
{
    return may_be(choice, arm) && !is_disturbed(choice, arm);
}

/* By the rounds that both have; without such rounds by their medians. */
static bool is_faster(const struct choice *choice, int arm, int than)
{
    const struct paired_ratio ratio = ratio_of(choice, than, arm);
    if (ratio.rounds && !ratio.disturbed)
        return ratio.median > 1;
    return rounds_of(choice, arm)->rate > rounds_of(choice, than)->rate;
}

static void choose_best(const struct choice *choice)
{
    struct recommendation *made = choice->made;
    for (int at = 0; at < (int)choice->result->narms; at++) {
        if (is_candidate(choice, at) && (made->best < 0 || is_faster(choice, at, made->best)))
            made->best = at;
        made->disturbed = made->disturbed || (may_be(choice, at) && is_disturbed(choice, at));
    }
    made->disturbed = made->disturbed && made->best < 0;
}

static bool is_simpler(const struct choice *choice, int arm, int than)
{
    unsigned effort = effort_of(choice, arm), other = effort_of(choice, than);
    return effort < other || (effort == other && is_faster(choice, arm, than));
}

/* Indistinguishable from the best, and ahead of the default. */
static bool is_enough(const struct choice *choice, int arm)
{
    const struct recommendation *made = choice->made;
    const struct paired_ratio behind = ratio_of(choice, arm, made->best);
    if (!behind.rounds || behind.disturbed || recommend_is_ahead(choice->result, &behind))
        return false;
    if (made->lost || !made->is_default)
        return true;
    const struct paired_ratio gain = ratio_of(choice, made->reference, arm);
    return !gain.disturbed && recommend_is_ahead(choice->result, &gain);
}

static void choose_simplest(const struct choice *choice)
{
    struct recommendation *made = choice->made;
    int narms = (int)choice->result->narms;
    made->arm = made->best;
    for (int at = 0; at < narms; at++)
        if (at != made->arm && is_candidate(choice, at) && is_simpler(choice, at, made->arm) &&
            is_enough(choice, at))
            made->arm = at;
    for (int at = 0; at < narms; at++)
        if (is_candidate(choice, at) && effort_of(choice, at) > effort_of(choice, made->arm) &&
            (made->next < 0 || is_simpler(choice, at, made->next)))
            made->next = at;
}

static void choose(const struct choice *choice)
{
    struct recommendation *made = choice->made;
    choose_reference(choice);
    if (made->reference < 0)
        return;
    choose_best(choice);
    if (made->best < 0 || made->best == made->reference)
        return;
    if (!made->lost) {
        made->best_gain = ratio_of(choice, made->reference, made->best);
        made->disturbed = made->best_gain.disturbed;
        if (!made->best_gain.rounds || made->disturbed)
            return;
    }
    bool any = made->lost || recommend_is_ahead(choice->result, &made->best_gain);
    if (any || (!made->is_default && is_candidate(choice, made->reference)))
        choose_simplest(choice);
    else if (made->is_default)
        made->arm = made->reference;
    if (!made->lost && made->arm >= 0)
        made->gain = ratio_of(choice, made->reference, made->arm);
}

struct recommendation recommend_make(const struct analysis *analysis, const struct arm *of)
{
    struct recommendation made = {.reference = -1,
                                  .best = -1,
                                  .arm = -1,
                                  .next = -1,
                                  .gain = PAIRED_NONE,
                                  .best_gain = PAIRED_NONE};
    const struct choice choice = {analysis, analysis->result, of, &made};
    if (has_choice(analysis->result, of))
        choose(&choice);
    return made;
}
