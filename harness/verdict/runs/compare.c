#include "harness/verdict/runs/compare.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "harness/lib/text.h"
#include "harness/record/format.h"
#include "harness/verdict/evidence.h"
#include "harness/verdict/verdict.h"

/* Two-sided 95% for a change of the machine itself. */
#define MACHINE_TAIL 0.025

/* As a logarithm: if equal runs can differ by more than the double, no ratio means much. */
#define TOO_NOISY 0.693

struct judge {
    const struct pairing_runs *sides;
    const struct compare_options *options;
    struct pairing pairing;
    double tail;           /* of each end of an interval */
    double machine_change; /* change of the controls, as a logarithm */
    const char *machine_change_text;
};

/* A pair's values on both sides and in the history: logarithms, more is better. */
struct measured {
    struct evidence_runs runs;
    bool bound[2]; /* a side has a censored row */
    struct evidence evidence;
};

/* The median is positive, so that it has a ratio. */
static bool has_value(const struct row *row)
{
    return row->median > 0 && isfinite(row->median) && row->status < STATUS_SKIPPED;
}

/* The number of rows of that side with such a median. */
static size_t measured_count(const struct pair *pair, enum pairing_side side)
{
    size_t n = 0;
    for (size_t i = 0; i < pair->n[side]; i++)
        n += has_value(pair->rows[side][i].row);
    return n;
}

static bool measured_on_both(const struct pair *pair)
{
    return measured_count(pair, PAIRING_BASE) && measured_count(pair, PAIRING_OTHER);
}

/* -1 if less is better, else 1. */
static double measured_direction(const struct row *row)
{
    return !strcmp(row->better, "lower") ? -1 : 1;
}

static void add_row(struct measured *measured, enum pairing_side side, const struct row *row,
                    double gain)
{
    struct run_spread_known *known = &measured->runs.known;
    moments_add(&measured->runs.sides[side], gain);
    if (side == PAIRING_HISTORY)
        return;
    known->rounds += pow(run_spread_of_rounds(row->ci_low, row->ci_high, row->rounds), 2);
    known->noisy = known->noisy || row->status == STATUS_NOISY;
    measured->bound[side] = measured->bound[side] || row->status == STATUS_CENSORED;
}

/* With `other_metric`: the mean of both pairs' gains, run by run. `how`: without values. */
static void measured_of(const struct pair *pair, const struct pair *other_metric,
                        const struct evidence_runs *how, struct measured *measured)
{
    *measured = (struct measured){.runs = *how};
    for (int side = 0; side < PAIRING_SIDES; side++)
        for (size_t i = 0; i < pair->n[side]; i++) {
            const struct row *row = pair->rows[side][i].row;
            const struct row *other = other_metric ? other_metric->rows[side][i].row : row;
            if (!has_value(row) || !has_value(other))
                continue;
            add_row(measured, side, row,
                    (measured_direction(row) * log(row->median) +
                     measured_direction(other) * log(other->median)) /
                        2);
        }
    struct evidence_runs *runs = &measured->runs;
    runs->known.rounds = sqrt(runs->known.rounds /
                              (double)(runs->sides[PAIRING_BASE].n + runs->sides[PAIRING_OTHER].n));
    measured->evidence = evidence_of_runs(runs);
}

/* The geometric mean of the medians; NaN = none. */
static double measured_median(const struct pair *pair, enum pairing_side side)
{
    struct moments logs = {0};
    for (size_t i = 0; i < pair->n[side]; i++)
        if (has_value(pair->rows[side][i].row))
            moments_add(&logs, log(pair->rows[side][i].row->median));
    if (logs.n)
        return exp(logs.mean);
    return pair->n[side] ? pair->rows[side][0].row->median : (double)NAN;
}

static bool have_equal_runs(const struct pair *pair, const struct pair *other)
{
    for (int side = 0; side < PAIRING_SIDES; side++)
        if (pair->n[side] != other->n[side])
            return false;
    return true;
}

/* Two metrics of the same arm and key are one measurement; of three or more, none has another. */
static void find_other_metric(const struct pairing *pairing, struct pair *pair)
{
    size_t found = 0;
    for (size_t i = 0; i < pairing->n; i++) {
        const struct pair *other = &pairing->pairs[i];
        if (other == pair || !other->is_judged || !pair_is_of_same_arm(pair, other))
            continue;
        pair->other_metric = other;
        found++;
    }
    if (found != 1 || !have_equal_runs(pair, pair->other_metric))
        pair->other_metric = NULL;
}

