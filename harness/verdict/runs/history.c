#include "harness/verdict/runs/history.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/lib/array.h"
#include "harness/lib/text.h"
#include "harness/record/format.h"
#include "harness/verdict/comparison.h"
#include "harness/verdict/runs/pairing.h"

int history_add_run(struct history *history, const struct history_run *run, uint32_t *at,
                    struct err *err)
{
    struct history_run *added = array_add(history->runs, history->nruns, history->runs_capacity);
    if (!added)
        return err_set(err, -ENOMEM, "no memory for %zu runs", history->nruns + 1);
    *at = (uint32_t)history->nruns - 1;
    *added = *run;
    added->added = *at;
    return 0;
}

bool history_has_run(const struct history *history, const char *run_id)
{
    for (size_t i = 0; i < history->nruns; i++)
        if (strcmp(history->runs[i].run_id, run_id) == 0)
            return true;
    return false;
}

static bool is_of(const struct history_series *series, const struct history_figure *figure)
{
    const struct history_figure *own = &series->figure;
    return !strcmp(own->arm, figure->arm) && !strcmp(own->metric, figure->metric) &&
           !strcmp(own->params, figure->params) && !strcmp(own->unit, figure->unit);
}

static struct history_series *find_series(struct history *history,
                                          const struct history_figure *figure)
{
    for (size_t i = 0; i < history->nseries; i++)
        if (is_of(&history->series[i], figure))
            return &history->series[i];
    struct history_series *added =
        array_add(history->series, history->nseries, history->series_capacity);
    if (added)
        *added = (struct history_series){.figure = *figure};
    return added;
}

int history_add(struct history *history, const struct history_figure *figure, uint32_t run,
                double value, struct err *err)
{
    if (!(value > 0) || isinf(value))
        return 0;
    struct history_series *series = find_series(history, figure);
    struct history_point *added =
        series ? array_add(series->point, series->n, series->capacity) : NULL;
    if (!added)
        return err_set(err, -ENOMEM, "no memory for %zu series", history->nseries + 1);
    *added = (struct history_point){run, value};
    return 0;
}

void history_free(struct history *history)
{
    for (size_t i = 0; i < history->nseries; i++)
        free(history->series[i].point);
    free(history->series);
    free(history->runs);
    *history = (struct history){0};
}

bool history_takes(const struct row *row)
{
    bool measured = row->status == STATUS_OK || row->status == STATUS_NOISY;
    return measured && strcmp(row->better, "none") != 0 &&
           (row->arm->is_control || row_is_gating(row));
}

void history_name(const struct row *row, struct history_figure *figure)
{
    *figure = (struct history_figure){.is_control = row->arm->is_control};
    const char *said = format_dims(row->arm->bench, &row->dims);
    text_set(figure->arm, "%s, %s, %u worker%s%s%s%s", row->bench, row->placement, row->workers,
             row->workers == 1 ? "" : "s", device_mark(device_find(row->device)),
             said[0] ? ", " : "", said);
    text_set(figure->params, "%s;%s;%s", row->scenario, row->device,
             params_without_defaults(row->arm->bench->opts, row->params));
    text_set(figure->metric, "%s", row->metric);
    text_set(figure->unit, "%s", row->unit);
    text_set(figure->better, "%s", row->better);
}

static int compare_runs(const void *a, const void *b)
{
    const struct history_run *x = a, *y = b;
    int times = strcmp(x->started, y->started), ids = times ? 0 : strcmp(x->run_id, y->run_id);
    return times ? times : ids ? ids : (x->added > y->added) - (x->added < y->added);
}

static int compare_points(const void *a, const void *b)
{
    const struct history_point *x = a, *y = b;
    return (x->run > y->run) - (x->run < y->run);
}

