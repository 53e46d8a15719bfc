#include "harness/verdict/runs/history_say.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/verdict/pairs/comparison.h"
#include "harness/verdict/runs/history_moved.h"

/* Of fewer, all in one direction are nothing odd. */
enum { EVENTS_LEAST = 8 };

static uint32_t run_of(const struct history_series *series, const struct change *change)
{
    return series->point[change->at].run;
}

static void say_where(const struct history *history, const struct history_series *series,
                      const struct change *change, struct finding *finding)
{
    const struct history_run *run = &history->runs[run_of(series, change)];
    const struct history_run *before = &history->runs[series->point[change->at - 1].run];
    bool other = before->commit[0] && run->commit[0] && strcmp(before->commit, run->commit) != 0;
    (void)snprintf(finding->evidence, sizeof(finding->evidence),
                   "%.4g -> %.4g %.20s; run %.48s%s%.30s%s%.30s", change->before, change->after,
                   series->unit, run->run_id, other ? "; contend " : "",
                   other ? before->commit : "", other ? " -> " : "", other ? run->commit : "");
}

/* Whether it is how the series ended: no other change, and no drift, is behind it. */
static bool is_end(const struct history_series *series, const struct change *change)
{
    return !series->changes.drifts && change == &series->changes.change[series->changes.n - 1];
}

static void describe(const struct history *history, const struct history_series *series,
                     const struct change *change, struct finding *finding)
{
    char ratio[32], low[32], high[32];
    bool last = is_end(series, change);
    const struct history_run *run = &history->runs[run_of(series, change)];
    *finding = (struct finding){
        .id = "history_change", .value = change->ratio, .low = change->low, .high = change->high};
    (void)snprintf(finding->subject, sizeof(finding->subject), "%.230s", series->arm);
    (void)snprintf(finding->metric, sizeof(finding->metric), "%s", series->metric);
    (void)snprintf(finding->unit, sizeof(finding->unit), "ratio");
    (void)snprintf(
        finding->sentence, sizeof(finding->sentence),
        "%s %s%s (%s to %s) with run %u of %zu, %s: %.4g -> %.4g %s", series->metric,
        last ? "" : "earlier ", comparison_format_ratio(change->ratio, ratio, sizeof(ratio)),
        comparison_format_ratio(change->low, low, sizeof(low)),
        comparison_format_ratio(change->high, high, sizeof(high)), run_of(series, change) + 1,
        history->nruns, run->started, change->before, change->after, series->unit);
    say_where(history, series, change, finding);
}

static bool has_lost(const struct history_series *series)
{
    return series->lost.ratio != 1;
}

/*
 * Whether what is lost of the best level went with changes that were not the machine's. Of a drift
 * for the worse the steps in its place are that drift.
 */
static bool lost_by_itself(const struct history *history, const struct history_series *series)
{
    const struct changes *told = &series->changes, *found = &series->found;
    bool falls = told->drifts && history_worsening(series, told->drift) > 0;
    double lost = 0, by;
    for (size_t i = 0; has_lost(series) && i < found->n; i++) {
        const struct change *change = &found->change[i];
        if (falls && change->at >= told->drift_from)
            break;
        if (change->at >= series->lost.at && !history_moved_at(history, series, change, &by))
            lost += history_worsening(series, change->ratio);
    }
    return has_lost(series) && lost >= history->threshold;
}

/* The level that it began with. The trend has it where it stands for the first step, too. */
static double level_at_first(const struct history_series *series)
{
    const struct changes *told = &series->changes;
    const struct change *first = series->found.change; /* told or not */
    bool with_trend = !series->found.n || (first->ratio > 1) == (told->drift > 1);
    if (told->drifts && !told->drift_from && with_trend)
        return told->drift_after / told->drift;
    return first->before;
}

/* How it ended: by its last change or its drift, and by what that leaves it at. */
static enum finding_outcome judge_end(const struct history *history,
                                      const struct history_series *series, bool moved)
{
    const struct changes *told = &series->changes;
    const struct change *last = told->n ? &told->change[told->n - 1] : NULL;
    double ratio = told->drifts ? told->drift : last->ratio;
    double after = told->drifts ? told->drift_after : last->after;
    if (lost_by_itself(history, series) || (history_worsening(series, ratio) > 0 && !moved))
        return OUTCOME_SLOWER;
    if (moved || has_lost(series))
        return OUTCOME_UNCLEAR;
    bool better = history_worsening(series, after / level_at_first(series)) <= -history->threshold;
    return better ? OUTCOME_FASTER : OUTCOME_NONE;
}

