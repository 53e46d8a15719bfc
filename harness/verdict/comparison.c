#include "harness/verdict/comparison.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/lib/array.h"
#include "harness/lib/stats.h"
#include "harness/lib/text.h"
#include "harness/record/format.h"

int comparisons_add(struct comparisons *comparisons, const struct comparison *comparison,
                    struct err *err)
{
    struct comparison *added = array_add(comparisons->all, comparisons->n, comparisons->capacity);
    comparisons->failed = comparisons->failed || !added;
    if (!added)
        return err_set(err, -ENOMEM, "out of memory for %zu comparisons", comparisons->n + 1);
    *added = *comparison;
    return 0;
}

struct comparison comparison_of(const char *base, const char *other, const char *metric,
                                const char *unit, const char *better)
{
    struct comparison one = {.evidence = evidence_none, .base_runs = 1, .other_runs = 1};
    text_set(one.base, "%s", base);
    text_set(one.other, "%s", other);
    text_set(one.metric, "%s", metric);
    text_set(one.unit, "%s", unit);
    text_set(one.better, "%s", better);
    return one;
}

void comparisons_free(struct comparisons *comparisons)
{
    free(comparisons->all);
    *comparisons = (struct comparisons){0};
}

/* True if all have the same two sides; false for an ab of three variants. */
static bool comparisons_of_two(const struct comparisons *comparisons)
{
    for (size_t i = 1; i < comparisons->n; i++)
        if (strcmp(comparisons->all[0].other, comparisons->all[i].other) != 0 ||
            strcmp(comparisons->all[0].base, comparisons->all[i].base) != 0)
            return false;
    return true;
}

const char *comparison_format_where(const struct comparisons *comparisons,
                                    const struct comparison *one)
{
    bool named = one->other[0] && !comparisons_of_two(comparisons);
    return str_fmt("%s%s%s", named ? one->other : "", named ? ": " : "", one->arm);
}

static enum finding_severity severity_of(const struct comparison *comparison)
{
    if (comparison->evidence.outcome == OUTCOME_SLOWER)
        return FINDING_BAD;
    bool open = comparison->evidence.outcome == OUTCOME_UNCLEAR ||
                comparison->evidence.outcome == OUTCOME_MISSING;
    return open && comparison->gating ? FINDING_DOUBT : FINDING_NOTE;
}

void comparison_to_finding(const struct comparison *comparison, struct finding *finding)
{
    *finding = (struct finding){
        .severity = severity_of(comparison),
        .outcome = comparison->evidence.outcome,
        .value = comparison->evidence.ratio,
        .low = comparison->evidence.low,
        .high = comparison->evidence.high,
        .unit = "ratio",
    };
    text_set(finding->id, "change_%.24s", comparison->metric);
    text_set(finding->subject, "%s", comparison->arm);
    text_set(finding->metric, "%s", comparison->metric);
    text_set(finding->sentence, "%s", comparison->reason);
    const char *base = number_format_sentence(comparison->evidence.base, comparison->unit);
    const char *other = number_format_sentence(comparison->evidence.other, comparison->unit);
    if (!isnan(comparison->evidence.base) && !isnan(comparison->evidence.other))
        text_set(finding->evidence, "%s %s, %s %s", comparison->base, base, comparison->other,
                 other);
}

size_t comparisons_count(const struct comparisons *comparisons, enum finding_outcome outcome)
{
    size_t n = 0;
    for (size_t i = 0; i < comparisons->n; i++)
        n += comparisons->all[i].gating && comparisons->all[i].evidence.outcome == outcome;
    return n;
}

bool comparisons_paired(const struct comparisons *comparisons)
{
    for (size_t i = 0; i < comparisons->n; i++)
        if (comparisons->all[i].gating && !isnan(comparisons->all[i].evidence.ratio))
            return true;
    return false;
}

bool comparisons_decided(const struct comparisons *comparisons)
{
    return comparisons_count(comparisons, OUTCOME_FASTER) ||
           comparisons_count(comparisons, OUTCOME_SLOWER) ||
           comparisons_count(comparisons, OUTCOME_SAME);
}

/* In percent, with enough decimals that a small change is not printed as zero: 0.99996 is -0.01. */
static double percent_of(double ratio, int *decimals)
{
    double percent = 100 * (ratio - 1);
    *decimals = 1;
    if (percent == 0 || fabs(percent) >= 0.05)
        return percent;
    *decimals = 2;
    return copysign(fmax(fabs(percent), 0.01), percent);
}

static bool is_factor(double ratio)
{
    return ratio < 0.5 || ratio > 2;
}

const char *comparison_format_ratio(double ratio)
{
    int decimals;
    double percent = percent_of(ratio, &decimals);
    if (isnan(ratio))
        return "-";
    if (is_factor(ratio))
        return str_fmt("%.*fx", ratio >= 99.95 ? 0 : ratio >= 0.995 ? 1 : 3, ratio);
    return str_fmt("%+.*f%%", decimals, percent);
}

