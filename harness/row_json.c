#include "harness/row_json.h"

#include <math.h>

/* Text from drivers and the kernel may have been cut inside a character; JSON must be UTF-8. */
static json_t *text_to_json(const char *text)
{
    json_t *json = json_string(text);
    if (json)
        return json;
    char ascii[sizeof(((struct row *)NULL)->params)];
    size_t n = 0;
    for (; text[n] && n + 1 < sizeof(ascii); n++)
        ascii[n] = (unsigned char)text[n] < 0x80 ? text[n] : '?';
    ascii[n] = '\0';
    return json_string(ascii);
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
        return isfinite(*(const double *)field) ? json_real(*(const double *)field) : json_null();
    case ROW_CHARS:
    case ROW_TEXT:
    case ROW_STATUS:
        break;
    }
    return text_to_json(row_text(row, column));
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