static void set_outcome(struct finding *finding, enum finding_outcome outcome)
{
    finding->outcome = outcome;
    finding->severity = outcome == OUTCOME_SLOWER    ? FINDING_BAD
                        : outcome == OUTCOME_UNCLEAR ? FINDING_DOUBT
                                                     : FINDING_NOTE;
}

__attribute__((format(printf, 2, 3))) static void add(struct finding *finding, const char *fmt, ...)
{
    size_t used = strlen(finding->sentence);
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(finding->sentence + used, sizeof(finding->sentence) - used, fmt, args);
    va_end(args);
}

/* A change for the better that does not bring back what was lost, or no more than that. */
static void say_recovery(const struct history_series *series, struct finding *finding)
{
    char ratio[32];
    if (has_lost(series))
        add(finding, "; recovered in part: still %s against the %.4g before run %u",
            comparison_format_ratio(series->lost.ratio, ratio, sizeof(ratio)), series->lost.before,
            run_of(series, &series->lost) + 1);
    else if (finding->outcome == OUTCOME_NONE)
        add(finding, "; so it is back near the %.4g that it began with", level_at_first(series));
}

static void say_moved(const struct history_series *canary, double by, struct finding *finding)
{
    char ratio[32];
    add(finding, "; the machine itself moved: %s %s", canary->metric,
        comparison_format_ratio(by, ratio, sizeof(ratio)));
}

static int say_change(const struct history *history, struct history_series *series,
                      const struct change *change, struct findings *findings, struct err *err)
{
    struct finding finding;
    double by;
    const struct history_series *canary = history_moved_at(history, series, change, &by);
    describe(history, series, change, &finding);
    if (canary)
        say_moved(canary, by, &finding);
    if (is_end(series, change)) {
        set_outcome(&finding, judge_end(history, series, canary != NULL));
        if (!history_is_worse(series, change))
            say_recovery(series, &finding);
    }
    return findings_add(findings, &finding, err);
}

static int say_canary(const struct history *history, const struct history_series *series,
                      const struct change *change, struct findings *findings, struct err *err)
{
    struct finding finding;
    describe(history, series, change, &finding);
    (void)snprintf(finding.id, sizeof(finding.id), "history_canary");
    finding.severity = FINDING_DOUBT;
    return findings_add(findings, &finding, err);
}

static int say_drift(const struct history *history, struct history_series *series,
                     struct findings *findings, struct err *err)
{
    char ratio[32];
    double drift = series->changes.drift, by;
    const struct history_series *canary =
        series->canary ? NULL : history_moved_along(history, series, &by);
    struct finding finding = {.id = "history_drift", .value = drift, .low = NAN, .high = NAN};
    (void)snprintf(finding.subject, sizeof(finding.subject), "%.230s", series->arm);
    (void)snprintf(finding.metric, sizeof(finding.metric), "%s", series->metric);
    (void)snprintf(finding.unit, sizeof(finding.unit), "ratio");
    add(&finding, "%s drifts: %s over %zu runs, without a step", series->metric,
        comparison_format_ratio(drift, ratio, sizeof(ratio)),
        series->n - series->changes.drift_from);
    if (series->canary) {
        add(&finding, "; that is the machine itself");
        finding.severity = history_worsening(series, drift) > 0 ? FINDING_DOUBT : FINDING_NOTE;
        return findings_add(findings, &finding, err);
    }
    if (canary)
        say_moved(canary, by, &finding);
    set_outcome(&finding, judge_end(history, series, canary != NULL));
    if (history_worsening(series, drift) < 0)
        say_recovery(series, &finding);
    return findings_add(findings, &finding, err);
}

static int say_series(const struct history *history, struct history_series *series,
                      struct findings *findings, struct err *err)
{
    int rc = 0;
    for (size_t i = series->changes.n; i-- > 0 && !rc;) {
        const struct change *change = &series->changes.change[i];
        rc = series->canary ? say_canary(history, series, change, findings, err)
                            : say_change(history, series, change, findings, err);
    }
    return !rc && series->changes.drifts ? say_drift(history, series, findings, err) : rc;
}

size_t history_count(const struct findings *findings, enum finding_outcome outcome)
{
    size_t n = 0;
    for (size_t i = 0; i < findings->n; i++)
        n += findings->all[i].outcome == outcome && findings->all[i].metric[0];
    return n;
}

