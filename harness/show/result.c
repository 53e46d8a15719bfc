#include "harness/show/result.h"

#include <math.h>
#include <string.h>

#include "harness/lib/text.h"
#include "harness/record/format.h"
#include "harness/show/comparison.h"
#include "harness/show/escape.h"
#include "harness/verdict/advice.h"
#include "harness/verdict/runs/dosing.h"
#include "harness/verdict/runs/mix.h"
#include "harness/verdict/runs/predict.h"
#include "harness/verdict/runs/sizing.h"
#include "harness/verdict/runs/tune.h"

/* The throughput that each placement keeps under each dose of contention, as a table. */

/* Throughput over the number of cores per worker, as a table. */

/* "20%" for a kind of dose that is a share, "0.8" for the other kinds. */
static void add_level(int kind, double level, struct doc_table *table)
{
    if (isnan(level))
        doc_cell(table, "-");
    else if (dose_is_share(kind))
        doc_cell(table, "%.3g%%", 100 * level);
    else
        doc_cell(table, "%.3g", level);
}

static void add_point(const struct dosing_curves *curves, const struct dosing_point *point,
                      double level, bool steps, struct doc_table *table)
{
    const struct evidence *kept = &point->retention;
    doc_row(table, DOC_PLAIN);
    add_level(curves->kind, level, table);
    add_level(curves->kind, point->held, table);
    doc_si(table, point->rate);
    doc_share(table, kept->ratio);
    if (isnan(kept->low) || level == curves->level[0])
        doc_cell(table, "%s", "");
    else
        doc_cell(table, "%.0f-%.0f%%", 100 * kept->low, 100 * kept->high);
    if (steps)
        doc_cell(table, "%s", advice_format_ratio(point->p99));
}

static void dosing_add_to_doc(const struct analysis *analysis, struct doc *doc)
{
    struct dosing_curves curves;
    const struct result *result = analysis->result;
    if (!dosing_read(analysis, &curves))
        return;
    const bool steps = !result->arms[0].bench->scan;
    doc_heading(doc, "%s, %s, %u worker%s, %u round%s, doses of %s", result->scenario,
                device_infos[result->device].title, curves.workers, curves.workers == 1 ? "" : "s",
                result->rounds_done, result->rounds_done == 1 ? "" : "s", dose_names[curves.kind]);
    doc_gap(doc);
    struct doc_table *table = doc_table(doc);
    doc_column(table, DOC_LABEL, "%s", dose_names[curves.kind]);
    doc_columns(table, DOC_NUMBER, "held", NULL);
    doc_column(table, DOC_NUMBER, "%s",
               curves.what.unit ? curves.what.unit : bench_rate_unit(result->arms[0].bench));
    doc_columns(table, DOC_NUMBER, "retention", "range", steps ? "p99 step" : NULL, NULL);
    for (size_t p = 0; p < curves.nplacements; p++) {
        doc_row(table, DOC_GROUP);
        doc_cell(table, "%s", placement_infos[curves.placement[p]].name);
        for (size_t i = 0; i < curves.n; i++)
            add_point(&curves, &curves.point[p][i], curves.level[i], steps, table);
    }
    if (steps)
        doc_text(doc, "retention: throughput under the dose relative to none of it, by round; p99 "
                      "step: 99th percentile of step times, relative to the same");
    else
        doc_text(doc, "retention: %s (%s) under the dose relative to none of it, by round",
                 curves.what.metric, format_dims(result->arms[0].bench, &curves.what.dims));
}

static void sizing_add_point(const struct sizing_curves *curves, size_t i, struct doc_table *table)
{
    const struct knee_point *solo = &curves->solo[i], *many = &curves->all[i];
    doc_row(table, DOC_PLAIN);
    doc_cell(table, "%u", solo->cores);
    doc_si(table, solo->rate);
    doc_share(table, solo->rate / knee_best(curves->solo, curves->n));
    if (curves->workers == 1)
        return;
    doc_si(table, many->rate);
    doc_share(table, many->rate / knee_best(curves->all, curves->n));
    doc_si(table, isnan(many->rate) ? (double)NAN : curves->predicted[i]);
    if (isfinite(curves->error[i]))
        doc_cell(table, "%+.1f%%", 100 * curves->error[i]);
    else
        doc_cell(table, "-");
}

