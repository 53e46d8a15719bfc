#include "harness/compare/history_say.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/compare/comparison.h"

/* The machine may be seen to move a run or two from where what it carries is seen to. */
enum { NEAR_RUNS = 2 };

/* A move of the machine explains one of a figure that is at most so many times as large. */
static const double explains = 3;

/* Of fewer, all in one direction are nothing odd. */
enum { EVENTS_LEAST = 8 };

static uint32_t run_of(const struct history_series *series, const struct change *change)
{
    return series->point[change->at].run;
}

/* The canary's change that explains this one, and whose it is; or NULL. */
static const struct change *find_canary(const struct history *history,
                                        const struct history_series *series,
                                        const struct change *change,
                                        const struct history_series **canary)
{
    uint32_t run = run_of(series, change);
    for (size_t i = 0; i < history->nseries; i++) {
        *canary = history->series[i];
        for (size_t j = 0; (*canary)->canary && j < (*canary)->changes.n; j++) {
            const struct change *other = &(*canary)->changes.change[j];
            uint32_t at = run_of(*canary, other);
            uint32_t apart = at > run ? at - run : run - at;
            if (apart <= NEAR_RUNS &&
                history_is_worse(*canary, other) == history_is_worse(series, change) &&
                fabs(log(change->ratio)) <= explains * fabs(log(other->ratio)))
                return other;
        }
    }
    return NULL;
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

static void describe(const struct history *history, const struct history_series *series,
                     const struct change *change, struct finding *finding)
{
    char ratio[32], low[32], high[32];
    bool last = change == &series->changes.change[series->changes.n - 1];
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

static int say_change(const struct history *history, struct history_series *series,
                      const struct change *change, struct findings *findings, struct err *err)
{
    struct finding finding;
    const struct history_series *canary;
    bool last = change == &series->changes.change[series->changes.n - 1];
    const struct change *moved = find_canary(history, series, change, &canary);
    describe(history, series, change, &finding);
    size_t used = strlen(finding.sentence);
    if (moved) {
        char ratio[32];
        (void)snprintf(finding.sentence + used, sizeof(finding.sentence) - used,
                       "; the machine itself moved: %s %s", canary->metric,
                       comparison_format_ratio(moved->ratio, ratio, sizeof(ratio)));
    }
    bool worse = history_is_worse(series, change);
    series->declined = last && moved;
    if (last)
        finding.outcome = moved ? OUTCOME_UNCLEAR : worse ? OUTCOME_SLOWER : OUTCOME_FASTER;
    finding.severity = !last   ? FINDING_NOTE
                       : moved ? FINDING_DOUBT
                       : worse ? FINDING_BAD
                               : FINDING_NOTE;
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

static int say_drift(const struct history_series *series, struct findings *findings,
                     struct err *err)
{
    char ratio[32];
    const struct change whole = {.ratio = series->changes.drift};
    struct finding finding = {.id = "history_drift",
                              .severity =
                                  history_is_worse(series, &whole) ? FINDING_DOUBT : FINDING_NOTE,
                              .value = whole.ratio,
                              .low = NAN,
                              .high = NAN};
    (void)snprintf(finding.subject, sizeof(finding.subject), "%.230s", series->arm);
    (void)snprintf(finding.metric, sizeof(finding.metric), "%s", series->metric);
    (void)snprintf(finding.unit, sizeof(finding.unit), "ratio");
    (void)snprintf(finding.sentence, sizeof(finding.sentence),
                   "%s drifts: %s over %zu runs, without a step%s", series->metric,
                   comparison_format_ratio(whole.ratio, ratio, sizeof(ratio)),
                   series->n - series->changes.drift_from,
                   series->canary ? "; that is the machine itself" : "");
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
    return !rc && series->changes.drifts ? say_drift(series, findings, err) : rc;
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
        next = any ? run + NEAR_RUNS + 1 : next;
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

static int say_whole(const struct history *history, size_t figures, struct findings *findings,
                     struct err *err)
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
    (void)snprintf(
        finding.sentence, sizeof(finding.sentence),
        "%zu runs of one machine, %s to %s: of %zu figures %zu ended SLOWER, %zu FASTER, "
        "%zu UNCLEAR, as the machine moved too, and %zu as they began.",
        history->nruns, history->runs[0].started, history->runs[history->nruns - 1].started,
        figures, slower, faster, unclear, figures - slower - faster - unclear);
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
    size_t figures = 0, longest = 0;
    int rc = 0;
    for (size_t i = 0; i < history->nseries; i++) {
        figures += !history->series[i]->canary;
        longest = !history->series[i]->canary && history->series[i]->n > longest
                      ? history->series[i]->n
                      : longest;
    }
    if (longest < CHANGES_RUNS)
        return say_few(history, longest, findings, err);
    for (size_t i = 0; i < history->nseries && !rc; i++)
        rc = say_series(history, history->series[i], findings, err);
    if (!rc)
        rc = say_whole(history, figures, findings, err);
    return rc ? rc : say_bias(history, findings, err);
}