/* Runs with which any figure became slower, or faster: those of one event are near each other. */
static size_t count_events(const struct history *history, bool worse)
{
    size_t n = 0, next = 0;
    for (size_t run = 0; run < history->nruns; run++) {
        bool any = false;
        for (size_t i = 0; i < history->nseries && run >= next && !any; i++) {
            const struct history_series *series = history->series[i];
            for (size_t j = 0; !series->canary && j < series->changes.n && !any; j++)
                any = run_of(series, &series->changes.change[j]) == run &&
                      history_is_worse(series, &series->changes.change[j]) == worse;
        }
        n += any;
        next = any ? run + HISTORY_NEAR_RUNS + 1 : next;
    }
    return n;
}

/* Two-sided sign test: the chance of so few of one kind, or fewer, of n with equal chances. */
static double sign_p(size_t few, size_t n)
{
    double term = pow(0.5, (double)n), sum = 0;
    for (size_t i = 0; i <= few; i++) {
        sum += term;
        term *= (double)(n - i) / (double)(i + 1);
    }
    return fmin(1, 2 * sum);
}

static int say_bias(const struct history *history, struct findings *findings, struct err *err)
{
    size_t slower = count_events(history, true), faster = count_events(history, false);
    size_t n = slower + faster, few = slower < faster ? slower : faster;
    struct finding finding = {
        .id = "history_bias", .severity = FINDING_DOUBT, .value = NAN, .low = NAN, .high = NAN};
    if (n < EVENTS_LEAST || sign_p(few, n) >= 0.01)
        return 0;
    (void)snprintf(finding.sentence, sizeof(finding.sentence),
                   "Of %zu changes in time %zu were slower and %zu faster: what sees only one kind "
                   "is biased, or only one kind of change is let in.",
                   n, slower, faster);
    return findings_add(findings, &finding, err);
}

static int say_whole(const struct history *history, size_t figures, size_t untested,
                     struct findings *findings, struct err *err)
{
    size_t slower = history_count(findings, OUTCOME_SLOWER);
    size_t faster = history_count(findings, OUTCOME_FASTER);
    size_t unclear = history_count(findings, OUTCOME_UNCLEAR);
    struct finding finding = {.id = "history",
                              .severity = slower ? FINDING_BAD : FINDING_NOTE,
                              .outcome = slower ? OUTCOME_SLOWER : OUTCOME_SAME,
                              .value = NAN,
                              .low = NAN,
                              .high = NAN};
    add(&finding,
        "%zu runs of one machine, %s to %s: of %zu figures %zu ended SLOWER, %zu FASTER, "
        "%zu UNCLEAR, as the machine moved too, and %zu as they began.",
        history->nruns, history->runs[0].started, history->runs[history->nruns - 1].started,
        figures, slower, faster, unclear, figures - slower - faster - unclear);
    if (untested)
        add(&finding, " %zu more %s in fewer than %d runs, and %s not looked at.", untested,
            untested == 1 ? "is" : "are", CHANGES_RUNS, untested == 1 ? "was" : "were");
    return findings_add(findings, &finding, err);
}

/* Of several scenarios each run has only some of the figures. */
static int say_few(const struct history *history, size_t longest, struct findings *findings,
                   struct err *err)
{
    char most[48] = "";
    if (longest < history->nruns)
        (void)snprintf(most, sizeof(most), ", %zu with the same figure", longest);
    struct finding finding = {.id = "history",
                              .severity = FINDING_DOUBT,
                              .outcome = OUTCOME_UNCLEAR,
                              .value = NAN,
                              .low = NAN,
                              .high = NAN};
    (void)snprintf(finding.sentence, sizeof(finding.sentence),
                   "%zu runs of one machine%s: a change is not to be told from chance below %d, "
                   "with %d on either side of it.",
                   history->nruns, most, CHANGES_RUNS, CHANGES_SIDE);
    return findings_add(findings, &finding, err);
}

int history_say(struct history *history, struct findings *findings, struct err *err)
{
    size_t figures = 0, untested = 0, longest = 0;
    int rc = 0;
    for (size_t i = 0; i < history->nseries; i++) {
        const struct history_series *series = history->series[i];
        figures += history_is_tested(series);
        untested += !series->canary && !history_is_tested(series);
        longest = !series->canary && series->n > longest ? series->n : longest;
    }
    if (!figures)
        return say_few(history, longest, findings, err);
    for (size_t i = 0; i < history->nseries && !rc; i++)
        rc = say_series(history, history->series[i], findings, err);
    if (!rc)
        rc = say_whole(history, figures, untested, findings, err);
    return rc ? rc : say_bias(history, findings, err);
}