static void sizing_add_to_doc(const struct analysis *analysis, struct doc *doc)
{
    struct sizing_curves curves;
    const struct result *result = analysis->result;
    if (!sizing_read(analysis, &curves))
        return;
    doc_heading(doc, "sizing %s, %s, %u round%s", result->scenario,
                device_infos[result->device].title, result->rounds_done,
                result->rounds_done == 1 ? "" : "s");
    doc_text(doc, "%s of all workers, each with so many cores, as %s",
             bench_rate_unit(curves.arm->bench), placement_infos[curves.arm->placement].name);
    doc_gap(doc);
    struct doc_table *table = doc_table(doc);
    doc_column(table, DOC_LABEL, "cores");
    doc_columns(table, DOC_NUMBER, "one alone", "of best", NULL);
    if (curves.workers > 1) {
        doc_column(table, DOC_NUMBER, "%u workers", curves.workers);
        doc_columns(table, DOC_NUMBER, "of best", "predicted", "error", NULL);
    }
    for (size_t i = 0; i < curves.n; i++)
        sizing_add_point(&curves, i, table);
}

static void mix_add_arm(const struct analysis *analysis, size_t index,
                        const struct row *const *columns, size_t n, struct doc_table *table)
{
    const struct arm *arm = &analysis->result->arms[index];
    const struct arm_rounds *rounds = &analysis->rounds.arms[index];
    const bool ran = arm->plan.status == PLAN_OK && rounds->status <= STATUS_NOISY;
    doc_row(table, DOC_PLAIN);
    doc_cell(table, "%s%s", arm_name(arm), mix_is_pareto(analysis, index) ? "*" : "");
    if (!ran) {
        doc_put(table, table->n - 1, (unsigned)n + 2, rounds->reason);
        return;
    }
    doc_cell(table, "%s", arm->alone ? "" : str_fmt("%.2f", rounds->rate));
    for (size_t i = 0; i < n; i++) {
        const double value = rows_median(&analysis->rows, arm, columns[i]->metric);
        if (isnan(value))
            doc_cell(table, "%s", "");
        else if (!strcmp(columns[i]->unit, "ratio"))
            doc_share(table, value);
        else
            doc_si(table, value);
    }
}

static void mix_add_to_doc(const struct analysis *analysis, struct doc *doc)
{
    enum { MOST = 12 };
    const struct result *result = analysis->result;
    const struct rows *rows = &analysis->rows;
    const struct row *columns[MOST];
    size_t n = 0, any = 0;
    while (any + 1 < result->narms &&
           (result->arms[any].alone || analysis->rounds.arms[any].status > STATUS_NOISY))
        any++;
    for (size_t i = 0; i < rows->n && n < MOST; i++) {
        const struct row *row = &rows->row[i];
        const struct bench_metric *metric = bench_metric_find(row->arm->bench, row->metric);
        if (row->arm == &result->arms[any] && metric && !metric->hidden)
            columns[n++] = row;
    }
    doc_heading(doc, "jobs, %u round%s", result->rounds_done, result->rounds_done == 1 ? "" : "s");
    doc_gap(doc);
    struct doc_table *table = doc_table(doc);
    doc_column(table, DOC_LABEL, "cores");
    doc_column(table, DOC_NUMBER, "sum");
    for (size_t i = 0; i < n; i++)
        doc_column(table, DOC_NUMBER, "%s", columns[i]->metric);
    doc_column(table, DOC_SENTENCE, "why not");
    for (size_t i = 0; i < result->narms; i++)
        if (!result->arms[i].is_control)
            mix_add_arm(analysis, i, columns, n, table);
    doc_text(doc,
             "kept: rate relative to the job alone, by round; sum of these: weighted speed-up; "
             "fairness: their harmonic mean; *: no other keeps more of one job and as much of "
             "each");
}

