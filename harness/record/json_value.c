#include "harness/record/json_value.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/lib/sys/file.h"
#include "harness/lib/text.h"

int json_value_replace(const json_t *json, size_t flags, int dir_fd, const char *name,
                       struct err *err)
{
    char *text = json ? json_dumps(json, flags) : NULL;
    int rc = text ? file_replace(dir_fd, name, text, strlen(text)) : -ENOMEM;
    free(text);
    return rc ? err_sys(err, rc, "cannot write %.80s", name) : 0;
}

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

json_t *bitset_to_json(const struct bitset *set)
{
    return json_string(bitset_format(set));
}

static json_t *from_known(int64_t value)
{
    return value < 0 ? json_null() : json_integer(value);
}

static json_t *from_argument(char kind, va_list *args)
{
    double number;
    int flag;
    switch (kind) {
    case 't':
        return json_value_text(va_arg(*args, const char *));
    case 'T':
        return json_value_text_or_null(va_arg(*args, const char *));
    case 'r':
        return json_value_real(va_arg(*args, double));
    case 'i':
        return json_integer(va_arg(*args, int));
    case 'z':
        return json_integer((json_int_t)va_arg(*args, size_t));
    case 'I':
        return json_integer(va_arg(*args, int64_t));
    case 'n':
        return from_known(va_arg(*args, int));
    case 'N':
        return from_known(va_arg(*args, int64_t));
    case 'f':
        flag = va_arg(*args, int);
        return flag < 0 ? json_null() : json_boolean(flag);
    case 'd':
        number = va_arg(*args, double);
        return isfinite(number) ? json_integer((json_int_t)number) : json_null();
    case 'F':
        number = va_arg(*args, double);
        return isnan(number) ? json_null() : json_boolean(number != 0);
    case 'b':
        return json_boolean(va_arg(*args, int));
    case 'c':
        return bitset_to_json(va_arg(*args, const struct bitset *));
    default:
        return va_arg(*args, json_t *);
    }
}

static int add_all(json_t *object, const char *keys, va_list *args)
{
    int failed = 0;
    while (*keys) {
        size_t length = strcspn(keys, ":");
        const char *key = str_fmt("%.*s", (int)length, keys);
        failed |= json_object_set_new(object, key, from_argument(keys[length + 1], args));
        keys += length + 2;
        keys += strspn(keys, " ");
    }
    return failed;
}

json_t *json_value_object(const char *keys, ...)
{
    json_t *object = json_object();
    va_list args;
    va_start(args, keys);
    int failed = add_all(object, keys, &args);
    va_end(args);
    if (!failed)
        return object;
    json_decref(object);
    return NULL;
}

int json_value_add(json_t *object, const char *keys, ...)
{
    va_list args;
    va_start(args, keys);
    int failed = add_all(object, keys, &args);
    va_end(args);
    return failed;
}

void json_value_append(json_t **array, json_t *item)
{
    if (!json_array_append_new(*array, item))
        return;
    json_decref(*array);
    *array = NULL;
}

const char *json_value_text_of(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text ? text : "";
}