/* Finds the rows that may get a verdict, and each measurement's share of the error. */
static void find_judged(struct judge *judge)
{
    double measurements = 0;
    struct pair *pairs = judge->pairing.pairs;
    for (size_t i = 0; i < judge->pairing.n; i++)
        pairs[i].is_judged =
            row_is_gating(pair_first(&pairs[i])->row) && measured_on_both(&pairs[i]);
    for (size_t i = 0; i < judge->pairing.n; i++) {
        if (!pairs[i].is_judged)
            continue;
        find_other_metric(&judge->pairing, &pairs[i]);
        measurements += pairs[i].other_metric ? 0.5 : 1;
    }
    judge->tail = COMPARE_ERROR / fmax(measurements, 1) / 2;
}

/* The largest significant change among the controls. */
static void note_changed_controls(struct judge *judge, struct comparisons *comparisons)
{
    for (size_t i = 0; i < judge->pairing.n; i++) {
        const struct pair *pair = &judge->pairing.pairs[i];
        const struct row *row = pair_first(pair)->row;
        struct measured measured;
        const struct evidence_runs how = {.known.round_s = judge->options->round_s,
                                          .tail = MACHINE_TAIL};
        if (!row->arm->is_control || !measured_on_both(pair))
            continue;
        measured_of(pair, NULL, &how, &measured);
        const double gain = fabs(log(measured.evidence.ratio));
        double beyond = expm1(gain - measured.evidence.reach);
        if (!(beyond > comparisons->machine_change_beyond))
            continue;
        comparisons->machine_change_beyond = beyond;
        judge->machine_change = gain;
        text_set(comparisons->machine_change_text, "%s",
                 control_format(row->metric, &row->dims,
                                measured_median(pair, PAIRING_OTHER) /
                                    measured_median(pair, PAIRING_BASE)));
    }
}

static void name_arm(const struct paired_row *first, struct comparison *comparison)
{
    const struct row *row = first->row;
    bool across = !first->placement[0];
    const char *text = across ? format_params(first->result, row->arm)
                              : format_arm(first->result, row->arm, &row->dims);
    bool named = across || row->arm->is_baseline || row->arm->bench->scan ||
                 format_has_placement(first->result, row->arm);
    text_set(comparison->arm, "%s%s%s%s%s, %u worker%s%s%s", row->bench, text[0] ? ", " : "", text,
             named ? "" : ", ", named ? "" : row->placement, row->planned_workers,
             row->planned_workers == 1 ? "" : "s", device_mark(device_find(row->device)),
             format_dose(row->arm));
}

/* Fills all but the outcome. */
static void describe(const struct judge *judge, const struct pair *pair,
                     struct comparison *comparison)
{
    const struct paired_row *first = pair_first(pair);
    const struct row *row = first->row;
    *comparison = comparison_of(judge->sides[PAIRING_BASE].name, judge->sides[PAIRING_OTHER].name,
                                row->metric, row->unit, row->better);
    comparison->evidence.base = measured_median(pair, PAIRING_BASE);
    comparison->evidence.other = measured_median(pair, PAIRING_OTHER);
    comparison->base_runs = (unsigned)pair->n[PAIRING_BASE];
    comparison->other_runs = (unsigned)pair->n[PAIRING_OTHER];
    comparison->gating = row_is_gating(row);
    if (measured_on_both(pair))
        comparison->evidence.ratio = comparison->evidence.other / comparison->evidence.base;
    text_set(comparison->params, "%s", row->params);
    name_arm(first, comparison);
}

/* The smallest difference that counts, as a share. */
static double threshold_of(const struct judge *judge, const struct row *row, double base)
{
    double least = floor_of(row->arm->bench, row->metric, row->unit);
    return fmax(judge->options->threshold, base > 0 ? least / base : 0);
}

static const char *format_runs(const struct measured *measured)
{
    const struct moments *sides = measured->runs.sides;
    size_t base = sides[PAIRING_BASE].n, other = sides[PAIRING_OTHER].n,
           history = sides[PAIRING_HISTORY].n;
    const char *text =
        base == 1 && other == 1 ? "a run a side" : str_fmt("%zu and %zu runs", base, other);
    return history ? str_fmt("%s, %zu of the history", text, history) : text;
}

/* The range of equal runs, in the direction of the change. */
static const char *format_equal(const struct comparison *comparison,
                                const struct measured *measured)
{
    return comparison_format_spread(measured->evidence.reach *
                                    (comparison->evidence.ratio < 1 ? -1 : 1));
}

