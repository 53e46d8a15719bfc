#include "harness/json/value.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Length of the well-formed UTF-8 sequence at `at` (RFC 3629), or 0. */
static size_t utf8_length(const unsigned char *at)
{
    if (at[0] < 0x80)
        return 1;
    size_t length = at[0] >= 0xf0 ? 4 : at[0] >= 0xe0 ? 3 : 2;
    if (at[0] < 0xc2 || at[0] > 0xf4)
        return 0;
    for (size_t i = 1; i < length; i++)
        if ((at[i] & 0xc0) != 0x80)
            return 0;
    bool overlong = (at[0] == 0xe0 && at[1] < 0xa0) || (at[0] == 0xf0 && at[1] < 0x90);
    bool surrogate = at[0] == 0xed && at[1] > 0x9f;
    bool too_large = at[0] == 0xf4 && at[1] > 0x8f;
    return overlong || surrogate || too_large ? 0 : length;
}

json_t *json_value_text(const char *text)
{
    if (!text)
        return json_null();
    char *clean = strdup(text);
    if (!clean)
        return NULL;
    for (char *at = clean; *at;) {
        size_t length = utf8_length((const unsigned char *)at);
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
