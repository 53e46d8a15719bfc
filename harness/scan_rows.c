#include "harness/scan_rows.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Where the row's key begins if it is one of the arm's, else NULL. */
static const char *find_key(const struct row *row, const struct arm *arm)
{
    char params[sizeof(row->params)];
    if (strcmp(row->bench, arm->bench->name) != 0 || row->slots != arm->slots ||
        strcmp(row->placement, placement_infos[arm->placement].name) != 0)
        return NULL;
    (void)opts_format(arm->bench->opts, arm->params, params, sizeof(params));
    size_t length = strlen(params);
    if (strncmp(row->params, params, length) != 0)
        return NULL;
    if (length && row->params[length] != ';')
        return NULL;
    return row->params + length + (length ? 1 : 0);
}

const struct row *scan_next(const struct rows *rows, const struct arm *arm, const char *metric,
                            size_t *at)
{
    while (*at < rows->n) {
        const struct row *row = &rows->row[(*at)++];
        if (strcmp(row->metric, metric) == 0 && !isnan(row->median) && find_key(row, arm))
            return row;
    }
    return NULL;
}

const struct arm *scan_find_arm(const struct result *result, const struct rows *rows,
                                const char *metric)
{
    for (size_t i = 0; i < result->narms; i++) {
        size_t at = 0;
        if (result->arms[i].bench->scan && scan_next(rows, &result->arms[i], metric, &at))
            return &result->arms[i];
    }
    return NULL;
}

char *scan_key(const struct row *row, const struct arm *arm, char key[static VALUE_KEY_MAX])
{
    const char *begin = find_key(row, arm);
    const char *end = begin ? strstr(begin, "slots=") : NULL;
    int length = end > begin ? (int)(end - begin) - 1 : 0;
    (void)snprintf(key, VALUE_KEY_MAX, "%.*s", length, begin ? begin : "");
    return key;
}

bool scan_key_part(const char *key, unsigned part, char name[static VALUE_KEY_MAX],
                   char value[static VALUE_KEY_MAX])
{
    for (; part > 0 && key; part--) {
        key = strchr(key, ';');
        key = key ? key + 1 : NULL;
    }
    if (!key || !*key)
        return false;
    size_t length = strcspn(key, ";"), split = strcspn(key, "=;");
    (void)snprintf(name, VALUE_KEY_MAX, "%.*s", (int)split, key);
    size_t from = split < length ? split + 1 : length;
    (void)snprintf(value, VALUE_KEY_MAX, "%.*s", (int)(length - from), key + from);
    return true;
}

char *scan_key_get(const char *key, const char *name, char value[static VALUE_KEY_MAX])
{
    char own[VALUE_KEY_MAX];
    for (unsigned part = 0; scan_key_part(key, part, own, value); part++)
        if (strcmp(own, name) == 0)
            return value;
    return NULL;
}

double scan_key_number(const char *key, const char *name)
{
    char value[VALUE_KEY_MAX], *end;
    if (!scan_key_get(key, name, value))
        return NAN;
    double number = strtod(value, &end);
    return *end || end == value ? (double)NAN : number;
}

void scan_key_drop(char *key, const char *name)
{
    char own[VALUE_KEY_MAX], value[VALUE_KEY_MAX], rest[VALUE_KEY_MAX] = "";
    size_t used = 0;
    for (unsigned part = 0; scan_key_part(key, part, own, value); part++)
        if (strcmp(own, name) != 0 && used < sizeof(rest))
            used += (size_t)snprintf(rest + used, sizeof(rest) - used, "%s%s=%s", used ? ";" : "",
                                     own, value);
    memcpy(key, rest, sizeof(rest));
}
