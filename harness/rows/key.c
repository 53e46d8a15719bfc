#include "harness/rows/key.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const struct row *key_next_row(const struct rows *rows, const struct arm *arm, const char *metric,
                               size_t *at)
{
    while (*at < rows->n) {
        const struct row *row = &rows->row[(*at)++];
        if (row->arm == arm && !isnan(row->median) && strcmp(row->metric, metric) == 0)
            return row;
    }
    return NULL;
}

char *key_copy(const struct row *row, char key[static VALUE_KEY_MAX])
{
    (void)snprintf(key, VALUE_KEY_MAX, "%.*s", (int)row->key_length, row->params + row->key_at);
    return key;
}

bool key_part(const char *key, unsigned part, char name[static VALUE_KEY_MAX],
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

bool key_has(const char *key, const char *name)
{
    size_t length = strlen(name);
    for (const char *at = key; at && *at; at = strchr(at, ';'), at += at != NULL)
        if (strncmp(at, name, length) == 0 && at[length] == '=')
            return true;
    return false;
}

char *key_get(const char *key, const char *name, char value[static VALUE_KEY_MAX])
{
    char own[VALUE_KEY_MAX];
    for (unsigned part = 0; key_part(key, part, own, value); part++)
        if (strcmp(own, name) == 0)
            return value;
    return NULL;
}

double key_number(const char *key, const char *name)
{
    char value[VALUE_KEY_MAX], *end;
    if (!key_get(key, name, value))
        return NAN;
    double number = strtod(value, &end);
    return *end || end == value ? (double)NAN : number;
}

void key_drop(char *key, const char *name)
{
    size_t length = strlen(name);
    for (char *at = key; *at;) {
        size_t part = strcspn(at, ";");
        bool drop = strcspn(at, "=;") == length && strncmp(at, name, length) == 0;
        if (!drop)
            at += part + (at[part] != '\0');
        else if (at[part])
            memmove(at, at + part + 1, strlen(at + part + 1) + 1);
        else {
            *(at > key ? at - 1 : at) = '\0'; /* with the separator before it */
            return;
        }
    }
}

bool key_agrees(const char *key, const char *pattern)
{
    char name[VALUE_KEY_MAX], value[VALUE_KEY_MAX], own[VALUE_KEY_MAX];
    for (unsigned part = 0; pattern && key_part(pattern, part, name, value); part++)
        if (key_get(key, name, own) && strcmp(own, value) != 0)
            return false;
    return true;
}

char *key_shown(const struct row *row, char key[static VALUE_KEY_MAX])
{
    const struct bench_metric *metric = bench_metric_find(row->arm->bench, row->metric);
    char rest[VALUE_KEY_MAX], *at = NULL;
    (void)key_copy(row, key);
    if (metric && metric->hidden)
        at = strstr(key, metric->hidden);
    if (at) {
        (void)snprintf(rest, sizeof(rest), "%s", at + strlen(metric->hidden));
        (void)snprintf(at, VALUE_KEY_MAX - (size_t)(at - key), "%s%s", metric->shown, rest);
    }
    return key;
}

static const struct bench_saying *find_saying(const struct bench *bench, const char *name,
                                              const char *value)
{
    for (const struct bench_saying *saying = bench->sayings; saying && saying->part; saying++)
        if (!strcmp(saying->part, name) && (!saying->value || !strcmp(saying->value, value)))
            return saying;
    return NULL;
}

/* Appends to text that is cut where the buffer ends. */
__attribute__((format(printf, 3, 4))) static void append(char *buf, size_t size, const char *fmt,
                                                         ...)
{
    size_t used = strlen(buf);
    va_list args;
    va_start(args, fmt);
    if (used && used + 2 < size)
        used += (size_t)snprintf(buf + used, size - used, ", ");
    if (used < size)
        (void)vsnprintf(buf + used, size - used, fmt, args);
    va_end(args);
}

static bool has_other_placement(const struct result *result, const struct arm *arm)
{
    for (size_t i = 0; i < result->narms; i++)
        if (result->arms[i].bench == arm->bench && result->arms[i].params == arm->params &&
            result->arms[i].placement != arm->placement)
            return true;
    return false;
}

static bool has_other_slots(const struct result *result, const struct arm *arm)
{
    for (size_t i = 0; i < result->narms; i++)
        if (result->arms[i].bench == arm->bench && result->arms[i].slots != arm->slots)
            return true;
    return false;
}

static void append_params(const struct result *result, const struct arm *arm, const char *key,
                          char *buf, size_t size)
{
    char value[VALUE_KEY_MAX];
    for (const struct opt *opt = arm->bench->opts; opt && opt->name; opt++)
        if (!key_has(key, opt->name) && arm_option_differs(result, arm, opt))
            append(buf, size, "%s %s", opt->name,
                   opt_format_value(opt, arm->params, value, sizeof(value)));
}

static void append_placement(const struct result *result, const struct arm *arm, char *buf,
                             size_t size)
{
    if (arm->alone)
        append(buf, size, "%s", bench_is_team(arm->bench) ? "without load" : "alone");
    else if (has_other_placement(result, arm) || arm_background(arm))
        append(buf, size, "%s", placement_infos[arm->placement].name);
    if (arm->variant)
        append(buf, size, "variant %s", arm->variant->name);
}

char *key_say(const struct bench *bench, const char *key, char *buf, size_t size)
{
    char name[VALUE_KEY_MAX], value[VALUE_KEY_MAX];
    buf[0] = '\0';
    for (unsigned part = 0; key_part(key, part, name, value); part++) {
        const struct bench_saying *saying = find_saying(bench, name, value);
        if (saying && saying->value)
            append(buf, size, "%s", saying->text);
        else
            append(buf, size, "%s %s", saying ? value : name, saying ? saying->text : value);
    }
    return buf;
}

char *key_say_arm(const struct result *result, const struct arm *arm, const char *key, char *buf,
                  size_t size)
{
    (void)key_say(arm->bench, key, buf, size);
    append_params(result, arm, key, buf, size);
    append_placement(result, arm, buf, size);
    return buf;
}

char *key_say_params(const struct result *result, const struct arm *arm, char *buf, size_t size)
{
    buf[0] = '\0';
    append_params(result, arm, "", buf, size);
    return buf;
}

char *key_say_part(const struct result *result, const struct arm *arm, const char *key, char *buf,
                   size_t size)
{
    buf[0] = '\0';
    append_params(result, arm, key, buf, size);
    if (has_other_slots(result, arm))
        append(buf, size, "%u worker%s", arm->slots, arm->slots == 1 ? "" : "s");
    return buf;
}

char *key_say_in_part(const struct result *result, const struct arm *arm, const char *key,
                      char *buf, size_t size)
{
    (void)key_say(arm->bench, key, buf, size);
    append_placement(result, arm, buf, size);
    return buf;
}

const struct row *key_find_row(const struct rows *rows, const struct arm *arm, const char *metric,
                               const char *key)
{
    size_t at = 0;
    char own[VALUE_KEY_MAX];
    for (const struct row *row; (row = key_next_row(rows, arm, metric, &at));)
        if (strcmp(key_copy(row, own), key) == 0)
            return row;
    return NULL;
}