static void predict_add_cell(const struct predict_cell *cell, double one, bool verified,
                             struct doc_table *table)
{
    doc_row(table, DOC_PLAIN);
    doc_cell(table, "%u", cell->arm->planned_workers);
    doc_cell(table, "%s", placement_infos[cell->arm->placement].name);
    if (isnan(cell->rate)) {
        doc_put(table, table->n - 1, verified ? 6 : 5, "unknown: two workers gave no rate");
        return;
    }
    doc_cell(table, "%s%s", cell->is_bound ? "<= " : "", units_si(cell->rate));
    if (cell->is_profile || cell->is_bound)
        doc_cell(table, "%s", cell->is_profile ? "measured" : "at most");
    else
        doc_cell(table, "%s to %s", units_si(cell->low), units_si(cell->high));
    if (!verified)
        doc_cell(table, "%s%s", cell->is_bound ? "<= " : "", advice_format_ratio(cell->rate / one));
    doc_cell(table, "%s", predict_limit_name(cell->limit));
    if (!verified)
        return;
    if (cell->is_profile || isnan(cell->measured)) {
        doc_cell(table, "%s", "");
        doc_cell(table, "%s", "");
        return;
    }
    doc_si(table, cell->measured);
    doc_cell(table, "%s",
             cell->is_bound ? cell->measured <= cell->rate ? "holds" : "broken"
                            : str_fmt("%+.1f%%", 100 * cell->error));
}

static void predict_add_to_doc(const struct analysis *analysis, struct doc *doc)
{
    struct prediction prediction;
    const struct result *result = analysis->result;
    if (!predict_read(analysis, &prediction))
        return;
    const bool verified = prediction.verified || prediction.bounds;
    doc_heading(doc, "predicted %s, %s, from one and two workers", result->scenario,
                device_infos[result->device].title);
    doc_text(doc, "%s of all workers together%s", bench_rate_unit(result->arms[0].bench),
             verified ? "" : "; of one: relative to one worker with all CPUs");
    doc_gap(doc);
    struct doc_table *table = doc_table(doc);
    doc_columns(table, DOC_LABEL, "workers", "placement", NULL);
    doc_columns(table, DOC_NUMBER, "predicted", "90%", verified ? NULL : "of one", NULL);
    doc_column(table, DOC_LABEL, "limited by");
    if (verified)
        doc_columns(table, DOC_NUMBER, "measured", "error", NULL);
    for (size_t i = 0; i < prediction.n; i++)
        predict_add_cell(&prediction.cell[i], prediction.one, verified, table);
}

void result_add_tables(const struct recorded *recorded, struct doc *doc)
{
    if (recorded->result.purpose == PURPOSE_TUNE)
        tune_add_to_doc(&recorded->analysis, doc);
    else if (recorded->result.purpose == PURPOSE_SIZING)
        sizing_add_to_doc(&recorded->analysis, doc);
    else if (recorded->result.purpose == PURPOSE_DOSE)
        dosing_add_to_doc(&recorded->analysis, doc);
    else if (recorded->result.purpose == PURPOSE_MIX)
        mix_add_to_doc(&recorded->analysis, doc);
    else if (recorded->result.purpose == PURPOSE_PREDICT)
        predict_add_to_doc(&recorded->analysis, doc);
    else
        run_add_to_doc(&recorded->analysis, doc);
}

void result_add_to_doc(const struct recorded *recorded, struct doc *doc)
{
    doc_findings(doc, &recorded->findings, DOC_LEADING);
    if (recorded->comparisons.n)
        comparisons_add_to_doc(&recorded->comparisons, doc);
    else
        result_add_tables(recorded, doc);
    doc_findings(doc, &recorded->findings, DOC_REST);
}

void result_add_source(const struct recorded *recorded, const char *path, struct doc *doc)
{
    const char *commit = recorded->commit;
    doc_gap(doc);
    doc_text(doc, "Results: %s", path);
    if (recorded->version)
        doc_text(doc, "Measured by contend %s%s%s%s", recorded->version, commit ? " (commit " : "",
                 commit ? commit : "", commit ? ")" : "");
}

