#include "harness/show/json/rows.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/record/json_value.h"
#include "harness/record/metric.h"
#include "harness/verdict/advice.h"

/* The number that rows.csv has. */
static json_t *from_number(double number)
{
    char text[32];
    (void)snprintf(text, sizeof(text), "%.9g", number);
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

static json_t *row_to_json(const void *of, size_t i)
{
    const struct analysis *analysis = of;
    const struct row *row = &analysis->rows.row[i];
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
    return json_value_array(analysis, analysis->rows.n, row_to_json);
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
