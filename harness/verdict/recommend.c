#include "harness/verdict/recommend.h"

#include <math.h>
#include <stdlib.h>

#include "harness/engine/arms.h"
#include "harness/lib/stats.h"

enum { EFFORT_CHANGE = 10 }; /* more than any placement's effort */

unsigned recommend_effort(enum placement placement, const struct variant *variant)
{
    unsigned effort = placement_infos[placement].effort;
    if (!effort || !variant)
        return effort;
    const struct plan_options *plan = &variant->plan;
    const bool is_other_size = plan->threads && placement == PLACE_SIZED;
    const bool changes[] = {plan->threads && !is_other_size, plan->reserve > variant->fewer,
                            variant->fewer > 0, plan->wait > 0};
    for (size_t i = 0; i < sizeof(changes); i++)
        effort += changes[i] ? EFFORT_CHANGE : 0;
    return effort + is_other_size;
}

unsigned recommend_effort_of(const struct arm *arm)
{
    return recommend_effort(arm->placement, arm->variant);
}

struct choice {
    const struct analysis *analysis;
    const struct result *result; /* of the analysis */
    const struct arm *of;
    struct recommendation *recommendation;
};

static const struct arm_rounds *rounds_of(const struct choice *choice, int arm)
{
    return &choice->analysis->rounds.arms[arm];
}

static unsigned effort_of(const struct choice *choice, int arm)
{
    return recommend_effort_of(&choice->result->arms[arm]);
}

static struct evidence ratio_of(const struct choice *choice, int slow, int fast)
{
    return evidence_of_rates(choice->analysis, slow, (size_t)fast);
}

static bool has_choice(const struct result *result, const struct arm *arm)
{
    bool chosen = result->purpose == PURPOSE_TUNE ? arm_is_fresh(arm)
                                                  : result->purpose == PURPOSE_RUN && !arm->variant;
    return chosen && !arm->is_baseline && !arm->is_control && !arm->bench->scan;
}

/* True if either arm could be recommended in place of the other. */
static bool recommend_competes(const struct result *result, const struct arm *a,
                               const struct arm *b)
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

bool recommend_applies(const struct recommendation *recommendation)
{
    return recommendation->arm >= 0 && recommendation->arm != recommendation->reference;
}

static bool takes_part(const struct choice *choice, int arm)
{
    return recommend_competes(choice->result, &choice->result->arms[arm], choice->of) &&
           !isnan(rounds_of(choice, arm)->rate);
}

/* The arm was run, but no round gave a rate: it failed or was cut off. */
static bool has_no_rate(const struct choice *choice, int arm)
{
    enum status status = rounds_of(choice, arm)->status;
    return recommend_competes(choice->result, &choice->result->arms[arm], choice->of) &&
           choice->result->arms[arm].plan.status == PLAN_OK &&
           isnan(rounds_of(choice, arm)->rate) && status >= STATUS_CENSORED &&
           status != STATUS_SKIPPED;
}

static void choose_reference(const struct choice *choice)
{
    struct recommendation *recommendation = choice->recommendation;
    for (int at = 0; at < (int)choice->result->narms; at++) {
        bool none = choice->result->arms[at].placement == PLACE_NONE;
        bool failed = none && has_no_rate(choice, at);
        if (recommendation->is_default || (!takes_part(choice, at) && !failed))
            continue;
        if (none || recommendation->reference < 0 ||
            rounds_of(choice, at)->rate < rounds_of(choice, recommendation->reference)->rate)
            recommendation->reference = at;
        recommendation->is_default = none;
        recommendation->reference_failed = failed;
    }
}

/* Neither failed nor cut off, within --slo, and its plan differs from the reference's. */
static bool is_candidate(const struct choice *choice, int arm)
{
    const struct arm *arms = choice->result->arms;
    return takes_part(choice, arm) && effort_of(choice, arm) > 0 &&
           slo_judge_arm(choice->analysis, &arms[arm]) == SLO_HOLDS &&
           rounds_of(choice, arm)->status <= STATUS_NOISY &&
           (arm == choice->recommendation->reference ||
            !arm_same_plan(&arms[arm], &arms[choice->recommendation->reference]));
}