static bool has_interval(const struct comparison *one)
{
    return !isnan(one->evidence.low) && !isnan(one->evidence.high);
}

static bool is_by_factor(const struct comparison *one)
{
    return is_factor(one->evidence.ratio) ||
           (has_interval(one) && (is_factor(one->evidence.low) || is_factor(one->evidence.high)));
}

const char *comparison_format_change(const struct comparison *comparison)
{
    double ratio = comparison->evidence.ratio;
    if (isnan(ratio) || is_factor(ratio) || !is_by_factor(comparison))
        return comparison_format_ratio(ratio);
    return str_fmt("%.*fx", fabs(ratio - 1) < 0.005 ? 3 : 2, ratio);
}

/* A bound in at most six characters. Small changes round away from zero if that widens the
 * interval. */
static const char *format_percent(double ratio, bool up)
{
    int decimals;
    double percent = percent_of(ratio, &decimals);
    if (decimals == 2 && (percent > 0) == up) {
        percent = up ? 0.1 : -0.1;
        decimals = 1;
    }
    return str_fmt("%+.*f%%", fabs(percent) >= 9.95 ? 0 : decimals, percent);
}

/* A bound in at most five characters. Small factors round outward; only 1 is printed as 1. */
static const char *format_factor(double factor, bool up)
{
    if (factor > 9999)
        return up ? ">9kx" : "9999x";
    if (factor >= 9.95)
        return str_fmt("%.0fx", factor);
    if (fabs(factor - 1) < 0.05 && factor != 1)
        return str_fmt("%.2fx", factor > 1 ? fmax(factor, 1.01) : fmin(factor, 0.99));
    if (factor >= 0.0995)
        return str_fmt("%.2gx", factor);
    if (factor < 0.01)
        return "<.01x";
    return str_fmt("%.2fx", (up ? ceil(100 * factor) : floor(100 * factor)) / 100);
}

const char *comparison_format_interval(const struct comparison *comparison)
{
    const char *low = "-";
    const char *high = "";
    bool known = has_interval(comparison);
    if (known && is_by_factor(comparison)) {
        low = format_factor(comparison->evidence.low, false);
        high = format_factor(comparison->evidence.high, true);
    } else if (known) {
        low = format_percent(comparison->evidence.low, false);
        high = format_percent(comparison->evidence.high, true);
        if (strlen(low) + strlen(" to ") + strlen(high) > COMPARISON_INTERVAL)
            low = str_fmt("%.*s", (int)strlen(low) - 1, low); /* one unit is enough */
    }
    return str_fmt("%s%s%s", low, known ? " to " : "", high);
}

const char *comparison_format_spread(double logarithm)
{
    double factor = exp(fabs(logarithm)), percent = 100 * fabs(expm1(logarithm));
    if (factor > 2)
        return str_fmt("a factor of %.*f", factor < 9.95 ? 1 : 0, factor);
    return str_fmt("%.*f%%", percent < 0.05 ? 2 : 1, percent);
}

/* The gating comparison with the largest change: the SLOWER one that lost the most, else the FASTER
 * one that gained the most; NULL = neither. */
static const struct comparison *find_most(const struct comparisons *comparisons)
{
    const struct comparison *most = NULL;
    for (size_t i = 0; i < comparisons->n; i++) {
        const struct comparison *one = &comparisons->all[i];
        bool slower = one->evidence.outcome == OUTCOME_SLOWER;
        if (!one->gating || (!slower && one->evidence.outcome != OUTCOME_FASTER))
            continue;
        bool worse = most && slower && most->evidence.outcome == OUTCOME_FASTER;
        bool same = most && one->evidence.outcome == most->evidence.outcome;
        if (!most || worse ||
            (same && fabs(log(one->evidence.ratio)) > fabs(log(most->evidence.ratio))))
            most = one;
    }
    return most;
}

/* The size of a change of speed: "3.0x", or "25%". `speed` is below 1 if slower. */
static const char *format_speed(double speed, bool slower, bool as_factor)
{
    double factor = slower ? 1 / speed : speed;
    if (as_factor)
        return str_fmt("%.*fx", factor >= 9.95 ? 0 : 1, factor);
    return str_fmt("%.*f%%", fabs(100 * (speed - 1)) < 9.95 ? 1 : 0,
                   slower ? 100 * (1 - speed) : 100 * (speed - 1));
}