/* Sorts runs and points by time; called by history_judge. -ENOMEM only. */
static int history_sort(struct history *history, struct err *err)
{
    uint32_t *place = calloc(history->nruns + 1, sizeof(*place));
    if (!place)
        return err_set(err, -ENOMEM, "no memory for %zu runs", history->nruns);
    if (history->nruns)
        qsort(history->runs, history->nruns, sizeof(*history->runs), compare_runs);
    for (size_t i = 0; i < history->nruns; i++)
        place[history->runs[i].added] = (uint32_t)i;
    for (size_t i = 0; i < history->nseries; i++) {
        struct history_series *series = &history->series[i];
        for (size_t j = 0; j < series->n; j++)
            series->point[j].run = place[series->point[j].run];
        qsort(series->point, series->n, sizeof(*series->point), compare_points);
    }
    for (size_t i = 0; i < history->nruns; i++)
        history->runs[i].added = (uint32_t)i;
    free(place);
    return 0;
}

/* A change of the machine explains a change of a figure that is at most this many times as large.
 * The two changes may be seen up to NEAR_RUNS runs apart. */
static const double explained_factor = 3;
enum { NEAR_RUNS = 2 };

/* The chance that a control of an unchanged machine shows a change. Half of these are in the
 * direction that can explain another change. */
static const double control_error = 0.05;

struct judged {
    const struct history *history;
    const struct history_series *series;
    double *limited; /* its values as limited by changes_limit */
    double error;
    struct findings *findings;
};

/* The outcome of a figure. */
struct end {
    struct change change; /* last level against the one that counts; not significant: no change */
    enum finding_outcome outcome;
    const struct history_series *control; /* that changed, too; or NULL */
    double by;                            /* the ratio of the control's change */
};

static uint32_t run_of(const struct history_series *series, size_t at)
{
    return series->point[at].run;
}

static bool is_lower_better(const struct history_series *series)
{
    return strcmp(series->figure.better, "lower") == 0;
}

/* Positive = worse; logarithms of ratios. */
static double worsening(const struct history_series *series, double logarithm)
{
    return is_lower_better(series) ? logarithm : -logarithm;
}

bool history_is_worse(const struct history_series *series, const struct change *change)
{
    return worsening(series, log(change->evidence.ratio)) > 0;
}

/* The change from that level to the last level. */
static struct change against(const struct judged *judged, size_t level)
{
    const struct changes *changes = &judged->series->changes;
    size_t n = judged->series->n, end = changes_begin(changes, level + 1, n);
    struct change change = changes_between(judged->limited, changes_begin(changes, level, n), end,
                                           changes_begin(changes, changes->n, n), n, judged->error);
    change.significant =
        change.significant && fabs(log(change.evidence.ratio)) >= judged->history->threshold;
    return change;
}

/* The control's level at that run, as a logarithm. */
static double level_at(const struct history_series *control, uint32_t run)
{
    const struct changes *changes = &control->changes;
    size_t level = 0;
    while (level < changes->n && run_of(control, changes->change[level].at) <= run)
        level++;
    return log(level ? changes->change[level - 1].evidence.other
                     : changes->change[0].evidence.base);
}

/* Finds the first control that changed in the same direction since then, enough to explain it. */
static void find_changed_control(const struct judged *judged, struct end *end)
{
    uint32_t run = run_of(judged->series, end->change.at);
    double worse = worsening(judged->series, log(end->change.evidence.ratio));
    for (size_t i = 0; i < judged->history->nseries && !end->control; i++) {
        const struct history_series *control = &judged->history->series[i];
        if (!control->figure.is_control || !control->changes.n)
            continue;
        double by = level_at(control, (uint32_t)judged->history->nruns) -
                    level_at(control, run > NEAR_RUNS ? run - NEAR_RUNS - 1 : 0);
        double changed = worsening(control, by);
        if (changed * worse > 0 && fabs(worse) <= explained_factor * fabs(changed)) {
            end->control = control;
            end->by = exp(by);
        }
    }
}

