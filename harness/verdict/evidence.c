#include "harness/verdict/evidence.h"

#include <math.h>
#include <stdlib.h>

#include "harness/engine/collect.h"
#include "harness/lib/stats.h"
#include "harness/record/metric.h"

const struct evidence evidence_none = {.base = NAN,
                                       .other = NAN,
                                       .ratio = NAN,
                                       .low = NAN,
                                       .high = NAN,
                                       .level = NAN,
                                       .more = NAN,
                                       .against_same = NAN,
                                       .reach = NAN,
                                       .spread = NAN};

bool evidence_is_disturbed(const struct evidence *evidence)
{
    return 2 * evidence->disturbed > evidence->rounds;
}

const char *evidence_interval_name(const struct evidence *evidence)
{
    return evidence->level > 0 ? "95%" : "range";
}

/* The rounds that both have. */
struct question {
    const struct evidence_rule *rule;
    size_t n;
    double *base, *other, *log_ratio, *log_sum, *scratch; /* n values each */
    bool *swapped;
    struct sequential test;
};

static unsigned order_in(const struct analysis *analysis, size_t arm, int round)
{
    return arm_order(&analysis->result->arms[analysis->rounds.arms[arm].source], (unsigned)round);
}

/* The value of a round that has the other, too; NULL = it has none. */
static const struct round_value *value_in(const struct evidence_group *group, int round)
{
    for (size_t i = 0; i < group->n; i++)
        if (group->values[i].round == round)
            return &group->values[i];
    return NULL;
}

static void pair(const struct analysis *analysis, const struct evidence_group groups[2],
                 struct question *question, struct evidence *evidence)
{
    for (size_t i = 0; i < groups[0].n; i++) {
        const struct round_value *base = &groups[0].values[i];
        const struct round_value *other = value_in(&groups[1], base->round);
        const size_t n = question->n;
        if (!other || !(base->value > 0) || !(other->value > 0) ||
            !isfinite(other->value / base->value))
            continue;
        const bool noisy = other->status == STATUS_NOISY, base_noisy = base->status == STATUS_NOISY;
        question->base[n] = base->value;
        question->other[n] = other->value;
        question->log_ratio[n] = log(other->value / base->value);
        question->log_sum[n] = log(other->value) + log(base->value);
        question->swapped[question->n++] = order_in(analysis, groups[1].arm, base->round) <
                                           order_in(analysis, groups[0].arm, base->round);
        evidence->disturbed += noisy || base_noisy;
        evidence->one_sided += base_noisy && !noisy;
    }
    evidence->rounds = question->n;
}

static void measure(const struct question *question, struct evidence *evidence)
{
    const size_t n = question->n;
    double *ratios = question->scratch;
    for (size_t i = 0; i < n; i++)
        ratios[i] = question->other[i] / question->base[i];
    (void)stats_sort(ratios, n);
    const struct stats_interval rounds = stats_median_interval(ratios, n);
    /* The middle of an even number of ratios is that of their logarithms: of 2 and 1/2 it is 1. */
    evidence->ratio = sqrt(ratios[(n - 1) / 2] * ratios[n / 2]);
    evidence->at_least = n - stats_median_rank(n);
    evidence->level = n < STATS_RANGE_BELOW ? 0 : 0.95;
    evidence->low = rounds.low;
    evidence->high = rounds.high;
    evidence->base = stats_sort_median(question->base, n);
    evidence->other = stats_sort_median(question->other, n);
}

static bool is_ahead(const struct question *question, bool is_above,
                     const struct evidence *evidence)
{
    bool is_clear = question->rule->is_tested && evidence->rounds >= SEQUENTIAL_LEAST
                        ? is_above
                        : evidence->rounds == 1 || evidence->low > 1;
    if (evidence_is_disturbed(evidence)) {
        double load = fmin(fmax(evidence->foreign + evidence->steal, COLLECT_NOISY_FOREIGN), 0.99);
        is_clear = evidence->low > 1 && is_above && 2 * evidence->one_sided <= evidence->rounds;
        is_clear |= evidence->rounds >= EVIDENCE_ROUNDS && evidence->low > pow(1 - load, -2);
    }
    return evidence->ratio > 1 + question->rule->within && is_clear;
}

