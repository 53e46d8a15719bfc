#include "harness/verdict/comparison.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/lib/text.h"
#include "harness/record/format.h"
#include "harness/record/metric.h"
#include "harness/record/row.h"

/* Two arms that differ only in their variant. */
struct arm_pair {
    const struct analysis *analysis;
    const struct variants *variants;
    size_t base, other; /* arms */
    struct comparisons *comparisons;
};

static const struct arm *arm_at(const struct arm_pair *arm_pair, size_t index)
{
    return &arm_pair->analysis->result->arms[index];
}

/* False for metrics that do not compare variants. */
static bool is_comparable(const struct round_value *value)
{
    return strcmp(value->metric, VALUE_STATUS) != 0 && strcmp(value->metric, METRIC_VS_BEST) != 0 &&
           strcmp(value->better, "none") != 0 && value->round != VALUE_NO_ROUND;
}

/* The arm's only group of a metric; n = 0: none, or several. */
static struct evidence_group find_single(const struct arm_pair *arm_pair, size_t arm,
                                         const char *metric)
{
    const struct round_values *values = &arm_pair->analysis->values;
    struct evidence_group found = {.arm = arm};
    size_t end = values->first[arm + 1], step;
    for (size_t at = values->first[arm]; at < end; at += step) {
        step = values_group(values, at, end);
        if (strcmp(values->value[at].metric, metric) != 0)
            continue;
        if (found.n)
            return (struct evidence_group){.arm = arm};
        found = (struct evidence_group){arm, step, &values->value[at]};
    }
    return found;
}

/*
 * The group of another arm with the same metric and key; n = 0: none. A variant's parameters may
 * move a value to another key, such as from threads to processes. So if both arms have one group of
 * the metric, that group counts, too.
 */
static struct evidence_group find_group(const struct arm_pair *arm_pair, size_t arm,
                                        const struct round_value *like)
{
    const struct evidence_group found = evidence_find_group(arm_pair->analysis, arm, like);
    const size_t from = arm == arm_pair->base ? arm_pair->other : arm_pair->base;
    const bool moves =
        arm_at(arm_pair, arm)->variant->params.n || arm_at(arm_pair, from)->variant->params.n;
    return !found.n && moves && find_single(arm_pair, from, like->metric).n
               ? find_single(arm_pair, arm, like->metric)
               : found;
}

/* Of a worker, by the plan; 0 = it has none. */
static unsigned threads_of(const struct arm *arm)
{
    return arm->plan.nworkers ? arm->plan.workers[0].threads : 0;
}

/* `at`: the key of both arms. */
static void describe(const struct arm_pair *arm_pair, const struct round_value *value,
                     const struct dims *at, struct comparison *one)
{
    const struct arm *base = arm_at(arm_pair, arm_pair->base),
                     *other = arm_at(arm_pair, arm_pair->other);
    const char *name = placement_infos[base->placement].name;
    *one = comparison_of(base->variant->name, other->variant->name, value->metric, value->unit,
                         value->better);
    one->evidence.level = 1 - EVIDENCE_ALPHA;
    one->gating = metric_is_gating(base->bench, value->metric, at);
    const char *placement =
        base->placement == other->placement
            ? str_fmt("%s", name)
            : str_fmt("%s against %s", name, placement_infos[other->placement].name);
    unsigned threads = threads_of(base), others = threads_of(other);
    if (threads != others && threads && others)
        str_add(&placement, "", ", %u thread%s against %u", threads, threads == 1 ? "" : "s",
                others);
    const char *key = format_dims(base->bench, at);
    text_set(one->arm, "%.40s, %s, %u worker%s%s%s%s%.100s", base->bench->name, placement,
             base->workers, base->workers == 1 ? "" : "s",
             device_mark(arm_device(arm_pair->analysis->result, base)), format_dose(base),
             key[0] ? ", " : "", key);
    struct arm plain = *base;
    plain.variant = NULL;
    row_put_params(arm_pair->analysis->result, &plain, other, at, one->params);
}

static void report_unclear(const struct evidence *evidence, struct comparison *one)
{
    const char *how_many = "many more rounds are needed";
    if (evidence->rounds < 2)
        how_many = "more rounds are needed";
    else if (evidence->more < 1e5)
        how_many = str_fmt("about %.0f more %s should decide", fmax(evidence->more, 1),
                           evidence->more > 1 ? "rounds" : "round");
    text_set(one->reason, "Undecided after %zu paired round%s; %s.", evidence->rounds,
             evidence->rounds == 1 ? "" : "s", how_many);
}

/* A smaller difference does not count; for a time at least the cost of reading the clock here. */
static double least_difference(const struct arm_pair *arm_pair, const struct comparison *one)
{
    double least = floor_of(arm_at(arm_pair, arm_pair->base)->bench, one->metric, one->unit);
    return !strcmp(one->unit, "s") ? fmax(least, arm_pair->variants->clock_s) : least;
}