static struct end judge_end(const struct judged *judged)
{
    struct end end = {.outcome = OUTCOME_NONE};
    for (size_t level = 0; level < judged->series->changes.n; level++) {
        struct change change = against(judged, level);
        if (change.significant && history_is_worse(judged->series, &change) &&
            (!end.change.significant ||
             fabs(log(change.evidence.ratio)) > fabs(log(end.change.evidence.ratio))))
            end.change = change;
    }
    if (!end.change.significant && judged->series->changes.n)
        end.change = against(judged, 0);
    if (!end.change.significant)
        return end;
    find_changed_control(judged, &end);
    end.outcome = end.control                                     ? OUTCOME_UNCLEAR
                  : history_is_worse(judged->series, &end.change) ? OUTCOME_SLOWER
                                                                  : OUTCOME_FASTER;
    return end;
}

static struct finding describe(const struct history *history, const struct history_series *series,
                               const char *id, const struct change *change)
{
    const struct history_run *run = &history->runs[run_of(series, change->at)];
    const struct history_run *before = &history->runs[run_of(series, change->at - 1)];
    bool other = before->commit[0] && run->commit[0] && strcmp(before->commit, run->commit) != 0;
    struct finding finding = {.value = change->evidence.ratio,
                              .low = change->evidence.low,
                              .high = change->evidence.high,
                              .unit = "ratio"};
    text_set(finding.id, "%s", id);
    text_set(finding.subject, "%.230s", series->figure.arm);
    text_set(finding.metric, "%s", series->figure.metric);
    const char *was = number_format_sentence(change->evidence.base, series->figure.unit);
    const char *is = number_format_sentence(change->evidence.other, series->figure.unit);
    text_add(finding.sentence, "%s %s (%s to %s) with run %u of %zu, %s: %s -> %s",
             series->figure.metric, comparison_format_ratio(change->evidence.ratio),
             comparison_format_ratio(change->evidence.low),
             comparison_format_ratio(change->evidence.high), run_of(series, change->at) + 1,
             history->nruns, run->started, was, is);
    text_set(finding.evidence, "%.30s -> %.30s; run %.48s%s%.30s%s%.30s", was, is, run->run_id,
             other ? "; contend " : "", other ? before->commit : "", other ? " -> " : "",
             other ? run->commit : "");
    return finding;
}

static void report_end(const struct judged *judged)
{
    const struct changes *changes = &judged->series->changes;
    const struct end end = judge_end(judged);
    if (!end.change.significant)
        return;
    const struct change *last = &changes->change[changes->n - 1];
    struct finding finding =
        describe(judged->history, judged->series, "history_change", &end.change);
    bool worse = history_is_worse(judged->series, &end.change);
    if (worse && !history_is_worse(judged->series, last))
        text_add(finding.sentence, ", recovered in part");
    else if (last->at != end.change.at)
        text_add(finding.sentence, ", in steps");
    if (end.control)
        text_add(finding.sentence, "; the machine itself changed: %s %s",
                 end.control->figure.metric, comparison_format_ratio(end.by));
    finding.outcome = end.outcome;
    finding.severity = end.outcome == OUTCOME_SLOWER    ? FINDING_BAD
                       : end.outcome == OUTCOME_UNCLEAR ? FINDING_DOUBT
                                                        : FINDING_NOTE;
    findings_put(judged->findings, &finding);
}

/* The single steps, if there are several; for a control always. */
static void report_steps(const struct judged *judged)
{
    const struct changes *changes = &judged->series->changes;
    bool is_control = judged->series->figure.is_control;
    for (size_t i = changes->n; i-- > 0 && (is_control || changes->n > 1);) {
        const struct change *change = &changes->change[i];
        struct finding finding = describe(judged->history, judged->series,
                                          is_control ? "history_canary" : "history_step", change);
        finding.severity = is_control ? FINDING_DOUBT : FINDING_NOTE;
        if (fabs(log(change->evidence.ratio)) >= judged->history->threshold)
            findings_put(judged->findings, &finding);
    }
}