void result_print_markdown(const struct recorded *recorded, const char *path, FILE *out)
{
    struct doc doc = {0};
    (void)fputs("### contend: ", out);
    escape_markdown(recorded->result.scenario, out);
    (void)fputc('\n', out);
    result_add_to_doc(recorded, &doc);
    result_add_source(recorded, path, &doc);
    doc_print_markdown(&doc, out);
    doc_free(&doc);
}

enum { SHOWN = 24 }; /* the best of the search */

static struct doc_table *begin(const struct analysis *analysis, const struct tune_line *line,
                               struct doc *doc)
{
    struct doc_table *table;
    doc_gap(doc);
    table = doc_table(doc);
    doc_column(table, DOC_LABEL, "%s", line->fresh ? "fresh rounds" : "search");
    doc_columns(table, DOC_NUMBER, "threads", "rounds", NULL);
    doc_column(table, DOC_NUMBER, "%s", bench_rate_unit(analysis->result->arms[line->arm].bench));
    doc_column(table, DOC_NUMBER, "%s", line->fresh ? "speed-up" : "of best");
    if (line->fresh)
        doc_column(table, DOC_NUMBER, "interval");
    doc_column(table, DOC_SENTENCE, "why not");
    return table;
}

/* Adds the gain and "13-17x" for fresh rounds, a share of the best for the search. */
static void add_ratio(const struct tune_line *line, struct doc_table *table)
{
    const struct evidence *against = &line->against;
    if (!line->fresh) {
        doc_share(table, against->ratio);
        return;
    }
    doc_cell(table, "%s", line->is_reference ? "1x" : advice_format_ratio(against->ratio));
    if (line->is_reference || isnan(against->low)) {
        doc_cell(table, "%s", "");
        return;
    }
    const char *low = advice_format_ratio(against->low);
    doc_cell(table, "%.*s-%s", (int)strlen(low) - 1, low, advice_format_ratio(against->high));
}

static void add_line(const struct analysis *analysis, const struct tune_line *line,
                     struct doc_table *table)
{
    const struct arm *arm = &analysis->result->arms[line->arm];
    doc_row(table, line->recommended ? DOC_GOOD : DOC_PLAIN);
    doc_cell(table, "%s%s", arm_name(arm), line->recommended ? "*" : "");
    if (arm->plan.status != PLAN_OK) {
        doc_put(table, table->n - 1, line->fresh ? 6 : 5, arm->plan.reason);
        return;
    }
    doc_cell(table, "%u", arm->plan.workers[0].threads);
    doc_cell(table, "%zu", analysis->rounds.arms[line->arm].n);
    doc_si(table, line->rate);
    add_ratio(line, table);
}

void tune_add_to_doc(const struct analysis *analysis, struct doc *doc)
{
    struct tune_lines lines;
    struct doc_table *table = NULL;
    const struct result *result = analysis->result;
    size_t searched = 0;
    bool starred = false;
    doc_heading(doc, "tune %s, %s, %u round%s", result->scenario,
                device_infos[result->device].title, result->rounds_done,
                result->rounds_done == 1 ? "" : "s");
    doc->failed = tune_lines_make(analysis, &lines, NULL) || doc->failed;
    while (searched < lines.n && !lines.all[searched].fresh)
        searched++;
    size_t first = searched > SHOWN ? searched - SHOWN : 0;
    for (size_t i = first; i < lines.n && !doc->failed; i++) {
        if (i == first && i < searched && searched < lines.n)
            doc_fold(doc, "The search");
        if (i == searched && searched)
            doc_unfold(doc);
        if (i == first && first)
            doc_text(doc, "%zu slower ones are in rows.csv", first);
        if (i == first || i == searched)
            table = begin(analysis, &lines.all[i], doc);
        add_line(analysis, &lines.all[i], table);
        starred = starred || lines.all[i].recommended;
    }
    if (starred)
        doc_text(doc, "speed-up: throughput relative to none, paired by round; *: recommended");
    tune_lines_free(&lines);
}