static const char *format_most(const struct comparison *one)
{
    bool slower = one->evidence.outcome == OUTCOME_SLOWER, less = strcmp(one->better, "lower") == 0;
    double a = less ? 1 / one->evidence.low : one->evidence.low,
           b = less ? 1 / one->evidence.high : one->evidence.high;
    double nearer = slower ? fmax(a, b) : fmin(a, b), farther = slower ? fmin(a, b) : fmax(a, b);
    const double speed = less ? 1 / one->evidence.ratio : one->evidence.ratio;
    const bool as_factor = (slower ? 1 / speed : speed) > 2;
    const char *text =
        str_fmt("%s is %s %s than %s", one->other, format_speed(speed, slower, as_factor),
                slower ? "slower" : "faster", one->base);
    if (has_interval(one))
        str_add(&text, "", " (%s to %s)", format_speed(nearer, slower, as_factor),
                format_speed(farther, slower, as_factor));
    str_add(&text, "", ": %s of %s. ", one->metric, one->arm);
    return text;
}

void comparisons_to_finding(const struct comparisons *comparisons, struct finding *finding)
{
    static const enum finding_outcome outcomes[] = {OUTCOME_SLOWER, OUTCOME_FASTER, OUTCOME_SAME,
                                                    OUTCOME_UNCLEAR, OUTCOME_MISSING};
    const struct comparison *most = find_most(comparisons);
    bool decided = comparisons_decided(comparisons);
    size_t gating = 0;
    *finding = (struct finding){
        .id = "comparison",
        .severity = comparisons_count(comparisons, OUTCOME_SLOWER) ? FINDING_BAD
                    : decided                                      ? FINDING_NOTE
                                                                   : FINDING_DOUBT,
        .value = NAN,
        .low = NAN,
        .high = NAN,
    };
    if (most)
        text_set(finding->sentence, "%s", format_most(most));
    for (size_t i = 0; i < sizeof(outcomes) / sizeof(outcomes[0]); i++)
        gating += comparisons_count(comparisons, outcomes[i]);
    if (!gating) {
        text_add(finding->sentence, "No metric that gates could be compared.");
        return;
    }
    if (decided)
        text_add(finding->sentence, "Metrics that gate");
    else
        text_add(finding->sentence, "No verdict on %zu metric%s", gating, gating == 1 ? "" : "s");
    const char *gap = ": ";
    for (size_t i = 0; i < sizeof(outcomes) / sizeof(outcomes[0]); i++) {
        size_t n = comparisons_count(comparisons, outcomes[i]);
        if (n)
            text_add(finding->sentence, "%s%zu %s", gap, n, finding_outcome_name(outcomes[i]));
        gap = n ? ", " : gap;
    }
    text_add(finding->sentence, ".");
}

double floor_of(const struct bench *bench, const char *metric, const char *unit)
{
    static const struct {
        const char *unit;
        double floor;
    } floors[] = {
        /* Two clock reads take about 50 ns; values timed in batches have a share of that. */
        {"s", 1e-6},
        {"us", 0.1},
        {"ns", 0.2},
    };
    const struct bench_metric *own = bench_metric_find(bench, metric);
    double least = own ? own->least : 0;
    for (size_t i = 0; i < sizeof(floors) / sizeof(floors[0]); i++)
        if (!strcmp(unit, floors[i].unit))
            least = fmax(least, floors[i].floor);
    return least;
}

/* As a logarithm; exp() of it fits into a double, and more evidence changes nothing. */
static const double EVIDENCE_MOST = 500;

/* The least mean of its evidence with that of any others, as a logarithm. `sorted` includes its
 * own. */
static double least_mean(const double *sorted, size_t n, double own)
{
    double sum = exp(own), least = sum;
    size_t counted = 1;
    bool is_left_out = false;
    for (size_t i = 0; i < n; i++) {
        if (!is_left_out && sorted[i] == own) {
            is_left_out = true;
            continue;
        }
        sum += exp(sorted[i]);
        least = fmin(least, sum / (double)++counted);
    }
    return log(least);
}

void comparisons_close(struct comparisons *comparisons, bool gating, double alpha)
{
    double *sorted = calloc(comparisons->n + 1, sizeof(*sorted));
    size_t n = 0;
    comparisons->failed = comparisons->failed || !sorted;
    if (!sorted)
        return;
    for (size_t i = 0; i < comparisons->n; i++)
        if (comparisons->all[i].gating == gating &&
            !isnan(comparisons->all[i].evidence.against_same))
            sorted[n++] = fmin(comparisons->all[i].evidence.against_same, EVIDENCE_MOST);
    n = stats_sort(sorted, n);
    for (size_t i = 0; i < comparisons->n; i++) {
        struct comparison *one = &comparisons->all[i];
        bool changed =
            one->evidence.outcome == OUTCOME_FASTER || one->evidence.outcome == OUTCOME_SLOWER;
        double own = fmin(one->evidence.against_same, EVIDENCE_MOST);
        if (!changed || one->gating != gating || least_mean(sorted, n, own) >= -log(alpha))
            continue;
        one->evidence.outcome = OUTCOME_UNCLEAR;
        text_set(one->reason,
                 "After %zu paired rounds its change is clear by itself, but not yet as one of %zu "
                 "compared metrics; a few more rounds should decide.",
                 one->evidence.rounds, n);
    }
    free(sorted);
}