/* Fills `limited` and the changes. */
static void find_changes(const struct judged *judged, struct history_series *series,
                         double *scratch)
{
    for (size_t i = 0; i < series->n; i++)
        scratch[i] = log(series->point[i].value);
    changes_limit(scratch, series->n, judged->limited);
    changes_find(judged->limited, series->n, judged->error, &series->changes);
}

size_t history_count(const struct findings *findings, enum finding_outcome outcome)
{
    size_t n = 0;
    for (size_t i = 0; i < findings->n; i++)
        n += findings->all[i].outcome == outcome && findings->all[i].metric[0];
    return n;
}

static void report_total(const struct history *history, size_t figures, size_t untested,
                         struct findings *findings)
{
    size_t slower = history_count(findings, OUTCOME_SLOWER);
    size_t faster = history_count(findings, OUTCOME_FASTER);
    size_t unclear = history_count(findings, OUTCOME_UNCLEAR);
    struct finding finding = {.id = "history",
                              .severity = slower ? FINDING_BAD : FINDING_NOTE,
                              .outcome = slower ? OUTCOME_SLOWER : OUTCOME_SAME};
    text_set(finding.sentence,
             "%zu runs of one machine, %s to %s, %zu figures: %zu SLOWER, %zu FASTER, %zu UNCLEAR "
             "because the machine changed too, %zu unchanged.",
             history->nruns, history->runs[0].started, history->runs[history->nruns - 1].started,
             figures, slower, faster, unclear, figures - slower - faster - unclear);
    if (untested)
        text_add(finding.sentence, " %zu more %s in fewer than %d runs, and %s not judged.",
                 untested, untested == 1 ? "is" : "are", CHANGES_RUNS,
                 untested == 1 ? "was" : "were");
    findings_put(findings, &finding);
}

/* With several scenarios, each run has only some of the figures. */
static void report_few(const struct history *history, size_t longest, struct findings *findings)
{
    struct finding finding = {
        .id = "history", .severity = FINDING_DOUBT, .outcome = OUTCOME_UNCLEAR};
    text_set(finding.sentence, "%zu runs of one machine", history->nruns);
    if (longest < history->nruns)
        text_add(finding.sentence, ", %zu with the same figure", longest);
    text_add(finding.sentence, ": finding a change takes %d, with %d on either side of it.",
             CHANGES_RUNS, CHANGES_SIDE);
    findings_put(findings, &finding);
}

/* `scratch` holds two numbers per run of a series. */
static void judge_all(struct history *history, size_t figures, double *scratch,
                      struct findings *findings)
{
    for (int is_control = 1; is_control >= 0; is_control--) /* controls: they explain figures */
        for (size_t i = 0; i < history->nseries; i++) {
            struct history_series *series = &history->series[i];
            const struct judged judged = {
                history, series, scratch + series->n,
                is_control ? control_error : HISTORY_ERROR / (double)figures, findings};
            if (series->figure.is_control != is_control)
                continue;
            find_changes(&judged, series, scratch);
            if (!is_control)
                report_end(&judged);
            report_steps(&judged);
        }
}

int history_judge(struct history *history, double threshold, struct findings *findings,
                  struct err *err)
{
    size_t figures = 0, untested = 0, longest = 0, most = 0;
    int rc = history_sort(history, err);
    *findings = (struct findings){0};
    history->threshold = log1p(threshold);
    for (size_t i = 0; i < history->nseries; i++) {
        const struct history_series *series = &history->series[i];
        bool tested = series->n >= CHANGES_RUNS;
        figures += tested && !series->figure.is_control;
        untested += !tested && !series->figure.is_control;
        most = series->n > most ? series->n : most;
        longest = series->n > longest && !series->figure.is_control ? series->n : longest;
    }
    double *scratch = calloc(2 * most + 1, sizeof(*scratch));
    findings->failed = !scratch;
    if (scratch && !rc && figures) {
        judge_all(history, figures, scratch, findings);
        report_total(history, figures, untested, findings);
    } else if (!rc)
        report_few(history, longest, findings);
    free(scratch);
    return rc ? rc : findings_check(findings, err);
}