void collection_add_to_doc(const struct collection *collection, struct doc *doc)
{
    doc_heading(doc, "%s", collection_format(collection));
    doc_gap(doc);
    struct doc_table *table = doc_table(doc);
    doc_column(table, DOC_CODE, "scenario");
    doc_columns(table, DOC_LABEL, "ended", "rounds", NULL);
    doc_column(table, DOC_SENTENCE, "what it says");
    for (size_t i = 0; i < collection->n; i++) {
        const struct collected *one = &collection->all[i];
        doc_row(table, DOC_PLAIN);
        doc_cell(table, "%s", one->scenario);
        doc_cell(table, "%s", collected_name(one->end));
        doc_cell(table, "%s", collected_format(one));
        doc_cell(table, "%s", one->sentence);
    }
}

void collection_print(const struct collection *collection, FILE *out, bool color)
{
    struct doc doc = {0};
    collection_add_to_doc(collection, &doc);
    doc_print(&doc, out, color, false);
    doc_free(&doc);
}

/* "41x", "0.39x", "-" for NaN. */
static const char *times(double ratio)
{
    if (isnan(ratio))
        return "-";
    return str_fmt(ratio >= 9.95 ? "%.0fx" : "%.2gx", ratio);
}

static const char *range(double low, double high)
{
    if (isnan(low) || isnan(high))
        return "-";
    return str_fmt("%s to %s", times(low), times(high));
}

static const char *doctor_word(const struct incident_outcome *one)
{
    const struct incident_doctor *doctor = &one->doctor;
    if (!one->incident->doctor)
        return "no check";
    if (!doctor->was_run)
        return "-";
    if (!one->incident->doctor[0])
        return doctor->found_expected ? "silent" : "WRONG";
    return doctor->found_expected ? "names it" : "misses it";
}

static void add_row(const struct incident_outcome *one, struct doc_table *table)
{
    double reported = incident_reported(one->incident);
    doc_row(table, DOC_PLAIN);
    doc_cell(table, "%s", one->incident->scenario.name);
    doc_cell(table, "%s", incident_end_name(one->end));
    doc_tone(table, one->end == INCIDENT_SHOWN                                ? DOC_GOOD
                    : one->end == INCIDENT_NOT || one->end == INCIDENT_FAILED ? DOC_BAD
                                                                              : DOC_PLAIN);
    doc_cell(table, "%s", times(reported));
    doc_cell(table, "%s", times(one->speed_up));
    doc_cell(table, "%s", range(one->low, one->high));
    doc_cell(table, "%s", doctor_word(one));
    doc_cell(table, "%s", times(one->doctor.gain));
    doc_cell(table, "%s", one->end == INCIDENT_SHOWN ? "" : one->reason);
}

static void add_table(const struct incident_outcome *all, size_t n, struct doc *doc)
{
    struct doc_table *table = doc_table(doc);
    doc_column(table, DOC_CODE, "incident");
    doc_column(table, DOC_LABEL, "ended");
    doc_columns(table, DOC_NUMBER, "reported", "here", "interval", NULL);
    doc_column(table, DOC_LABEL, "doctor");
    doc_column(table, DOC_NUMBER, "its fix");
    doc_column(table, DOC_SENTENCE, "why");
    for (size_t i = 0; i < n; i++)
        add_row(&all[i], table);
}

static void add_reported(const struct incident *incident, struct doc *doc)
{
    const struct incident_report *reported = &incident->reported;
    const char *figures = str_fmt("%s", reported->figures ? reported->figures : "");
    if (!reported->figures && reported->what)
        figures = str_fmt("%s -> %s %s, %s", units_plain(reported->before, 4),
                          units_plain(reported->after, 4), reported->what,
                          times(incident_reported(incident)));
    doc_gap(doc);
    doc_text(doc, "Reported: %s; %s.", figures, reported->machine);
    doc_text(doc, "%s%s%s", reported->url, reported->date ? ", " : "",
             reported->date ? reported->date : "");
    doc_text(doc, "Here: %s.", incident->differs);
}

