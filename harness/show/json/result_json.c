#include "harness/show/json/result_json.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/lib/text.h"
#include "harness/record/json_value.h"
#include "harness/record/metric.h"
#include "harness/verdict/advice.h"

static json_t *to_json(const struct comparison *one)
{
    return json_value_object(
        "base:t other:t arm:t params:t metric:t unit:t better:t base_median:r other_median:r "
        "ratio:r low:r high:r level:r base_runs:i other_runs:i pairs:z outcome:t gates:b reason:t",
        one->base, one->other, one->arm, one->params, one->metric, one->unit, one->better,
        one->evidence.base, one->evidence.other, one->evidence.ratio, one->evidence.low,
        one->evidence.high, one->evidence.level, one->base_runs, one->other_runs,
        one->evidence.rounds, finding_outcome_name(one->evidence.outcome), one->gating,
        one->reason);
}

json_t *comparisons_to_json(const struct comparisons *comparisons)
{
    return JSON_ARRAY(each, comparisons->all, comparisons->n, to_json(each));
}

static struct comparison from_json(const json_t *object)
{
    struct comparison one = {
        .evidence.base = json_value_number_of(object, "base_median"),
        .evidence.other = json_value_number_of(object, "other_median"),
        .evidence.ratio = json_value_number_of(object, "ratio"),
        .evidence.low = json_value_number_of(object, "low"),
        .evidence.high = json_value_number_of(object, "high"),
        .evidence.level = json_value_number_of(object, "level"),
        .base_runs = json_value_count_of(object, "base_runs"),
        .other_runs = json_value_count_of(object, "other_runs"),
        .evidence.rounds = json_value_count_of(object, "pairs"),
        .evidence.outcome = finding_outcome_find(json_value_text_of(object, "outcome")),
        .gating = json_is_true(json_object_get(object, "gates")),
    };
    text_set(one.base, "%s", json_value_copy_text(object, "base"));
    text_set(one.other, "%s", json_value_copy_text(object, "other"));
    text_set(one.arm, "%s", json_value_copy_text(object, "arm"));
    text_set(one.params, "%s", json_value_copy_text(object, "params"));
    text_set(one.metric, "%s", json_value_copy_text(object, "metric"));
    text_set(one.unit, "%s", json_value_copy_text(object, "unit"));
    text_set(one.better, "%s", json_value_copy_text(object, "better"));
    text_set(one.reason, "%s", json_value_copy_text(object, "reason"));
    return one;
}

int comparisons_from_json(const json_t *json, struct comparisons *comparisons, struct err *err)
{
    int rc = 0;
    *comparisons = (struct comparisons){0};
    for (size_t i = 0; i < json_array_size(json) && !rc; i++) {
        struct comparison one = from_json(json_array_get(json, i));
        rc = comparisons_add(comparisons, &one, err);
    }
    return rc;
}

static json_t *texts_to_json(const struct opt_texts *texts)
{
    return JSON_ARRAY(text, texts->text, texts->n, json_value_text(*text));
}

/* NULL, so null, if it sets nothing. */
static json_t *from_priority(const struct cpu_priority *priority)
{
    const bool any = priority->nice || priority->weight || priority->policy;
    return any ? json_value_object("nice:i weight:i sched:t", (int)priority->nice,
                                   (int)priority->weight, cpu_policy_names[priority->policy])
               : json_null();
}

static json_t *from_variant(const struct variant *variant, const struct variant_state *state)
{
    return json_value_object(
        "name:t env:o params:o placement:t threads:n cpu_max:r priority:o background_priority:o "
        "before:t after:t check:t build:t read_back:o",
        variant->name, texts_to_json(&variant->env), texts_to_json(&variant->params),
        variant->placement, variant->plan.threads ? (int)variant->plan.threads : -1,
        variant->cpu_max > 0 ? variant->cpu_max : (double)NAN, from_priority(&variant->priority[0]),
        from_priority(&variant->priority[1]), variant->before, variant->after, variant->check,
        variant->build,
        json_value_object("initial:T during:T final:T", state->initial, state->during,
                          state->final));
}

json_t *variants_to_json(const struct variants *variants)
{
    return JSON_ARRAY(each, variants->all, variants->n,
                      from_variant(each, &variants->state[each - variants->all]));
}

/* The number that rows.csv has. */
static json_t *from_number(double number)
{
    char text[32];
    text_set(text, "%.9g", number);
    return json_value_real(strtod(text, NULL));
}