/* Says which limit the change did not exceed: equal runs, the machine, or its other metric. */
static void explain_unclear(const struct pair *pair, const struct measured *measured,
                            struct comparison *comparison)
{
    const struct evidence *evidence = &measured->evidence;
    const double gain = fabs(log(evidence->ratio)), drift = measured->runs.drift;
    double needed = evidence->more;
    const char *change = comparison_format_ratio(comparison->evidence.ratio);
    text_add(comparison->reason,
             "%s%s is %s the range of equal runs (%s; %s, spread between runs %s)",
             evidence->reach > TOO_NOISY ? "too noisy: " : "", change,
             gain > evidence->reach ? "beyond" : "within", format_equal(comparison, measured),
             format_runs(measured), comparison_format_spread(evidence->spread));
    if (gain > evidence->reach + drift) {
        text_add(comparison->reason, ", but not together with %s of the same steps.",
                 pair_first(pair->other_metric)->row->metric);
        needed = NAN;
    } else if (gain > evidence->reach)
        text_add(comparison->reason, ", but by less than the machine itself changed (%s).",
                 comparison_format_spread(drift));
    else
        text_add(comparison->reason, ".");
    if (needed > 0)
        text_add(comparison->reason, " Decide it by 'contend ab', or by %.0f runs a side.", needed);
    else
        text_add(comparison->reason, " Decide it by 'contend ab'.");
}

/* The pair with the clock that a rate depends on, measured on both sides; NULL = none. */
static const struct pair *find_clock(const struct judge *judge, const struct pair *pair)
{
    const struct row *row = pair_first(pair)->row;
    const struct bench_metric *own = bench_metric_find(row->arm->bench, row->metric);
    for (size_t i = 0; i < judge->pairing.n && own && own->clock; i++) {
        const struct pair *clock = &judge->pairing.pairs[i];
        if (!strcmp(pair_first(clock)->row->metric, own->clock) &&
            pair_is_of_same_arm(pair, clock) && measured_on_both(clock))
            return clock;
    }
    return NULL;
}

/* If a rate has a clock metric, also reports its change in clock cycles. */
static void explain_clock(const struct judge *judge, const struct pair *pair,
                          struct comparison *comparison)
{
    const struct pair *clock = find_clock(judge, pair);
    if (!clock)
        return;
    double ratio = measured_median(clock, PAIRING_OTHER) / measured_median(clock, PAIRING_BASE);
    text_add(comparison->reason, " Its clock: %s; in clock cycles: %s.",
             comparison_format_ratio(ratio),
             comparison_format_ratio(comparison->evidence.ratio / ratio));
}

static void explain_changed(const struct judge *judge, const struct measured *measured,
                            struct comparison *comparison)
{
    text_add(
        comparison->reason, "%s is more than equal runs differ by (%s at a level of %.4g%%; %s).",
        comparison_format_ratio(comparison->evidence.ratio), format_equal(comparison, measured),
        100 * (1 - 2 * judge->tail), format_runs(measured));
}

/* True if a bound only understates the change: the bounded side is the worse one. */
static bool understates(const struct measured *measured)
{
    if (measured->bound[PAIRING_BASE] && measured->bound[PAIRING_OTHER])
        return false;
    return !measured->bound[measured->evidence.ratio < 1 ? PAIRING_BASE : PAIRING_OTHER];
}

/* False: the change is significant, but not its mean with its other metric. */
static bool is_confirmed(const struct pair *pair, const struct evidence_runs *how)
{
    struct measured both;
    struct evidence_runs plain = *how;
    if (!pair->other_metric)
        return true;
    plain.drift = 0;
    measured_of(pair, pair->other_metric, &plain, &both);
    return fabs(log(both.evidence.ratio)) > both.evidence.reach;
}

