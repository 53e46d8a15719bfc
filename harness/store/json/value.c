#include "harness/store/json/value.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/lib/base/text.h"

json_t *json_value_text(const char *text)
{
    if (!text)
        return json_null();
    char *clean = strdup(text);
    if (!clean)
        return NULL;
    for (char *at = clean; *at;) {
        size_t length = text_utf8_length(at);
        if (!length)
            *at = '?';
        at += length ? length : 1;
    }
    json_t *value = json_string(clean);
    free(clean);
    return value;
}

json_t *json_value_text_or_null(const char *text)
{
    return json_value_text(text && text[0] ? text : NULL);
}

json_t *json_value_real(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

int json_value_print(json_t *json, int indent, struct err *err)
{
    if (!json)
        return err_set(err, -ENOMEM, "no memory for JSON");
    bool failed = json_dumpf(json, stdout, JSON_INDENT((size_t)indent)) || putchar('\n') == EOF;
    json_decref(json);
    return failed ? err_set(err, -EIO, "cannot write JSON to stdout") : 0;
}

double json_value_number_of(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    return json_is_number(value) ? json_number_value(value) : (double)NAN;
}

void json_value_copy_text(const json_t *object, const char *key, char *to, size_t size)
{
    const char *text = json_string_value(json_object_get(object, key));
    (void)snprintf(to, size, "%s", text ? text : "");
}

static void make_one_line(json_t *text)
{
    char *copy = strdup(json_string_value(text));
    if (copy)
        (void)json_string_set(text, text_one_line(copy));
    else
        (void)json_string_set(text, "");
    free(copy);
}

json_t *json_value_one_line(json_t *json)
{
    const char *name;
    json_t *value;
    size_t i;
    if (json_is_string(json))
        make_one_line(json);
    json_object_foreach(json, name, value)(void) json_value_one_line(value);
    json_array_foreach(json, i, value)(void) json_value_one_line(value);
    return json;
}