/* Says why the evidence has its outcome. */
static void report(const struct evidence *evidence, double within, double least,
                   struct comparison *one)
{
    if (evidence->outcome == OUTCOME_UNCLEAR)
        report_unclear(evidence, one);
    else if (evidence->outcome != OUTCOME_SAME)
        text_set(one->reason, "Shown by %zu paired rounds: %s is %s than %s.", evidence->rounds,
                 one->other, evidence->ratio > 1 ? "higher" : "lower", one->base);
    else if (fabs(evidence->other - evidence->base) < least)
        text_set(one->reason, "The difference is below %s, too small to count.",
                 number_format_sentence(least, one->unit));
    else
        text_set(one->reason, "After %zu paired rounds a change of %.3g%% or more is excluded.",
                 evidence->rounds, 100 * within);
}

/* False: no round has values of both. */
static bool compare_pairs(const struct arm_pair *arm_pair, const struct evidence_group groups[2],
                          struct comparison *one)
{
    const struct evidence_rule rule = {.within = arm_pair->variants->threshold,
                                       .is_change = true,
                                       .less_is_better = strcmp(one->better, "higher") != 0,
                                       .least = least_difference(arm_pair, one)};
    const struct evidence evidence = evidence_of_groups(arm_pair->analysis, groups, &rule);
    arm_pair->comparisons->failed |= evidence.outcome == OUTCOME_ERROR;
    one->evidence = evidence;
    one->evidence.level = 1 - EVIDENCE_ALPHA;
    if (!evidence.rounds)
        return false;
    report(&evidence, rule.within, rule.least, one);
    return true;
}

/* Why some rounds have no value; NULL = all have one. */
static const char *why_failed(const struct arm_pair *arm_pair, const struct evidence_group *group)
{
    const struct arm_rounds *rounds = &arm_pair->analysis->rounds.arms[group->arm];
    if (rounds->status >= STATUS_SKIPPED)
        return rounds->reason;
    for (size_t i = 0; i < group->n; i++)
        if (group->values[i].status >= STATUS_SKIPPED)
            return group->values[i].reason ? group->values[i].reason : "";
    return NULL;
}

/* In some rounds, steps did not end within the limit. Such a round gave a bound, or, if a command
 * prints its rate, no value. */
static bool was_cut_off(const struct arm_pair *arm_pair, const struct evidence_group *group)
{
    const struct arm_rounds *rounds = &arm_pair->analysis->rounds.arms[group->arm];
    for (size_t i = 0; i < group->n; i++)
        if (group->values[i].status == STATUS_CENSORED)
            return true;
    return rounds->status == STATUS_CENSORED && group->n < rounds->n;
}

/*
 * Failed rounds may not be left out, and a step that was cut off at the limit is only a bound.
 * Equal bounds do not show SAME, and steps that did end do not show FASTER. SLOWER remains valid.
 */
static void doubt_pairs(const struct arm_pair *arm_pair, const struct evidence_group groups[2],
                        struct comparison *one)
{
    for (size_t i = 0; i < 2 && one->evidence.outcome != OUTCOME_SLOWER; i++) {
        const char *why = why_failed(arm_pair, &groups[i]);
        if (why) {
            one->evidence.outcome = OUTCOME_MISSING;
            text_set(one->reason, "%s did not end well in all rounds: %s",
                     arm_at(arm_pair, groups[i].arm)->variant->name, why);
            return;
        }
    }
    const struct arm *other = arm_at(arm_pair, groups[1].arm);
    bool cut_base = was_cut_off(arm_pair, &groups[0]), cut = was_cut_off(arm_pair, &groups[1]);
    if (one->evidence.outcome == OUTCOME_FASTER && cut) {
        one->evidence.outcome = OUTCOME_UNCLEAR;
        text_set(one->reason,
                 "%s has %ss that did not end within the limit; the others alone do not show "
                 "that it is faster. Try a longer --limit.",
                 other->variant->name, bench_step_name(other->bench));
    } else if (one->evidence.outcome == OUTCOME_SAME && (cut_base || cut)) {
        one->evidence.outcome = OUTCOME_UNCLEAR;
        text_set(one->reason,
                 "Some %ss did not end within the limit; bounds cannot show that "
                 "nothing changed. Try a longer --limit.",
                 bench_step_name(other->bench));
    }
}

/* Says why an arm has no value of the metric. */
static void report_missing(const struct arm_pair *arm_pair, size_t nbase, size_t nother,
                           struct comparison *one)
{
    size_t arm = nbase ? arm_pair->other : arm_pair->base;
    const char *name = arm_at(arm_pair, arm)->variant->name;
    const char *reason = arm_pair->analysis->rounds.arms[arm].reason;
    one->evidence.outcome = OUTCOME_MISSING;
    if (nbase && nother)
        text_set(one->reason, "No round has values of both.");
    else
        text_set(one->reason, "%s has no value of this metric%s%s.", name, reason[0] ? ": " : "",
                 reason);
}