unsigned json_value_count_of(const json_t *object, const char *key)
{
    json_int_t count = json_integer_value(json_object_get(object, key));
    return count < 0 || count > INT32_MAX ? 0 : (unsigned)count;
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

const char *json_value_copy_text(const json_t *object, const char *key)
{
    return str_fmt("%s", json_value_text_of(object, key));
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

static json_t *to_json(const struct finding *finding)
{
    json_t *object =
        json_value_object("id:t severity:t subject:T sentence:t evidence:T command:T", finding->id,
                          finding_severity_name(finding->severity), finding->subject,
                          finding->sentence, finding->evidence, finding->command);
    int failed = 0;
    if (finding->outcome != OUTCOME_NONE) /* only checks and comparisons have one */
        failed |=
            json_value_add(object, "outcome:t cause:T metric:T",
                           finding_outcome_name(finding->outcome), finding->cause, finding->metric);
    if (finding->outcome != OUTCOME_NONE && finding->metric[0])
        failed |= json_value_add(object, "unit:t value:r low:r high:r", finding->unit,
                                 finding->value, finding->low, finding->high);
    if (!failed)
        return object;
    json_decref(object);
    return NULL;
}

json_t *findings_to_json(const struct findings *findings)
{
    if (findings && findings->failed)
        return NULL;
    return JSON_ARRAY(each, findings->all, findings ? findings->n : 0, to_json(each));
}

/* False if no severity has that name. */
static bool find_severity(const char *name, enum finding_severity *severity)
{
    for (int i = 0; i < FINDING_SEVERITIES; i++)
        if (strcmp(finding_severity_name((enum finding_severity)i), name) == 0) {
            *severity = (enum finding_severity)i;
            return true;
        }
    return false;
}

void findings_from_json(const json_t *json, struct findings *findings)
{
    *findings = (struct findings){0};
    for (size_t i = 0; i < json_array_size(json); i++) {
        const json_t *object = json_array_get(json, i);
        struct finding finding = {0};
        if (!find_severity(json_value_text_of(object, "severity"), &finding.severity))
            continue;
        text_set(finding.id, "%s", json_value_copy_text(object, "id"));
        text_set(finding.subject, "%s", json_value_copy_text(object, "subject"));
        text_set(finding.sentence, "%s", json_value_copy_text(object, "sentence"));
        text_set(finding.evidence, "%s", json_value_copy_text(object, "evidence"));
        text_set(finding.command, "%s", json_value_copy_text(object, "command"));
        text_set(finding.cause, "%s", json_value_copy_text(object, "cause"));
        text_set(finding.metric, "%s", json_value_copy_text(object, "metric"));
        text_set(finding.unit, "%s", json_value_copy_text(object, "unit"));
        finding.outcome = finding_outcome_find(json_value_text_of(object, "outcome"));
        finding.value = json_value_number_of(object, "value");
        finding.low = json_value_number_of(object, "low");
        finding.high = json_value_number_of(object, "high");
        findings_put(findings, &finding);
    }
}

static void skip_space(struct json_walk *walk)
{
    while (walk->at < walk->end && (*walk->at == ' ' || *walk->at == '\n' || *walk->at == '\r' ||
                                    *walk->at == '\t' || *walk->at == ','))
        walk->at++;
}

/* The position after the string that begins at `at`; `end` if the string is cut off. */
static const char *end_of_string(const char *at, const char *end)
{
    for (at++; at < end && *at != '"'; at++)
        at += *at == '\\' && at + 1 < end;
    return at < end ? at + 1 : end;
}

static bool is_one_of(char c, const char *all)
{
    return c && strchr(all, c);
}

/* The position after the value that begins at `at`. */
static const char *end_of_value(const char *at, const char *end)
{
    size_t depth = 0;
    if (at < end && *at == '"')
        return end_of_string(at, end);
    while (at < end) {
        if (depth == 0 && is_one_of(*at, ",]} \n\r\t"))
            return at;
        if (*at == '"') {
            at = end_of_string(at, end);
            continue;
        }
        depth += is_one_of(*at, "{[");
        depth -= is_one_of(*at, "}]");
        at++;
        if (depth == 0 && is_one_of(at[-1], "}]"))
            return at;
    }
    return at;
}

int json_walk_open(struct json_walk *walk, struct json_piece text, char open)
{
    *walk = (struct json_walk){text.at, text.at + text.length, open};
    skip_space(walk);
    if (walk->at == walk->end || *walk->at != open)
        return -EINVAL;
    walk->at++;
    return 0;
}

static int take_name(struct json_walk *walk, struct json_piece *name)
{
    if (*walk->at != '"')
        return -EINVAL;
    const char *after = end_of_string(walk->at, walk->end);
    if (after - walk->at < 2)
        return -EINVAL;
    *name = (struct json_piece){walk->at + 1, (size_t)(after - walk->at) - 2};
    walk->at = after;
    skip_space(walk);
    if (walk->at == walk->end || *walk->at != ':')
        return -EINVAL;
    walk->at++;
    skip_space(walk);
    return 0;
}

int json_walk_next(struct json_walk *walk, struct json_piece *name, struct json_piece *value)
{
    *name = (struct json_piece){walk->at, 0};
    skip_space(walk);
    if (walk->at == walk->end)
        return -EINVAL;
    if (*walk->at == (walk->open == '{' ? '}' : ']'))
        return 0;
    if (walk->open == '{' && take_name(walk, name))
        return -EINVAL;
    const char *after = end_of_value(walk->at, walk->end);
    if (after == walk->at || after == walk->end)
        return -EINVAL;
    *value = (struct json_piece){walk->at, (size_t)(after - walk->at)};
    walk->at = after;
    return 1;
}

json_t *json_walk_member(struct json_piece object, const char *name)
{
    struct json_walk walk;
    struct json_piece of, value;
    if (json_walk_open(&walk, object, '{'))
        return NULL;
    while (json_walk_next(&walk, &of, &value) == 1)
        if (of.length == strlen(name) && memcmp(of.at, name, of.length) == 0)
            return json_loadb(value.at, value.length, JSON_DECODE_ANY, NULL);
    return NULL;
}