static void add_here(const struct incident_outcome *one, struct doc *doc)
{
    const struct incident *incident = one->incident;
    if (!isnan(one->before))
        doc_text(doc, "%s: %s -> %s %s, %u paired rounds.", incident->metric,
                 number_format(one->before, one->unit, false),
                 number_format(one->after, one->unit, false), number_unit(one->unit), one->rounds);
    if (incident->witness && !isnan(one->witness[0]))
        doc_text(doc, "%s: %s -> %s %s.", incident->witness,
                 number_format(one->witness[0], one->witness_unit, false),
                 number_format(one->witness[1], one->witness_unit, false),
                 number_unit(one->witness_unit));
}

static void add_doctor(const struct incident_outcome *one, struct doc *doc)
{
    const struct incident_doctor *doctor = &one->doctor;
    if (!doctor->was_run) {
        if (doctor->reason[0])
            doc_text(doc, "doctor: %s.", doctor->reason);
        return;
    }
    if (!one->incident->doctor[0])
        doc_text(doc,
                 doctor->found_expected ? "doctor advises nothing here, as it should."
                                        : "doctor advises a fix here, which it should not: %s.",
                 doctor->id);
    else
        doc_text(doc, "doctor %s%s%s.", doctor_word(one), doctor->id[0] ? ": " : "", doctor->id);
    if (doctor->evidence[0])
        doc_text(doc, "It sees: %s.", doctor->evidence);
    if (doctor->fix[0])
        doc_text(doc, "Its fix: %s: %s (%s)%s.", doctor->fix, times(doctor->gain),
                 range(doctor->low, doctor->high),
                 doctor->gain_is_proven ? "" : ", not proven in so few starts");
    else if (doctor->reason[0])
        doc_text(doc, "%s.", doctor->reason);
}

static void add_verdict(const struct incident_outcome *one, struct doc *doc)
{
    const struct incident *incident = one->incident;
    enum finding_severity severity = one->end == INCIDENT_NOT || one->end == INCIDENT_FAILED
                                         ? FINDING_BAD
                                     : one->end == INCIDENT_SHOWN ? FINDING_NOTE
                                                                  : FINDING_DOUBT;
    if (one->end == INCIDENT_SHOWN && incident->harms)
        doc_verdict(doc, severity, NULL, "reproduced: that cure slows to %s here (%s); %s.",
                    times(one->speed_up), range(one->low, one->high), incident->cure);
    else if (one->end == INCIDENT_SHOWN)
        doc_verdict(doc, severity, NULL, "reproduced and cured: %s is %s as fast (%s).",
                    incident->cure, times(one->speed_up), range(one->low, one->high));
    else if (one->end == INCIDENT_NOT)
        doc_verdict(doc, severity, NULL, "not reproduced: %s is %s as fast here (%s).",
                    incident->cure, times(one->speed_up), range(one->low, one->high));
    else
        doc_verdict(doc, severity, NULL, "%s: %s", incident_end_name(one->end), one->reason);
}

void incidents_add_to_doc(const struct incident_outcome *all, size_t n, struct doc *doc)
{
    size_t shown = incidents_count(all, n, INCIDENT_SHOWN),
           none = incidents_count(all, n, INCIDENT_NOT),
           skipped = incidents_count(all, n, INCIDENT_SKIPPED);
    if (n == 1)
        add_verdict(all, doc);
    else
        doc_verdict(doc, none ? FINDING_BAD : FINDING_NOTE, NULL,
                    "%zu of %zu incidents reproduced and cured, %zu not reproduced, %zu skipped, "
                    "%zu unclear, %zu failed",
                    shown, n, none, skipped, incidents_count(all, n, INCIDENT_UNCLEAR),
                    incidents_count(all, n, INCIDENT_FAILED));
    if (n > 1) {
        doc_gap(doc);
        add_table(all, n, doc);
        doc_note(doc, "reported, here: speed-up by the cure; its fix: speed-up by what doctor "
                      "advises");
        return;
    }
    add_reported(all->incident, doc);
    add_here(all, doc);
    add_doctor(all, doc);
}