/* By the rounds that both have; without such rounds by their medians. */
static bool is_faster(const struct choice *choice, int arm, int than)
{
    const struct evidence ratio = ratio_of(choice, than, arm);
    if (ratio.rounds)
        return ratio.ratio > 1;
    return rounds_of(choice, arm)->rate > rounds_of(choice, than)->rate;
}

/* What the gain of the best may rest on, if most of its rounds were disturbed. */
enum support { GAIN_SHOWN, ROUNDS_AGREE, ANY_ROUNDS };

static bool has_evidence(const struct choice *choice, int arm, enum support least)
{
    int reference = choice->recommendation->reference;
    if (arm == reference || choice->recommendation->must_leave || least == ANY_ROUNDS)
        return true;
    const struct evidence gain = ratio_of(choice, reference, arm);
    return !evidence_is_disturbed(&gain) || gain.outcome == OUTCOME_FASTER ||
           (least == ROUNDS_AGREE && gain.low > 1);
}

/* Chooses the fastest. Returns true if it is ahead of the reference. */
static bool choose_best(const struct choice *choice, enum support least)
{
    struct recommendation *recommendation = choice->recommendation;
    for (int at = 0; at < (int)choice->result->narms; at++)
        if (is_candidate(choice, at) && has_evidence(choice, at, least) &&
            (recommendation->best < 0 || is_faster(choice, at, recommendation->best)))
            recommendation->best = at;
    if (recommendation->best < 0 || recommendation->best == recommendation->reference)
        return false;
    if (!recommendation->reference_failed)
        recommendation->best_gain =
            ratio_of(choice, recommendation->reference, recommendation->best);
    return recommendation->must_leave || recommendation->best_gain.outcome == OUTCOME_FASTER;
}

static bool is_simpler(const struct choice *choice, int arm, int than)
{
    unsigned effort = effort_of(choice, arm), other = effort_of(choice, than);
    return effort < other || (effort == other && is_faster(choice, arm, than));
}

/* Indistinguishable from the best, and ahead of the default. */
static bool is_enough(const struct choice *choice, int arm)
{
    const struct recommendation *recommendation = choice->recommendation;
    const struct evidence behind = ratio_of(choice, arm, recommendation->best);
    if (!behind.rounds || (behind.ratio > 1 + result_within(choice->result) && !(behind.low <= 1)))
        return false;
    if (recommendation->must_leave || !recommendation->is_default)
        return true;
    const struct evidence gain = ratio_of(choice, recommendation->reference, arm);
    return gain.outcome == OUTCOME_FASTER;
}

static void choose_simplest(const struct choice *choice)
{
    struct recommendation *recommendation = choice->recommendation;
    int narms = (int)choice->result->narms;
    recommendation->arm = recommendation->best;
    for (int at = 0; at < narms; at++)
        if (at != recommendation->arm && is_candidate(choice, at) &&
            is_simpler(choice, at, recommendation->arm) && is_enough(choice, at))
            recommendation->arm = at;
    for (int at = 0; at < narms; at++)
        if (is_candidate(choice, at) &&
            effort_of(choice, at) > effort_of(choice, recommendation->arm) &&
            (recommendation->next < 0 || is_simpler(choice, at, recommendation->next)))
            recommendation->next = at;
}

static void choose(const struct choice *choice)
{
    struct recommendation *recommendation = choice->recommendation;
    choose_reference(choice);
    if (recommendation->reference < 0)
        return;
    const struct arm *reference = &choice->result->arms[recommendation->reference];
    recommendation->must_leave =
        recommendation->reference_failed || slo_judge_arm(choice->analysis, reference) != SLO_HOLDS;
    bool any = choose_best(choice, GAIN_SHOWN) || choose_best(choice, ROUNDS_AGREE);
    if (!any && !(recommendation->best_gain.low > 1))
        (void)choose_best(choice, ANY_ROUNDS);
    if (recommendation->best < 0 || recommendation->best == recommendation->reference)
        return;
    recommendation->disturbed = !any && evidence_is_disturbed(&recommendation->best_gain);
    if (recommendation->disturbed ||
        (!recommendation->reference_failed && !recommendation->best_gain.rounds))
        return;
    if (any || (!recommendation->is_default && is_candidate(choice, recommendation->reference)))
        choose_simplest(choice);
    else if (recommendation->is_default)
        recommendation->arm = recommendation->reference;
    if (!recommendation->reference_failed && recommendation->arm >= 0)
        recommendation->gain = ratio_of(choice, recommendation->reference, recommendation->arm);
}