/* True for a difference that is not above 0 in each round: its ratios say nothing. */
static bool is_unresolved(const struct arm_pair *arm_pair, const struct evidence_group *group)
{
    const struct bench *bench = arm_at(arm_pair, arm_pair->base)->bench;
    const struct bench_metric *metric =
        group->n ? bench_metric_find(bench, group->values->metric) : NULL;
    for (size_t i = 0; metric && metric->difference && i < group->n; i++)
        if (group->values[i].value <= 0)
            return true;
    return false;
}

/* Compares a group of either arm. A group that both have is compared once, as the base's. */
static void compare_group(const struct arm_pair *arm_pair, const struct evidence_group *own)
{
    struct comparison one;
    const bool of_base = own->arm == arm_pair->base;
    const struct evidence_group found =
        find_group(arm_pair, of_base ? arm_pair->other : arm_pair->base, own->values);
    if ((!of_base && found.n) || is_unresolved(arm_pair, own) || is_unresolved(arm_pair, &found))
        return;
    const struct evidence_group groups[] = {of_base ? *own : found, of_base ? found : *own};
    bool moved = found.n && !values_alike(found.values, own->values);
    describe(arm_pair, own->values, moved ? &NO_DIMS : &own->values->dims, &one);
    if (compare_pairs(arm_pair, groups, &one))
        doubt_pairs(arm_pair, groups, &one);
    else if (one.gating) /* counts of 0 have no ratio */
        report_missing(arm_pair, groups[0].n, groups[1].n, &one);
    else
        return;
    (void)comparisons_add(arm_pair->comparisons, &one, NULL);
}

static void compare_arms(const struct arm_pair *arm_pair)
{
    static const struct round_value none = {
        .metric = METRIC_RATE, .unit = "1/s", .better = "higher"};
    const struct round_values *values = &arm_pair->analysis->values;
    const size_t arms[] = {arm_pair->base, arm_pair->other};
    size_t before = arm_pair->comparisons->n;
    for (size_t side = 0; side < 2; side++) {
        size_t end = values->first[arms[side] + 1];
        struct evidence_group own = {.arm = arms[side]};
        for (size_t at = values->first[arms[side]]; at < end; at += own.n) {
            own.n = values_group(values, at, end);
            own.values = &values->value[at];
            if (is_comparable(own.values))
                compare_group(arm_pair, &own);
        }
    }
    if (arm_pair->comparisons->n > before)
        return;
    /* An arm that failed in all rounds has no group; its gating metric is still MISSING. */
    struct comparison one;
    describe(arm_pair, &none, &none.dims, &one);
    one.gating = true;
    report_missing(arm_pair, 0, 0, &one);
    (void)comparisons_add(arm_pair->comparisons, &one, NULL);
}

/* The arm that corresponds to `base` under another variant: all variants have their arms in one
 * order. */
static bool find_other(const struct result *result, size_t base, const struct variant *variant,
                       size_t *other)
{
    size_t place = 0;
    for (size_t i = 0; i < base; i++)
        place += result->arms[i].variant == result->arms[base].variant;
    for (size_t i = 0; i < result->narms; i++)
        if (result->arms[i].variant == variant && place-- == 0) {
            *other = i;
            return true;
        }
    return false;
}

static void compare_all(struct arm_pair *arm_pair)
{
    const struct result *result = arm_pair->analysis->result;
    const struct variant *variants = arm_pair->variants->all;
    for (size_t v = 1; v < arm_pair->variants->n; v++)
        for (arm_pair->base = 0; arm_pair->base < result->narms; arm_pair->base++)
            if (arm_at(arm_pair, arm_pair->base)->variant == &variants[0] &&
                find_other(result, arm_pair->base, &variants[v], &arm_pair->other))
                compare_arms(arm_pair);
}

int ab_compare(const struct analysis *analysis, struct comparisons *comparisons, struct err *err)
{
    struct arm_pair arm_pair = {
        .analysis = analysis, .variants = analysis->result->variants, .comparisons = comparisons};
    compare_all(&arm_pair);
    comparisons_close(comparisons, true, EVIDENCE_ALPHA);
    comparisons_close(comparisons, false, EVIDENCE_ALPHA);
    return comparisons->failed ? err_set(err, -ENOMEM, "no memory to compare %u rounds",
                                         analysis->result->rounds_done)
                               : 0;
}

bool ab_is_clear(const struct comparisons *comparisons)
{
    return comparisons->n && !comparisons_count(comparisons, OUTCOME_UNCLEAR);
}
