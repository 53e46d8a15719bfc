#include "harness/verdict/runs/compare.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/lib/base/text.h"
#include "harness/rows/format.h"
#include "harness/verdict/runs/apart.h"
#include "harness/verdict/runs/control.h"
#include "harness/verdict/runs/run_spread.h"

/* Two-sided 90% for SAME; 95% for a change of the machine itself. */
#define SAME_TAIL 0.05
#define MACHINE_TAIL 0.025

/* As a logarithm: if equal runs can differ by more than the double, no ratio means much. */
#define TOO_NOISY 0.693

/* If more runs than this a side are needed, only pairs within rounds help. */
enum { RUNS_ADVISED = 20 };

/* A pair that may get a verdict, and the pair with the other metric of the same measurement. */
struct candidate {
    const struct pair *pair;
    const struct candidate *other_metric; /* NULL = none, or several */
};

struct judge {
    const struct pairing_runs *sides;
    const struct compare_options *options;
    struct pairing pairing;
    size_t n;
    struct candidate *candidates; /* owned */
    double tail;                  /* of each end of an interval */
    double machine_change;        /* change of the controls, as a logarithm */
    const char *machine_change_text;
};

/* A pair's values on both sides and in the history. Gains: logarithms, more is better. */
struct measured {
    struct moments sides[PAIRING_SIDES];
    double rounds; /* largest uncertainty of the medians, from their rounds */
    bool noisy;    /* any row of either side */
    bool bound[2]; /* a side has a censored row */
    struct run_spread spread;
    double gain, half; /* other relative to base; half the width of its interval */
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
    moments_add(&measured->sides[side], gain);
    if (side == PAIRING_HISTORY)
        return;
    measured->rounds += pow(run_spread_of_rounds(row->ci_low, row->ci_high, row->rounds), 2);
    measured->noisy = measured->noisy || row->status == STATUS_NOISY;
    measured->bound[side] = measured->bound[side] || row->status == STATUS_CENSORED;
}

/* The spread of the pair's gains. With `other_metric`: of the mean of both pairs' gains, run by
 * run. `round_s`: as in struct run_spread_known. */
