#include "harness/json/rows.h"

#include "harness/json/value.h"

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

static json_t *row_to_json(const struct row *row)
{
    json_t *object = json_object();
    for (const struct row_column *column = row_columns; object && column->name; column++)
        if (json_object_set_new(object, column->name, cell_to_json(row, column))) {
            json_decref(object);
            return NULL;
        }
    return object;
}

json_t *rows_to_json(const struct rows *rows)
{
    json_t *array = json_array();
    for (size_t i = 0; array && i < rows->n; i++)
        if (json_array_append_new(array, row_to_json(&rows->row[i]))) {
            json_decref(array);
            return NULL;
        }
    return array;
}