static void decide(const struct judge *judge, const struct pair *pair,
                   struct comparison *comparison)
{
    const struct row *row = pair_first(pair)->row;
    const double percent = 100 * threshold_of(judge, row, comparison->evidence.base);
    const struct evidence_runs how = {.known.round_s = judge->options->round_s,
                                      .tail = judge->tail,
                                      .within = log1p(percent / 100),
                                      .drift = judge->machine_change};
    struct measured measured;
    measured_of(pair, NULL, &how, &measured);
    const struct evidence *evidence = &measured.evidence;
    const bool is_bound = measured.bound[PAIRING_BASE] || measured.bound[PAIRING_OTHER];
    const bool changed =
        fabs(log(evidence->ratio)) > evidence->reach + how.drift && is_confirmed(pair, &how);
    comparison->evidence.outcome = OUTCOME_UNCLEAR;
    if (is_bound && !understates(&measured))
        text_add(comparison->reason,
                 "a step did not end within the limit: a bound shows no change in this direction.");
    else if (evidence->outcome == OUTCOME_SAME && !is_bound) {
        comparison->evidence.outcome = OUTCOME_SAME;
        text_add(comparison->reason, "less than %.2g%%, by the 90%% interval.", percent);
    } else if (changed && evidence->outcome != OUTCOME_UNCLEAR) {
        comparison->evidence.outcome = evidence->outcome;
        explain_changed(judge, &measured, comparison);
    } else if (changed)
        text_add(comparison->reason,
                 "it changed, but perhaps by less than %.2g%%, which does not count.", percent);
    else
        explain_unclear(pair, &measured, comparison);
    if (comparison->evidence.outcome != OUTCOME_SAME)
        explain_clock(judge, pair, comparison);
    if (measured.runs.known.noisy)
        text_add(comparison->reason, " The machine was disturbed: a larger spread is assumed.");
    if (how.drift > 0)
        text_add(comparison->reason, " The machine itself changed (%s): that much does not count.",
                 judge->machine_change_text);
    const bool less = measured_direction(row) < 0;
    comparison->evidence.low = less ? 1 / evidence->high : evidence->low;
    comparison->evidence.high = less ? 1 / evidence->low : evidence->high;
    comparison->evidence.level = evidence->level;
}

static void report_missing(const struct judge *judge, const struct pair *pair,
                           struct comparison *comparison, struct comparisons *comparisons)
{
    enum pairing_side side = measured_count(pair, PAIRING_BASE) ? PAIRING_OTHER : PAIRING_BASE;
    const struct row *why;
    (void)pairing_count_ended(&judge->pairing, pair, side, judge->sides[side].n, &why);
    comparison->evidence.outcome = OUTCOME_MISSING;
    if (why)
        text_add(comparison->reason, "%s in %s: %.200s", status_name(why->status),
                 judge->sides[side].name, why->reason);
    else if (pair->n[side])
        text_add(comparison->reason, "no value above 0 in %s", judge->sides[side].name);
    else
        apart_explain(&judge->pairing, pair, judge->sides, comparison, comparisons);
}

/* Failed runs may not be left out: of the outcomes of the other runs, only SLOWER stays. */
static void count_ended(const struct judge *judge, const struct pair *pair,
                        struct comparison *comparison)
{
    for (int side = PAIRING_BASE; side <= PAIRING_OTHER; side++) {
        const struct row *why;
        size_t ended = pairing_count_ended(&judge->pairing, pair, (enum pairing_side)side,
                                           judge->sides[side].n, &why);
        if (!ended)
            continue;
        if (comparison->evidence.outcome != OUTCOME_SLOWER &&
            comparison->evidence.outcome != OUTCOME_MISSING) {
            comparison->evidence.outcome = OUTCOME_MISSING;
            comparison->reason[0] = '\0';
        }
        text_add(comparison->reason, "%s%s in %zu of %zu runs of %s: %.120s.",
                 comparison->reason[0] ? " " : "", status_name(why->status), ended,
                 judge->sides[side].n, judge->sides[side].name, why->reason);
    }
}

static int compare_pair(const struct judge *judge, const struct pair *pair,
                        struct comparisons *comparisons, struct err *err)
{
    struct comparison comparison;
    bool here = pair->n[PAIRING_BASE] || pair->n[PAIRING_OTHER];
    if (!here || !strcmp(pair_first(pair)->row->metric, VALUE_STATUS))
        return 0;
    describe(judge, pair, &comparison);
    if (!pair->n[PAIRING_BASE] || !pair->n[PAIRING_OTHER] ||
        (comparison.gating && !pair->is_judged))
        report_missing(judge, pair, &comparison, comparisons);
    else if (pair->is_judged && judge->options->refused) {
        comparison.evidence.outcome = OUTCOME_MISSING;
        text_add(comparison.reason, "%s", judge->options->refused);
    } else if (pair->is_judged) {
        decide(judge, pair, &comparison);
        count_ended(judge, pair, &comparison);
    }
    return comparisons_add(comparisons, &comparison, err);
}

int compare_make(const struct pairing_runs sides[PAIRING_SIDES],
                 const struct compare_options *options, struct comparisons *comparisons,
                 struct err *err)
{
    struct judge judge = {.sides = sides,
                          .options = options,
                          .machine_change_text = comparisons->machine_change_text};
    *comparisons = (struct comparisons){0};
    int rc = pairing_make(sides, &judge.pairing, err);
    if (!rc) {
        find_judged(&judge);
        note_changed_controls(&judge, comparisons);
    }
    for (size_t i = 0; i < judge.pairing.n && !rc; i++)
        rc = compare_pair(&judge, &judge.pairing.pairs[i], comparisons, err);
    pairing_free(&judge.pairing);
    return rc;
}