static json_t *cell_to_json(const struct row *row, const struct row_column *column)
{
    const void *field = (const char *)row + column->offset;
    switch (column->kind) {
    case ROW_UNSIGNED:
        return json_integer(*(const unsigned *)field);
    case ROW_SIZE:
        return json_integer((json_int_t) * (const size_t *)field);
    case ROW_DOUBLE:
        return from_number(*(const double *)field);
    case ROW_CHARS:
    case ROW_TEXT:
    case ROW_STATUS:
        break;
    }
    return json_value_text(row_text(row, column));
}

static json_t *row_to_json(const struct analysis *analysis, const struct row *row)
{
    json_t *object = json_object();
    int failed = !object;
    for (const struct row_column *column = row_columns; !failed && column->name; column++)
        failed = json_object_set_new(object, column->name, cell_to_json(row, column));
    if (!strcmp(row->metric, METRIC_RATE) && !row->arm->is_baseline && !row->arm->is_control) {
        size_t arm = (size_t)(row->arm - analysis->result->arms);
        const struct recommendation recommendation = recommend_make(analysis, row->arm);
        const struct evidence gain = evidence_of_rates(analysis, recommendation.reference, arm);
        failed |= json_value_add(object, "recommended:b speed_up:r speed_up_low:r speed_up_high:r",
                                 recommendation.arm == (int)arm, gain.ratio, gain.low, gain.high);
    }
    if (!failed)
        return object;
    json_decref(object);
    return NULL;
}

json_t *rows_to_json(const struct analysis *analysis)
{
    return JSON_ARRAY(row, analysis->rows.row, analysis->rows.n, row_to_json(analysis, row));
}

static const char *command_of(const struct findings *findings)
{
    for (size_t i = 0; i < findings->n; i++)
        if (!strcmp(findings->all[i].id, "placement") || !strcmp(findings->all[i].id, "tune"))
            return findings->all[i].command;
    return "";
}

/* The first arm of the largest number of workers; -1 = there is none. */
static int first_arm(const struct analysis *analysis)
{
    const struct arm *arms = analysis->result->arms;
    int found = -1;
    for (size_t i = 0; i < analysis->result->narms; i++)
        if (recommend_is_first(analysis, i) &&
            (found < 0 || arms[i].planned_workers > arms[found].planned_workers))
            found = (int)i;
    return found;
}

json_t *recommended_to_json(const struct analysis *analysis, const struct findings *findings)
{
    const struct arm *arms = analysis->result ? analysis->result->arms : NULL;
    int first = arms ? first_arm(analysis) : -1;
    if (first < 0)
        return json_null();
    const struct recommendation recommendation = recommend_make(analysis, &arms[first]);
    if (recommendation.arm < 0)
        return json_null();
    const char *command = recommend_applies(&recommendation) ? command_of(findings) : "";
    const char *load =
        evidence_is_disturbed(&recommendation.gain) ? advice_format_load(&recommendation.gain) : "";
    return json_value_object("setting:t placement:t workers:i background_workers:i relative_to:t "
                             "speed_up:r low:r high:r rounds:z while:T "
                             "command:T",
                             arm_name(&arms[recommendation.arm]),
                             placement_infos[arms[recommendation.arm].placement].name,
                             arms[recommendation.arm].planned_workers,
                             arm_background(&arms[recommendation.arm]),
                             arm_name(&arms[recommendation.reference]), recommendation.gain.ratio,
                             recommendation.gain.low, recommendation.gain.high,
                             recommendation.gain.rounds, load, command);
}

static json_t *doctor_to_json(const struct incident_doctor *doctor)
{
    return json_value_object("looked:b named:b found:T evidence:T fix:T cured:b gain:r low:r "
                             "high:r reason:T",
                             doctor->was_run, doctor->found_expected, doctor->id, doctor->evidence,
                             doctor->fix, doctor->gain_is_proven, doctor->gain, doctor->low,
                             doctor->high, doctor->reason);
}

static json_t *one_to_json(const struct incident_outcome *one)
{
    const struct incident *incident = one->incident;
    const struct incident_report *reported = &incident->reported;
    return json_value_object(
        "incident:t symptom:t title:t url:t date:t reported:r end:t reason:T metric:t unit:T "
        "sick:r cured:r speed_up:r low:r high:r rounds:i witness:t witness_unit:T "
        "witness_sick:r witness_cured:r doctor:o took_s:r",
        incident->scenario.name, incident->scenario.summary, reported->title, reported->url,
        reported->date, incident_reported(incident), incident_end_name(one->end), one->reason,
        incident->metric, one->unit, one->before, one->after, one->speed_up, one->low, one->high,
        one->rounds, incident->witness, one->witness_unit, one->witness[0], one->witness[1],
        doctor_to_json(&one->doctor), one->took_s);
}

json_t *incidents_to_json(const struct incident_outcome *all, size_t n)
{
    return JSON_ARRAY(one, all, n, one_to_json(one));
}