/* Rounds until the nearest verdict. Evidence grows each round, once the start cost of an unknown
 * lambda is paid. */
static double more_rounds(const struct question *question)
{
    const struct sequential *of = &question->test;
    const double start = 1.5, enough = log(2 / EVIDENCE_ALPHA);
    const double threshold = log1p(question->rule->within);
    double changed = fmax(sequential_above(of, 0), sequential_below(of, 0));
    double same = fmin(sequential_above(of, -threshold), sequential_below(of, threshold));
    double most = fmax(changed, same);
    double per_round = (most + start) / (double)of->n;
    return most > 0 && most < enough ? ceil((enough + start) / per_round - (double)of->n) : NAN;
}

static void judge_change(const struct question *question, struct evidence *evidence)
{
    const struct sequential_interval kept = sequential_interval(&question->test, EVIDENCE_ALPHA);
    const double threshold = log1p(question->rule->within);
    const bool more = kept.low > 0, less = kept.high < 0;
    const bool within = kept.low > -threshold && kept.high < threshold;
    const bool is_small = fabs(evidence->other - evidence->base) < question->rule->least;
    const bool is_known = isfinite(kept.low) && isfinite(kept.high);
    evidence->against_same =
        fmax(sequential_above(&question->test, 0), sequential_below(&question->test, 0)) - log(2);
    evidence->level = 1 - EVIDENCE_ALPHA;
    evidence->low = is_known ? exp(kept.low) : (double)NAN;
    evidence->high = is_known ? exp(kept.high) : (double)NAN;
    evidence->outcome = within || (is_small && (more || less))   ? OUTCOME_SAME
                        : !more && !less                         ? OUTCOME_UNCLEAR
                        : more != question->rule->less_is_better ? OUTCOME_FASTER
                                                                 : OUTCOME_SLOWER;
    if (evidence->outcome == OUTCOME_UNCLEAR)
        evidence->more = more_rounds(question);
}

/* The median of one side, where no round has both. */
static double median_in(const struct evidence_group *group, double *scratch)
{
    for (size_t i = 0; i < group->n; i++)
        scratch[i] = group->values[i].value;
    return stats_sort_median(scratch, group->n);
}

static double share_of(const struct analysis *analysis, const struct evidence_group groups[2],
                       const char *metric)
{
    const struct arm *arms = analysis->result->arms;
    return fmax(0, fmax(rows_median(&analysis->rows, &arms[groups[0].arm], metric),
                        rows_median(&analysis->rows, &arms[groups[1].arm], metric)));
}

static void judge(const struct analysis *analysis, const struct evidence_group groups[2],
                  struct question *question, struct evidence *evidence)
{
    const struct evidence_rule *rule = question->rule;
    const bool is_disturbed = evidence_is_disturbed(evidence);
    measure(question, evidence);
    if (is_disturbed) {
        evidence->foreign = share_of(analysis, groups, "foreign_cpu");
        evidence->steal = share_of(analysis, groups, "steal");
    }
    const bool is_tested = rule->is_change || rule->is_tested || is_disturbed;
    if (is_tested)
        sequential_prepare(&question->test);
    if (rule->is_change) {
        judge_change(question, evidence);
        return;
    }
    const double enough = log(2 / EVIDENCE_ALPHA);
    const bool is_above = is_tested && sequential_above(&question->test, 0) >= enough;
    const bool is_within =
        is_tested && sequential_below(&question->test, log1p(rule->within)) >= enough;
    evidence->outcome = is_ahead(question, is_above, evidence) ? OUTCOME_FASTER
                        : is_within                            ? OUTCOME_SAME
                                                               : OUTCOME_UNCLEAR;
}

