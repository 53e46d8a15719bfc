#include "harness/store/json/rows.h"

#include <math.h>
#include <string.h>

#include "harness/rows/metric.h"
#include "harness/store/json/value.h"
#include "harness/verdict/advice/recommend.h"

static json_t *cell_to_json(const struct row *row, const struct row_column *column)
{
    const void *field = (const char *)row + column->offset;
    switch (column->kind) {
    case ROW_UNSIGNED:
        return json_integer(*(const unsigned *)field);
    case ROW_SIZE:
        return json_integer((json_int_t) * (const size_t *)field);
    case ROW_DOUBLE:
        return json_value_real(*(const double *)field);
    case ROW_CHARS:
    case ROW_TEXT:
    case ROW_STATUS:
        break;
    }
    return json_value_text(row_text(row, column));
}

/* Of a throughput: whether its arm is recommended, and its gain. */
static int add_gain(const struct analysis *analysis, const struct row *row, json_t *object)
{
    size_t arm = (size_t)(row->arm - analysis->result->arms);
    const struct recommendation made = recommend_make(analysis, row->arm);
    const struct paired_ratio gain = analysis_ratio(analysis, made.reference, arm);
    json_t *added =
        json_pack("{s:b, s:o, s:o, s:o}", "recommended", made.arm == (int)arm, "speed_up",
                  json_value_real(gain.median), "speed_up_low", json_value_real(gain.low),
                  "speed_up_high", json_value_real(gain.high));
    int rc = json_object_update(object, added);
    json_decref(added);
    return rc;
}

static json_t *row_to_json(const struct analysis *analysis, const struct row *row)
{
    json_t *object = json_object();
    bool has_gain = !strcmp(row->metric, METRIC_RATE) && !row->arm->alone && !row->arm->canary;
    int failed = !object;
    for (const struct row_column *column = row_columns; !failed && column->name; column++)
        failed = json_object_set_new(object, column->name, cell_to_json(row, column));
    if (!failed && has_gain)
        failed = add_gain(analysis, row, object);
    if (!failed)
        return object;
    json_decref(object);
    return NULL;
}

json_t *rows_to_json(const struct analysis *analysis)
{
    json_t *array = json_array();
    const struct rows *rows = &analysis->rows;
    for (size_t i = 0; array && i < rows->n; i++)
        if (json_array_append_new(array, row_to_json(analysis, &rows->row[i]))) {
            json_decref(array);
            return NULL;
        }
    return array;
}