static void measured_of(const struct pair *pair, const struct pair *other_metric, double round_s,
                        double tail, struct measured *measured)
{
    *measured = (struct measured){0};
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
    size_t runs = measured->sides[PAIRING_BASE].n + measured->sides[PAIRING_OTHER].n;
    const struct run_spread_known known = {.noisy = measured->noisy,
                                           .round_s = round_s,
                                           .rounds = sqrt(measured->rounds / (double)runs)};
    measured->spread = run_spread_of(measured->sides, &known);
    measured->gain = measured->sides[PAIRING_OTHER].mean - measured->sides[PAIRING_BASE].mean;
    measured->half = run_spread_half_width(&measured->spread, measured->sides[PAIRING_BASE].n,
                                           measured->sides[PAIRING_OTHER].n, tail);
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
static void find_other_metrics(struct judge *judge)
{
    for (size_t i = 0; i < judge->n; i++) {
        struct candidate *one = &judge->candidates[i];
        size_t found = 0;
        for (size_t k = 0; k < judge->n; k++) {
            if (k == i || !pair_is_of_same_arm(one->pair, judge->candidates[k].pair))
                continue;
            one->other_metric = &judge->candidates[k];
            found++;
        }
        if (found != 1 || !have_equal_runs(one->pair, one->other_metric->pair))
            one->other_metric = NULL;
    }
}

/* Finds the rows that may get a verdict, and each measurement's share of the error. */
static int find_candidates(struct judge *judge, struct err *err)
{
    double measurements = 0;
    judge->candidates = calloc(judge->pairing.n + 1, sizeof(*judge->candidates));
    if (!judge->candidates)
        return err_set(err, -ENOMEM, "out of memory for %zu comparisons", judge->pairing.n);
    for (size_t i = 0; i < judge->pairing.n; i++)
        if (row_is_gating(pair_first(&judge->pairing.pairs[i])->row) &&
            measured_on_both(&judge->pairing.pairs[i]))
            judge->candidates[judge->n++].pair = &judge->pairing.pairs[i];
    find_other_metrics(judge);
    for (size_t i = 0; i < judge->n; i++)
        measurements += judge->candidates[i].other_metric ? 0.5 : 1;
    judge->tail = COMPARE_ERROR / fmax(measurements, 1) / 2;
    return 0;
}

static const struct candidate *find_candidate(const struct judge *judge, const struct pair *pair)
{
    for (size_t i = 0; i < judge->n; i++)
        if (judge->candidates[i].pair == pair)
            return &judge->candidates[i];
    return NULL;
}

/* The largest significant change among the controls. */
static void note_changed_controls(struct judge *judge, struct comparisons *comparisons)
{
    for (size_t i = 0; i < judge->pairing.n; i++) {
        const struct pair *pair = &judge->pairing.pairs[i];
        const struct row *row = pair_first(pair)->row;
        struct measured measured;
        if (!row->arm->is_control || !measured_on_both(pair))
            continue;
        measured_of(pair, NULL, judge->options->round_s, MACHINE_TAIL, &measured);
        double beyond = expm1(fabs(measured.gain) - measured.half);
        if (!(beyond > comparisons->machine_change_beyond))
            continue;
        comparisons->machine_change_beyond = beyond;
        judge->machine_change = fabs(measured.gain);
        (void)control_format(
            row->metric, &row->dims,
            measured_median(pair, PAIRING_OTHER) / measured_median(pair, PAIRING_BASE),
            comparisons->machine_change_text, sizeof(comparisons->machine_change_text));
    }
}

static void name_arm(const struct paired_row *first, struct comparison *comparison)
{
    const struct row *row = first->row;
    char text[160], dose[FORMAT_DOSE_MAX];
    bool across = !first->placement[0];
    (void)(across ? format_params(first->result, row->arm, text, sizeof(text))
                  : format_arm(first->result, row->arm, &row->dims, text, sizeof(text)));
    bool named =
        across || row->arm->is_baseline || strstr(text, row->placement) || row->arm->bench->scan;
    text_set(comparison->arm, "%s%s%s%s%s, %u worker%s%s%s", row->bench, text[0] ? ", " : "", text,
             named ? "" : ", ", named ? "" : row->placement, row->planned_workers,
             row->planned_workers == 1 ? "" : "s", device_mark(device_find(row->device)),
             format_dose(row->arm, dose));
}

/* Fills all but the outcome. */
static void describe(const struct judge *judge, const struct pair *pair,
                     struct comparison *comparison)
{
    const struct paired_row *first = pair_first(pair);
    const struct row *row = first->row;
    *comparison = comparison_of(judge->sides[PAIRING_BASE].name, judge->sides[PAIRING_OTHER].name,
                                row->metric, row->unit, row->better);
    comparison->base_median = measured_median(pair, PAIRING_BASE);
    comparison->other_median = measured_median(pair, PAIRING_OTHER);
    comparison->base_runs = (unsigned)pair->n[PAIRING_BASE];
    comparison->other_runs = (unsigned)pair->n[PAIRING_OTHER];
    comparison->gating = row_is_gating(row);
    if (measured_on_both(pair))
        comparison->ratio = comparison->other_median / comparison->base_median;
    text_set(comparison->params, "%s", row->params);
    name_arm(first, comparison);
}

/* The interval of the ratio that the outcome is based on. */
static void set_interval(struct comparison *comparison, const struct row *row, double gain,
                         double half, double tail)
{
    double sign = measured_direction(row);
    comparison->low = exp(sign * gain - half);
    comparison->high = exp(sign * gain + half);
    comparison->level = 1 - 2 * tail;
}

/* The smallest difference that counts, as a logarithm. */
static double threshold_of(const struct judge *judge, const struct row *row, double base)
{
    double least = floor_of(row->arm->bench, row->metric, row->unit);
    return log1p(fmax(judge->options->threshold, base > 0 ? least / base : 0));
}

static const char *format_runs(const struct measured *measured, char *buf, size_t size)
{
    size_t base = measured->sides[PAIRING_BASE].n, other = measured->sides[PAIRING_OTHER].n,
           history = measured->sides[PAIRING_HISTORY].n;
    bool single = base == 1 && other == 1;
    (void)snprintf(buf, size, single ? "a run a side" : "%zu and %zu runs", base, other);
    if (history)
        (void)snprintf(buf + strlen(buf), size - strlen(buf), ", %zu of the history", history);
    return buf;
}

/*
 * The runs a side that would decide, if more than there are: a change, or, for a difference below
 * the threshold, SAME. 0 = too many, or unknown.
 */
static unsigned runs_needed(const struct judge *judge, const struct measured *measured,
                            double threshold)
{
    double gain = fabs(measured->gain);
    bool same = gain < threshold;
    double margin = (same ? threshold - gain : gain) - judge->machine_change;
    unsigned needed = margin > 0
                          ? run_spread_runs_needed(&measured->spread, margin,
                                                   same ? SAME_TAIL : judge->tail, RUNS_ADVISED)
                          : 0;
    size_t base = measured->sides[PAIRING_BASE].n, other = measured->sides[PAIRING_OTHER].n;
    return needed > base || needed > other ? needed : 0;
}

/* The range of equal runs, in the direction of the change. */
static char *format_equal(const struct comparison *comparison, const struct measured *measured,
                          char *buf, size_t size)
{
    return comparison_format_spread(comparison->ratio < 1 ? -measured->half : measured->half, buf,
                                    size);
}

/* Says which limit the change did not exceed: equal runs, the machine, or its other metric. */
static void explain_unclear(const struct judge *judge, const struct candidate *candidate,
                            const struct measured *measured, double threshold,
                            struct comparison *comparison)
{
    char change[32], runs[64], equal[32], between[32];
    double gain = fabs(measured->gain);
    unsigned needed = runs_needed(judge, measured, threshold);
    (void)comparison_format_ratio(comparison->ratio, change, sizeof(change));
    text_add(comparison->reason,
             "%s%s is %s the range of equal runs (%s; %s, spread between runs %s)",
             measured->half > TOO_NOISY ? "too noisy: " : "", change,
             gain > measured->half ? "beyond" : "within",
             format_equal(comparison, measured, equal, sizeof(equal)),
             format_runs(measured, runs, sizeof(runs)),
             comparison_format_spread(measured->spread.sd, between, sizeof(between)));
    if (gain > measured->half + judge->machine_change) {
        text_add(comparison->reason, ", but not together with %s of the same steps.",
                 pair_first(candidate->other_metric->pair)->row->metric);
        needed = 0;
    } else if (gain > measured->half)
        text_add(comparison->reason, ", but by less than the machine itself changed (%s).",
                 comparison_format_spread(judge->machine_change, equal, sizeof(equal)));
    else
        text_add(comparison->reason, ".");
    if (needed)
        text_add(comparison->reason, " Decide it by 'contend ab', or by %u runs a side.", needed);
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
    char change[32], left[32];
    const struct pair *clock = find_clock(judge, pair);
    if (!clock)
        return;
    double ratio = measured_median(clock, PAIRING_OTHER) / measured_median(clock, PAIRING_BASE);
    text_add(comparison->reason, " Its clock: %s; in clock cycles: %s.",
             comparison_format_ratio(ratio, change, sizeof(change)),
             comparison_format_ratio(comparison->ratio / ratio, left, sizeof(left)));
}

static void explain_changed(const struct judge *judge, const struct measured *measured,
                            struct comparison *comparison)
{
    char change[32], runs[64], equal[32];
    text_add(comparison->reason,
             "%s is more than equal runs differ by (%s at a level of %.4g%%; %s).",
             comparison_format_ratio(comparison->ratio, change, sizeof(change)),
             format_equal(comparison, measured, equal, sizeof(equal)), 100 * (1 - 2 * judge->tail),
             format_runs(measured, runs, sizeof(runs)));
}

/* True if a bound only understates the change: the bounded side is the worse one. */
static bool understates(const struct measured *measured)
{
    if (measured->bound[PAIRING_BASE] && measured->bound[PAIRING_OTHER])
        return false;
    return measured->gain < 0 ? !measured->bound[PAIRING_BASE] : !measured->bound[PAIRING_OTHER];
}

/* True if the change is significant, and so is the mean with its other metric. */
static bool is_changed(const struct judge *judge, const struct candidate *candidate,
                       const struct measured *measured)
{
    struct measured both;
    if (fabs(measured->gain) <= measured->half + judge->machine_change)
        return false;
    if (!candidate->other_metric)
        return true;
    measured_of(candidate->pair, candidate->other_metric->pair, judge->options->round_s,
                judge->tail, &both);
    return fabs(both.gain) > both.half;
}

static void decide(const struct judge *judge, const struct candidate *candidate,
                   struct comparison *comparison)
{
    const struct row *row = pair_first(candidate->pair)->row;
    struct measured measured;
    measured_of(candidate->pair, NULL, judge->options->round_s, judge->tail, &measured);
    bool is_bound = measured.bound[PAIRING_BASE] || measured.bound[PAIRING_OTHER];
    bool changed = is_changed(judge, candidate, &measured);
    double threshold = threshold_of(judge, row, comparison->base_median), tail = judge->tail;
    double same = run_spread_half_width(&measured.spread, measured.sides[PAIRING_BASE].n,
                                        measured.sides[PAIRING_OTHER].n, SAME_TAIL);
    comparison->outcome = OUTCOME_UNCLEAR;
    if (is_bound && !understates(&measured))
        text_add(comparison->reason,
                 "a step did not end within the limit: a bound shows no change in this direction.");
    else if (changed && fabs(measured.gain) > threshold) {
        comparison->outcome = measured.gain > 0 ? OUTCOME_FASTER : OUTCOME_SLOWER;
        explain_changed(judge, &measured, comparison);
    } else if (!is_bound && fabs(measured.gain) + same + judge->machine_change <= threshold) {
        comparison->outcome = OUTCOME_SAME;
        tail = SAME_TAIL;
        text_add(comparison->reason, "less than %.2g%%, by the 90%% interval.",
                 100 * expm1(threshold));
    } else if (changed)
        text_add(comparison->reason,
                 "it changed, but perhaps by less than %.2g%%, which does not count.",
                 100 * expm1(threshold));
    else
        explain_unclear(judge, candidate, &measured, threshold, comparison);
    if (comparison->outcome != OUTCOME_SAME)
        explain_clock(judge, candidate->pair, comparison);
    if (measured.noisy)
        text_add(comparison->reason, " The machine was disturbed: a larger spread is assumed.");
    if (judge->machine_change > 0)
        text_add(comparison->reason, " The machine itself changed (%s): that much does not count.",
                 judge->machine_change_text);
    set_interval(comparison, row, measured.gain,
                 (tail == SAME_TAIL ? same : measured.half) + judge->machine_change, tail);
}

static void report_missing(const struct judge *judge, const struct pair *pair,
                           struct comparison *comparison, struct comparisons *comparisons)
{
    enum pairing_side side = measured_count(pair, PAIRING_BASE) ? PAIRING_OTHER : PAIRING_BASE;
    const struct row *why;
    (void)pairing_count_ended(&judge->pairing, pair, side, judge->sides[side].n, &why);
    comparison->outcome = OUTCOME_MISSING;
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
        if (comparison->outcome != OUTCOME_SLOWER && comparison->outcome != OUTCOME_MISSING) {
            comparison->outcome = OUTCOME_MISSING;
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
    const struct candidate *candidate = find_candidate(judge, pair);
    if (!pair->n[PAIRING_BASE] || !pair->n[PAIRING_OTHER] || (comparison.gating && !candidate))
        report_missing(judge, pair, &comparison, comparisons);
    else if (candidate && judge->options->refused) {
        comparison.outcome = OUTCOME_MISSING;
        text_add(comparison.reason, "%s", judge->options->refused);
    } else if (candidate) {
        decide(judge, candidate, &comparison);
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
    if (!rc)
        rc = find_candidates(&judge, err);
    if (!rc)
        note_changed_controls(&judge, comparisons);
    for (size_t i = 0; i < judge.pairing.n && !rc; i++)
        rc = compare_pair(&judge, &judge.pairing.pairs[i], comparisons, err);
    free(judge.candidates);
    pairing_free(&judge.pairing);
    return rc;
}