struct evidence evidence_of_groups(const struct analysis *analysis,
                                   const struct evidence_group groups[2],
                                   const struct evidence_rule *rule)
{
    const size_t n = groups[0].n > groups[1].n ? groups[0].n : groups[1].n;
    struct evidence evidence = evidence_none;
    double *room = calloc(n + 1, 7 * sizeof(*room) + sizeof(bool));
    if (!room) {
        evidence.outcome = OUTCOME_ERROR;
        return evidence;
    }
    struct question question = {.rule = rule,
                                .base = room,
                                .other = room + n,
                                .log_ratio = room + 2 * n,
                                .log_sum = room + 3 * n,
                                .scratch = room + 4 * n,
                                .swapped = (bool *)(room + 7 * n)};
    pair(analysis, groups, &question, &evidence);
    question.test = (struct sequential){.x = question.log_ratio,
                                        .sum = question.log_sum,
                                        .swapped = question.swapped,
                                        .scale = room + 5 * n,
                                        .shift = room + 6 * n,
                                        .scratch = question.scratch,
                                        .n = question.n};
    if (evidence.rounds) {
        judge(analysis, groups, &question, &evidence);
    } else {
        evidence.base = median_in(&groups[0], question.scratch);
        evidence.other = median_in(&groups[1], question.scratch);
    }
    free(room);
    return evidence;
}

struct evidence_group evidence_find_group(const struct analysis *analysis, size_t arm,
                                          const struct round_value *like)
{
    const struct round_values *values = &analysis->values;
    struct evidence_group group = {.arm = arm};
    for (size_t at = values->first[arm], end = values->first[arm + 1]; at < end; at += group.n) {
        group.n = values_group(values, at, end);
        group.values = &values->value[at];
        if (values_alike(group.values, like))
            return group;
    }
    return (struct evidence_group){.arm = arm};
}

struct evidence evidence_of_arms(const struct analysis *analysis, const struct round_value *what,
                                 int slow, size_t fast)
{
    if (slow < 0)
        return evidence_none;
    const struct evidence_group groups[] = {evidence_find_group(analysis, (size_t)slow, what),
                                            evidence_find_group(analysis, fast, what)};
    const struct evidence_rule rule = {.within = result_within(analysis->result),
                                       .is_tested = analysis->result->until_clear};
    return evidence_of_groups(analysis, groups, &rule);
}

struct evidence evidence_of_rates(const struct analysis *analysis, int slow, size_t fast)
{
    return evidence_of_arms(analysis, VALUE_RATE, slow, fast);
}

void moments_add(struct moments *moments, double value)
{
    double from = value - moments->mean;
    moments->n++;
    moments->mean += from / (double)moments->n;
    moments->squares += from * (value - moments->mean);
}

struct run_spread run_spread_of(const struct moments groups[RUN_SPREAD_GROUPS],
                                const struct run_spread_known *known)
{
    double squares = 0, df = 0, before = RUN_SPREAD_BEFORE * (known->noisy ? RUN_SPREAD_NOISY : 1);
    bool few = groups[RUN_SPREAD_BASE].n < RUN_SPREAD_RUNS_LEAST ||
               groups[RUN_SPREAD_OTHER].n < RUN_SPREAD_RUNS_LEAST;
    bool enough_runs = !few;
    for (size_t i = 0; i < RUN_SPREAD_GROUPS; i++) {
        squares += groups[i].squares;
        df += groups[i].n ? (double)groups[i].n - 1 : 0;
        enough_runs = enough_runs || groups[i].n >= RUN_SPREAD_LONG;
    }
    if (known->nothing)
        return (struct run_spread){.sd = sqrt(squares / df), .df = df};
    if (enough_runs && squares > df * before * before)
        return (struct run_spread){.sd = fmax(sqrt(squares / df), few ? known->rounds : 0),
                                   .df = df};
    if (!enough_runs && known->round_s > 0)
        before *= sqrt(fmax(1, RUN_SPREAD_ROUND_S / known->round_s));
    struct run_spread spread = {.sd = sqrt((squares + RUN_SPREAD_BEFORE_DF * before * before) /
                                           (df + RUN_SPREAD_BEFORE_DF)),
                                .df = RUN_SPREAD_BEFORE_DF + (enough_runs ? df : 0),
                                .own_sd = df > 0 ? sqrt(squares / df) : 0,
                                .own_df = enough_runs ? 0 : df};
    if (few)
        spread.sd = fmax(spread.sd, known->rounds);
    return spread;
}

/* The spread of the difference of two means, if the spread of one run is 1. */
static double error_of(size_t base_runs, size_t other_runs)
{
    return sqrt((base_runs ? 1 / (double)base_runs : 0) + 1 / (double)other_runs);
}

