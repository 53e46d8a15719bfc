#include "harness/store/forms/history.h"

#include "harness/store/json/findings.h"
#include "harness/store/json/value.h"

static json_t *runs_to_json(const struct history *history)
{
    json_t *runs = json_array();
    for (size_t i = 0; i < history->nruns; i++)
        (void)json_array_append_new(
            runs, json_pack("{s:o, s:o, s:o}", "started",
                            json_value_text_or_null(history->runs[i].started), "run_id",
                            json_value_text(history->runs[i].run_id), "commit",
                            json_value_text_or_null(history->runs[i].commit)));
    return runs;
}

static json_t *changes_to_json(const struct history_series *series)
{
    json_t *changes = json_array();
    for (size_t i = 0; i < series->changes.n; i++) {
        const struct change *change = &series->changes.change[i];
        (void)json_array_append_new(
            changes,
            json_pack("{s:i, s:o, s:o, s:o, s:o, s:o}", "run", (int)series->point[change->at].run,
                      "ratio", json_value_real(change->ratio), "low", json_value_real(change->low),
                      "high", json_value_real(change->high), "before",
                      json_value_real(change->before), "after", json_value_real(change->after)));
    }
    return changes;
}

static json_t *series_to_json(const struct history_series *series)
{
    json_t *runs = json_array(), *values = json_array();
    for (size_t i = 0; i < series->n; i++) {
        (void)json_array_append_new(runs, json_integer(series->point[i].run));
        (void)json_array_append_new(values, json_value_real(series->point[i].value));
    }
    const struct history_figure *figure = &series->figure;
    return json_pack(
        "{s:o, s:o, s:o, s:o, s:o, s:b, s:o, s:o, s:o}", "arm", json_value_text(figure->arm),
        "params", json_value_text(figure->params), "metric", json_value_text(figure->metric),
        "unit", json_value_text(figure->unit), "better", json_value_text(figure->better), "canary",
        figure->canary, "runs", runs, "values", values, "changes", changes_to_json(series));
}

json_t *history_to_json(const struct history *history, const char *machine,
                        const struct findings *findings)
{
    json_t *figures = json_array();
    for (size_t i = 0; i < history->nseries; i++)
        (void)json_array_append_new(figures, series_to_json(&history->series[i]));
    return json_pack("{s:o, s:o, s:o, s:o}", "machine", json_value_text_or_null(machine), "runs",
                     runs_to_json(history), "figures", figures, "findings",
                     findings_to_json(findings));
}