static struct recommendation make(const struct analysis *analysis, const struct arm *of)
{
    struct recommendation recommendation = {.reference = -1,
                                            .best = -1,
                                            .arm = -1,
                                            .next = -1,
                                            .gain = evidence_none,
                                            .best_gain = evidence_none};
    const struct choice choice = {analysis, analysis->result, of, &recommendation};
    if (has_choice(analysis->result, of))
        choose(&choice);
    return recommendation;
}

void recommend_all(struct analysis *analysis)
{
    const struct arm *arms = analysis->result->arms;
    const size_t narms = analysis->result->narms;
    free(analysis->recommended);
    analysis->recommended = NULL;
    struct recommendation *made = calloc(narms + 1, sizeof(*made));
    for (size_t i = 0; made && i < narms; i++) {
        size_t first = 0;
        while (first < i && !recommend_competes(analysis->result, &arms[first], &arms[i]))
            first++;
        made[i] = first < i ? made[first] : make(analysis, &arms[i]);
    }
    analysis->recommended = made;
}

struct recommendation recommend_make(const struct analysis *analysis, const struct arm *of)
{
    return analysis->recommended ? analysis->recommended[of - analysis->result->arms]
                                 : make(analysis, of);
}

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
    const struct evidence behind =
        evidence_of_rates(analysis, (int)arm, (size_t)recommendation->arm);
    return (int)arm != recommendation->reference &&
           recommend_competes(analysis->result, other, best) && effort &&
           effort < recommend_effort_of(best) && behind.rounds && behind.outcome != OUTCOME_FASTER;
}

int clear_simpler(const struct analysis *analysis, const struct recommendation *recommendation)
{
    for (size_t i = 0; i < analysis->result->narms; i++)
        if (may_be_simpler(analysis, recommendation, i))
            return (int)i;
    return -1;
}

/* True if no further round could change the recommendation. */
static bool is_decided(const struct analysis *analysis, const struct recommendation *recommendation)
{
    const struct result *result = analysis->result;
    const int reference = recommendation->reference;
    if (reference < 0)
        return true;
    for (const struct arm *arm = result->arms; arm < result->arms + result->narms; arm++)
        if (recommend_competes(result, &result->arms[reference], arm) && !arm->idle &&
            slo_judge_arm(analysis, arm) == SLO_UNCLEAR)
            return false;
    if (recommendation->best < 0)
        return !result->slo || analysis->rounds.arms[reference].n >= SEQUENTIAL_LEAST;
    if (recommendation->disturbed ||
        (!recommendation->reference_failed && recommendation->best_gain.rounds < SEQUENTIAL_LEAST))
        return false;
    if (!recommend_applies(recommendation))
        return recommendation->best_gain.outcome == OUTCOME_SAME;
    if (recommendation->arm != recommendation->best)
        return evidence_of_rates(analysis, recommendation->arm, (size_t)recommendation->best)
                   .outcome == OUTCOME_SAME;
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
        if (!is_decided(analysis, &recommendation))
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
               recommendation->gain.rounds >= SEQUENTIAL_LEAST;
    if ((int)arm == recommendation->best || (int)arm == recommendation->arm)
        return false;
    const struct evidence behind =
        evidence_of_rates(analysis, (int)arm, (size_t)recommendation->best);
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
    return !recommend_applies(recommendation) &&
           recommendation->best_gain.rounds >= SEQUENTIAL_LEAST &&
           recommendation->best_gain.low > 1 &&
           recommendation->best_gain.ratio > 1 + result_within(result);
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