double run_spread_half_width(const struct run_spread *spread, size_t base_runs, size_t other_runs,
                             double tail)
{
    double half = student_quantile(tail, spread->df) * spread->sd;
    if (spread->own_df > 0)
        half = fmax(half, student_quantile(tail, spread->own_df) * spread->own_sd);
    return half * error_of(base_runs, other_runs);
}

double run_spread_chance(const struct run_spread *spread, size_t base_runs, size_t other_runs,
                         double difference)
{
    double off = fabs(difference) / error_of(base_runs, other_runs);
    double chance = student_tail(off / spread->sd, spread->df);
    if (spread->own_df > 0 && spread->own_sd > 0)
        chance = fmax(chance, student_tail(off / spread->own_sd, spread->own_df));
    return 2 * chance;
}

unsigned run_spread_runs_needed(const struct run_spread *spread, double difference, double tail,
                                unsigned most)
{
    const double missed = 0.1;
    for (unsigned runs = 2; runs <= most; runs++) {
        double df = spread->df;
        if (runs >= RUN_SPREAD_RUNS_LEAST)
            df = fmax(df, 2.0 * runs - 2 + RUN_SPREAD_BEFORE_DF);
        double reach = student_quantile(tail, df) + student_quantile(missed, df);
        if (fabs(difference) > reach * spread->sd * sqrt(2.0 / runs))
            return runs;
    }
    return 0;
}

double run_spread_of_rounds(double low, double high, unsigned rounds)
{
    const double median_error = 1.2533; /* of a median, relative to a mean: sqrt(pi / 2) */
    const double normal_df = 1e6;
    if (!(low > 0) || !(high >= low) || rounds < 2)
        return 0;
    /* Of normal values, the end lies beyond this share of them (Blom 1958). */
    double beyond = ((double)stats_median_rank(rounds) + 0.625) / (rounds + 0.25);
    double width = 2 * student_quantile(beyond, normal_df); /* expected, in standard deviations */
    return median_error * log(high / low) / width / sqrt(rounds);
}

/* If more runs than this a side are needed, only pairs within rounds help. */
enum { RUNS_ADVISED = 20 };

/* Two-sided 90% for SAME. */
static const double same_tail = 0.05;

/* The runs a side that would decide, if more than there are: a change, or, for a difference below
 * the threshold, SAME. NaN = too many. */
static double runs_needed(const struct evidence_runs *runs, const struct run_spread *spread)
{
    const struct moments *base = &runs->sides[RUN_SPREAD_BASE], *other = base + 1;
    const double gain = fabs(other->mean - base->mean);
    const bool same = gain < runs->within;
    const double margin = (same ? runs->within - gain : gain) - runs->drift;
    const unsigned needed =
        margin > 0
            ? run_spread_runs_needed(spread, margin, same ? same_tail : runs->tail, RUNS_ADVISED)
            : 0;
    return needed > base->n || needed > other->n ? needed : (double)NAN;
}

struct evidence evidence_of_runs(const struct evidence_runs *runs)
{
    const struct moments *base = &runs->sides[RUN_SPREAD_BASE], *other = base + 1;
    const struct run_spread spread = run_spread_of(runs->sides, &runs->known);
    struct evidence evidence = evidence_none;
    const double gain = other->mean - base->mean;
    const double same = runs->drift + run_spread_half_width(&spread, base->n, other->n, same_tail);
    evidence.spread = spread.sd;
    evidence.reach = run_spread_half_width(&spread, base->n, other->n, runs->tail);
    double half = runs->drift + evidence.reach;
    evidence.level = 1 - 2 * runs->tail;
    evidence.outcome = OUTCOME_UNCLEAR;
    if (fabs(gain) > half && fabs(gain) > runs->within)
        evidence.outcome = gain > 0 ? OUTCOME_FASTER : OUTCOME_SLOWER;
    else if (fabs(gain) + same <= runs->within) {
        evidence.outcome = OUTCOME_SAME;
        evidence.level = 1 - 2 * same_tail;
        half = same;
    } else
        evidence.more = runs_needed(runs, &spread);
    evidence.base = exp(base->mean);
    evidence.other = exp(other->mean);
    evidence.ratio = exp(gain);
    evidence.low = exp(gain - half);
    evidence.high = exp(gain + half);
    return evidence;
}
