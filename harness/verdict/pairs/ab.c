#include "harness/verdict/pairs/ab.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/lib/base/text.h"
#include "harness/lib/stats/sequential.h"
#include "harness/lib/stats/stats.h"
#include "harness/rows/format.h"
#include "harness/rows/metric.h"
#include "harness/rows/number.h"
#include "harness/rows/row.h"

/* Two arms that differ only in their variant, and room for one value per round. */
struct arm_pair {
    const struct analysis *analysis;
    const struct variants *variants;
    size_t base, other; /* arms */
    double *log_ratio, *log_sum, *scale, *shift, *scratch;
    bool *swapped;
    double *base_value, *other_value;
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

/* The arm's only group of a metric; NULL = none, or several. */
static const struct round_value *find_single(const struct round_values *values, size_t arm,
                                             const char *metric, size_t *n)
{
    const struct round_value *found = NULL;
    size_t end = values->first[arm + 1], step;
    for (size_t at = values->first[arm]; at < end; at += step) {
        step = values_group(values, at, end);
        if (strcmp(values->value[at].metric, metric) != 0)
            continue;
        if (found)
            return NULL;
        found = &values->value[at];
        *n = step;
    }
    return found;
}

/*
 * The group of another arm with the same metric and key; NULL and *n = 0 = none. A variant's
 * parameters may move a value to another key, such as from threads to processes. So if both arms
 * have one group of the metric, that group counts, too.
 */
static const struct round_value *find_group(const struct arm_pair *arm_pair, size_t arm,
                                            const struct round_value *like, size_t *n)
{
    const struct round_values *values = &arm_pair->analysis->values;
    size_t end = values->first[arm + 1], own;
    for (size_t at = values->first[arm]; at < end; at += *n) {
        *n = values_group(values, at, end);
        const struct round_value *group = &values->value[at];
        if (values_alike(group, like))
            return group;
    }
    *n = 0;
    size_t from = arm == arm_pair->base ? arm_pair->other : arm_pair->base;
    bool moves =
        arm_at(arm_pair, arm)->variant->params.n || arm_at(arm_pair, from)->variant->params.n;
    return moves && find_single(values, from, like->metric, &own)
               ? find_single(values, arm, like->metric, n)
               : NULL;
}

static double value_in(const struct round_value *group, size_t n, int round)
{
    for (size_t i = 0; i < n; i++)
        if (group[i].round == round)
            return group[i].value;
    return NAN;
}

static unsigned order_in(const struct arm_pair *arm_pair, size_t arm, int round)
{
    return arm_order(arm_at(arm_pair, arm_pair->analysis->rounds.arms[arm].source),
                     (unsigned)round);
}

/* Pairs the rounds that both have, as logarithms of their ratio. Returns the number of pairs. */
static size_t pair(const struct arm_pair *arm_pair, const struct round_value *base, size_t nbase,
                   const struct round_value *other, size_t nother)
{
    size_t n = 0;
    for (size_t i = 0; i < nbase; i++) {
        double value = value_in(other, nother, base[i].round);
        if (!(base[i].value > 0) || !(value > 0) || !isfinite(value / base[i].value))
            continue;
        arm_pair->log_ratio[n] = log(value / base[i].value);
        arm_pair->log_sum[n] = log(value) + log(base[i].value);
        arm_pair->swapped[n] = order_in(arm_pair, arm_pair->other, base[i].round) <
                               order_in(arm_pair, arm_pair->base, base[i].round);
        arm_pair->base_value[n] = base[i].value;
        arm_pair->other_value[n++] = value;
    }
    return n;
}

static double median_of(const struct arm_pair *arm_pair, const double *values, size_t n)
{
    memcpy(arm_pair->scratch, values, n * sizeof(*values));
    return stats_sort_median(arm_pair->scratch, n);
}

/* Removes the parts of params that have the same name as `pair`. */
static void drop(char *params, const char *pair)
{
    size_t length = strcspn(pair, "="), left;
    for (char *at = params, *end; *at; at = end) {
        end = at + strcspn(at, ";");
        end += *end == ';';
        if (strncmp(at, pair, length) == 0 && at[length] == '=') {
            memmove(at, end, strlen(end) + 1);
            end = at;
        }
    }
    left = strlen(params);
    if (left && params[left - 1] == ';')
        params[left - 1] = '\0';
}

/* The parameters that both have: the base's, without the variant and what either variant sets. */
static void put_params(const struct arm_pair *arm_pair, const struct dims *at, char *params,
                       size_t size)
{
    char text[ROW_PARAMS_MAX], key[DIMS_KEY_MAX];
    struct arm plain = *arm_at(arm_pair, arm_pair->base);
    const struct variant *const both[] = {plain.variant,
                                          arm_at(arm_pair, arm_pair->other)->variant};
    plain.variant = NULL;
    row_put_params(arm_pair->analysis->result, &plain, dims_format(plain.bench, at, key), text);
    for (size_t v = 0; v < 2; v++)
        for (size_t i = 0; i < both[v]->params.n; i++)
            drop(text, both[v]->params.text[i]);
    (void)snprintf(params, size, "%s", text);
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
    char key[DIMS_KEY_MAX + 64], placement[80], dose[FORMAT_DOSE_MAX];
    const char *name = placement_infos[base->placement].name;
    *one = comparison_of(base->variant->name, other->variant->name, value->metric, value->unit,
                         value->better);
    one->level = 1 - AB_ALPHA;
    one->gating = metric_is_gating(base->bench, value->metric, at);
    if (base->placement == other->placement)
        text_set(placement, "%s", name);
    else
        text_set(placement, "%s against %s", name, placement_infos[other->placement].name);
    unsigned threads = threads_of(base), others = threads_of(other);
    if (threads != others && threads && others)
        text_add(placement, ", %u thread%s against %u", threads, threads == 1 ? "" : "s", others);
    (void)format_dims(base->bench, at, key, sizeof(key));
    text_set(one->arm, "%.40s, %s, %u worker%s%s%s%s%.100s", base->bench->name, placement,
             base->workers, base->workers == 1 ? "" : "s",
             device_mark(arm_device(arm_pair->analysis->result, base)), format_dose(base, dose),
             key[0] ? ", " : "", key);
    put_params(arm_pair, at, one->params, sizeof(one->params));
}

/* Rounds until the nearest verdict. Evidence grows each round, once the start cost of an unknown
 * lambda is paid. */
static double more_rounds(const struct sequential *of, double threshold, double enough)
{
    const double start = 1.5;
    double changed = fmax(sequential_above(of, 0), sequential_below(of, 0));
    double same = fmin(sequential_above(of, -threshold), sequential_below(of, threshold));
    double most = fmax(changed, same);
    double per_round = (most + start) / (double)of->n;
    return most > 0 && most < enough ? ceil((enough + start) / per_round - (double)of->n) : NAN;
}

static void report_unclear(const struct sequential *of, double threshold, struct comparison *one)
{
    double more = more_rounds(of, threshold, log(2 / AB_ALPHA));
    char how_many[80] = "many more rounds are needed";
    if (of->n < 2)
        text_set(how_many, "more rounds are needed");
    else if (more < 1e5)
        text_set(how_many, "about %.0f more %s should decide", fmax(more, 1),
                 more > 1 ? "rounds" : "round");
    text_set(one->reason, "Undecided after %zu paired round%s; %s.", of->n, of->n == 1 ? "" : "s",
             how_many);
}

/* A smaller difference does not count; for a time at least the cost of reading the clock here. */
static double least_difference(const struct arm_pair *arm_pair, const struct comparison *one)
{
    double least = floor_of(arm_at(arm_pair, arm_pair->base)->bench, one->metric, one->unit);
    return !strcmp(one->unit, "s") ? fmax(least, arm_pair->variants->clock_s) : least;
}

/* Sets outcome and reason from the interval of the logarithm. */
static void judge(const struct arm_pair *arm_pair, const struct sequential *of,
                  const struct sequential_interval *interval, struct comparison *one)
{
    const struct variants *variants = arm_pair->variants;
    double threshold = log1p(variants->threshold);
    bool more = interval->low > 0, less = interval->high < 0;
    bool within = interval->low > -threshold && interval->high < threshold;
    double difference = fabs(one->other_median - one->base_median);
    double least = least_difference(arm_pair, one);
    if (difference < least && (more || less || within)) {
        one->outcome = OUTCOME_SAME;
        text_set(one->reason, "The difference is below %s, too small to count.",
                 number_format_sentence(least, one->unit, (char[48]){0}, 48));
    } else if (within) {
        one->outcome = OUTCOME_SAME;
        text_set(one->reason, "After %zu paired rounds a change of %.3g%% or more is excluded.",
                 of->n, 100 * variants->threshold);
    } else if (more || less) {
        bool good = more == !strcmp(one->better, "higher");
        one->outcome = good ? OUTCOME_FASTER : OUTCOME_SLOWER;
        text_set(one->reason, "Shown by %zu paired rounds: %s is %s than %s.", of->n, one->other,
                 more ? "higher" : "lower", one->base);
    } else {
        one->outcome = OUTCOME_UNCLEAR;
        report_unclear(of, threshold, one);
    }
}

static void compare_pairs(const struct arm_pair *arm_pair, size_t n, struct comparison *one)
{
    struct sequential of = {.x = arm_pair->log_ratio,
                            .sum = arm_pair->log_sum,
                            .swapped = arm_pair->swapped,
                            .scale = arm_pair->scale,
                            .shift = arm_pair->shift,
                            .scratch = arm_pair->scratch,
                            .n = n};
    sequential_prepare(&of);
    struct sequential_interval interval = sequential_interval(&of, AB_ALPHA);
    one->evidence = fmax(sequential_above(&of, 0), sequential_below(&of, 0)) - log(2);
    one->pairs = (unsigned)n;
    one->base_median = median_of(arm_pair, arm_pair->base_value, n);
    one->other_median = median_of(arm_pair, arm_pair->other_value, n);
    one->ratio = exp(median_of(arm_pair, arm_pair->log_ratio, n));
    if (isfinite(interval.low) && isfinite(interval.high)) {
        one->low = exp(interval.low);
        one->high = exp(interval.high);
    }
    judge(arm_pair, &of, &interval, one);
}

/* The values of one metric of an arm. */
struct group {
    size_t arm, n;
    const struct round_value *values;
};

/* Why some rounds have no value; NULL = all have one. */
static const char *why_failed(const struct arm_pair *arm_pair, const struct group *group)
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
static bool was_cut_off(const struct arm_pair *arm_pair, const struct group *group)
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
static void doubt_pairs(const struct arm_pair *arm_pair, const struct group groups[2],
                        struct comparison *one)
{
    for (size_t i = 0; i < 2 && one->outcome != OUTCOME_SLOWER; i++) {
        const char *why = why_failed(arm_pair, &groups[i]);
        if (why) {
            one->outcome = OUTCOME_MISSING;
            text_set(one->reason, "%s did not end well in all rounds: %s",
                     arm_at(arm_pair, groups[i].arm)->variant->name, why);
            return;
        }
    }
    const struct arm *other = arm_at(arm_pair, groups[1].arm);
    bool cut_base = was_cut_off(arm_pair, &groups[0]), cut = was_cut_off(arm_pair, &groups[1]);
    if (one->outcome == OUTCOME_FASTER && cut) {
        one->outcome = OUTCOME_UNCLEAR;
        text_set(one->reason,
                 "%s has %ss that did not end within the limit; the others alone do not show "
                 "that it is faster. Try a longer --limit.",
                 other->variant->name, bench_step_name(other->bench));
    } else if (one->outcome == OUTCOME_SAME && (cut_base || cut)) {
        one->outcome = OUTCOME_UNCLEAR;
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
    one->outcome = OUTCOME_MISSING;
    if (nbase && nother)
        text_set(one->reason, "No round has values of both.");
    else
        text_set(one->reason, "%s has no value of this metric%s%s.", name, reason[0] ? ": " : "",
                 reason);
}

/* True for a difference that is not above 0 in each round: its ratios say nothing. */
static bool is_unresolved(const struct arm_pair *arm_pair, const struct round_value *group,
                          size_t n)
{
    const struct bench_metric *metric =
        bench_metric_find(arm_at(arm_pair, arm_pair->base)->bench, group->metric);
    for (size_t i = 0; metric && metric->difference && i < n; i++)
        if (group[i].value <= 0)
            return true;
    return false;
}

/* Compares a group of either arm. A group that both have is compared once, as the base's. */
static void compare_group(const struct arm_pair *arm_pair, const struct round_value *group,
                          size_t n, bool of_base)
{
    struct comparison one;
    size_t nother;
    const struct round_value *other =
        find_group(arm_pair, of_base ? arm_pair->other : arm_pair->base, group, &nother);
    if ((!of_base && nother) || is_unresolved(arm_pair, group, n) ||
        (nother && is_unresolved(arm_pair, other, nother)))
        return;
    bool moved = other && !values_alike(other, group);
    describe(arm_pair, group, moved ? &NO_DIMS : &group->dims, &one);
    size_t pairs = nother ? pair(arm_pair, group, n, other, nother) : 0;
    if (!pairs && !one.gating)
        return; /* counts of 0 have no ratio */
    if (pairs) {
        const struct group groups[] = {{arm_pair->base, n, group},
                                       {arm_pair->other, nother, other}};
        compare_pairs(arm_pair, pairs, &one);
        doubt_pairs(arm_pair, groups, &one);
    } else
        report_missing(arm_pair, of_base ? n : nother, of_base ? nother : n, &one);
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
        size_t end = values->first[arms[side] + 1], n;
        for (size_t at = values->first[arms[side]]; at < end; at += n) {
            n = values_group(values, at, end);
            if (is_comparable(&values->value[at]))
                compare_group(arm_pair, &values->value[at], n, side == 0);
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
    size_t rounds = analysis->result->rounds_done + 1;
    double *room = calloc(7 * rounds, sizeof(*room));
    bool *swapped = calloc(rounds, sizeof(*swapped));
    struct arm_pair arm_pair = {
        .analysis = analysis,
        .variants = analysis->result->variants,
        .log_ratio = room,
        .scale = room + rounds,
        .scratch = room + 2 * rounds,
        .base_value = room + 3 * rounds,
        .other_value = room + 4 * rounds,
        .log_sum = room + 5 * rounds,
        .shift = room + 6 * rounds,
        .swapped = swapped,
        .comparisons = comparisons,
    };
    comparisons->failed = !room || !swapped;
    if (room && swapped)
        compare_all(&arm_pair);
    free(swapped);
    free(room);
    comparisons_close(comparisons, true, AB_ALPHA);
    comparisons_close(comparisons, false, AB_ALPHA);
    return comparisons->failed ? err_set(err, -ENOMEM, "no memory to compare %zu rounds", rounds)
                               : 0;
}

bool ab_is_clear(const struct comparisons *comparisons)
{
    return comparisons->n && !comparisons_count(comparisons, OUTCOME_UNCLEAR);
}
