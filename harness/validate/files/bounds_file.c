#include "harness/validate/files/bounds_file.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/lib/base/array.h"
#include "harness/lib/base/text.h"
#include "harness/lib/files/file.h"
#include "harness/store/files/json_walk.h"
#include "harness/store/json/value.h"

#define SCHEMA "contend-bounds"

static const size_t file_most = (size_t)64 << 20;
enum { DIGITS = 6, NAME_MOST = 150 };

static json_t *bound_to_json(const struct bound *bound)
{
    char text[FLEET_KEY_MAX];
    json_t *json =
        json_pack("{s:s, s:o, s:o, s:o, s:s, s:s, s:b, s:o, s:i}", "metric",
                  fleet_key_column(bound->key, FLEET_METRIC, text, sizeof(text)), "reference",
                  json_value_real(bound->reference), "lower", json_value_real(bound->lower),
                  "upper", json_value_real(bound->upper), "unit", bound->unit, "better",
                  bound->higher ? "higher" : "lower", "required", bound->required, "spread",
                  json_value_real(bound->spread), "machines", (int)bound->machines);
    for (int i = 0; i < FLEET_METRIC; i++)
        (void)json_object_set_new(
            json, fleet_columns[i],
            json_string(fleet_key_column(bound->key, (enum fleet_column)i, text, sizeof(text))));
    return json;
}

/* A line; false: no memory. */
static bool put_line(json_t *json, bool last, FILE *out)
{
    char *text = json_dumps(json, JSON_REAL_PRECISION(DIGITS));
    json_decref(json);
    if (text)
        (void)fprintf(out, "%s%s\n", text, last ? "" : ",");
    free(text);
    return text;
}

static bool put_member(const char *name, json_t *json, FILE *out)
{
    (void)fprintf(out, "\"%s\": ", name);
    char *text = json_dumps(json, JSON_ENCODE_ANY);
    json_decref(json);
    if (text)
        (void)fprintf(out, "%s,\n", text);
    free(text);
    return text;
}

static bool put(const struct bounds *bounds, time_t made, FILE *out)
{
    char date[32] = "";
    struct tm utc;
    if (gmtime_r(&made, &utc))
        (void)strftime(date, sizeof(date), "%Y-%m-%dT%H:%M:%SZ", &utc);
    (void)fputs("{\n", out);
    bool good = put_member("schema", json_string(SCHEMA), out) &&
                put_member("schema_version", json_integer(BOUNDS_SCHEMA_VERSION), out) &&
                put_member("kind", json_string(bounds->kind), out) &&
                put_member("machines", json_integer(bounds->machines), out) &&
                put_member("made", json_string(date), out) &&
                put_member("how", json_string(bounds->how), out);
    (void)fputs("\"left_out\": [\n", out);
    for (size_t i = 0; i < bounds->nleft_out && good; i++)
        good = put_line(json_pack("{s:s, s:s}", "machine", bounds->left_out[i].name, "reason",
                                  bounds->left_out[i].reason),
                        i + 1 == bounds->nleft_out, out);
    (void)fputs("],\n\"bounds\": [\n", out);
    for (size_t i = 0; i < bounds->n && good; i++)
        good = put_line(bound_to_json(&bounds->all[i]), i + 1 == bounds->n, out);
    (void)fputs("]\n}\n", out);
    return good && !ferror(out);
}

int bounds_file_write(const char *path, const struct bounds *bounds, time_t made, struct err *err)
{
    FILE *out = fopen(path, "wex");
    if (!out && errno == EEXIST)
        return err_set(err, -EEXIST, "'%.*s' is there already: move it, or name another file",
                       NAME_MOST, path);
    if (!out)
        return err_sys(err, -errno, "cannot create '%.*s'", NAME_MOST, path);
    bool good = put(bounds, made, out);
    int rc = fclose(out) ? -errno : good ? 0 : -EIO;
    if (rc)
        (void)unlink(path);
    return rc ? err_sys(err, rc, "cannot write '%.*s'", NAME_MOST, path) : 0;
}

struct reader {
    const char *path, *text;
    struct bounds *bounds;
    struct intern keys; /* of the figures, to find two of one */
    unsigned *lines;    /* one a figure */
    size_t lines_capacity;
    const char *counted; /* up to here there are so many lines */
    unsigned line;
    struct err *err;
};

/* Places are asked for in their order. */
static unsigned line_of(struct reader *reader, const char *at)
{
    for (; reader->counted < at; reader->counted++)
        reader->line += *reader->counted == '\n';
    return reader->line;
}

static int wrong(struct reader *reader, const char *at, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
static int wrong(struct reader *reader, const char *at, const char *fmt, ...)
{
    char what[200];
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(what, sizeof(what), fmt, args);
    va_end(args);
    return err_set(reader->err, -EINVAL, "%.*s line %u: %s", NAME_MOST, reader->path,
                   line_of(reader, at), text_one_line(what));
}

/* The number of a member; NaN: it is null, or not there. */
static int read_number(struct reader *reader, const char *at, const json_t *json, const char *name,
                       double *value)
{
    const json_t *member = json_object_get(json, name);
    *value = NAN;
    if (!member || json_is_null(member))
        return 0;
    if (!json_is_number(member))
        return wrong(reader, at, "%s is no number", name);
    *value = json_number_value(member);
    return 0;
}

static int read_text(struct reader *reader, const char *at, const json_t *json, const char *name,
                     const char **text)
{
    *text = json_string_value(json_object_get(json, name));
    if (!*text)
        return wrong(reader, at, "%s is missing, or no text", name);
    return 0;
}

static int check_names(struct reader *reader, const char *at, json_t *json)
{
    static const char *const others[] = {"reference", "lower",  "upper",    "unit",
                                         "better",    "spread", "machines", "required"};
    const char *name;
    json_t *value;
    json_object_foreach(json, name, value)
    {
        bool known = false;
        for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
            known = known || strcmp(name, others[i]) == 0;
        for (int i = 0; i < FLEET_COLUMNS; i++)
            known = known || strcmp(name, fleet_columns[i]) == 0;
        if (!known)
            return wrong(reader, at, "'%.40s' is not known of a bound", name);
    }
    return 0;
}

static int check_order(struct reader *reader, const char *at, const struct bound *bound)
{
    if (!(bound->reference > 0))
        return wrong(reader, at, "reference is missing, or not above 0");
    if (bound->lower > bound->upper)
        return wrong(reader, at, "lower %.6g is above upper %.6g: the wrong way round?",
                     bound->lower, bound->upper);
    if (bound->reference < bound->lower || bound->reference > bound->upper)
        return wrong(reader, at, "reference %.6g is not between lower and upper", bound->reference);
    return 0;
}

static int read_numbers(struct reader *reader, const char *at, const json_t *json,
                        struct bound *bound)
{
    double machines = 0;
    const struct {
        const char *name;
        double *to;
    } numbers[] = {{"reference", &bound->reference},
                   {"lower", &bound->lower},
                   {"upper", &bound->upper},
                   {"spread", &bound->spread},
                   {"machines", &machines}};
    int rc = 0;
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]) && !rc; i++)
        rc = read_number(reader, at, json, numbers[i].name, numbers[i].to);
    bound->machines = machines >= 0 && machines < 1e9 ? (unsigned)machines : 0;
    const json_t *required = json_object_get(json, "required");
    if (!rc && required && !json_is_boolean(required))
        rc = wrong(reader, at, "required is neither true nor false");
    bound->required = json_is_true(required);
    return rc;
}

static int read_texts(struct reader *reader, const char *at, const json_t *json,
                      struct bound *bound, char key[static FLEET_KEY_MAX])
{
    const char *columns[FLEET_COLUMNS], *unit, *better;
    int rc = 0;
    for (int i = 0; i < FLEET_COLUMNS && !rc; i++)
        rc = read_text(reader, at, json, fleet_columns[i], &columns[i]);
    if (!rc)
        rc = read_text(reader, at, json, "unit", &unit);
    if (!rc)
        rc = read_text(reader, at, json, "better", &better);
    if (rc)
        return rc;
    if (!*unit || strlen(unit) >= sizeof(bound->unit))
        return wrong(reader, at, "unit is %s", *unit ? "too long" : "missing");
    bound->higher = strcmp(better, "higher") == 0;
    if (!bound->higher && strcmp(better, "lower") != 0)
        return wrong(reader, at, "better is '%.20s', and can be higher or lower", better);
    (void)snprintf(bound->unit, sizeof(bound->unit), "%s", unit);
    return fleet_key_join(columns, key) ? 0 : wrong(reader, at, "its columns are too long");
}

/* Notes in which line the figure is; it must not be there already. */
static int check_new(struct reader *reader, const char *at, const char *key)
{
    uint32_t nbefore = reader->keys.n, figure;
    int rc = intern_add(&reader->keys, key, strlen(key), &figure, reader->err);
    if (rc)
        return rc;
    if (figure < nbefore)
        return wrong(reader, at, "the same figure is in line %u", reader->lines[figure]);
    unsigned *grown = array_grown(reader->lines, nbefore, &reader->lines_capacity, sizeof(*grown));
    if (!grown)
        return err_set(reader->err, -ENOMEM, "no memory for '%.*s'", NAME_MOST, reader->path);
    reader->lines = grown;
    grown[figure] = line_of(reader, at);
    return 0;
}

static int read_bound(struct reader *reader, const char *at, json_t *json)
{
    char key[FLEET_KEY_MAX];
    struct bound bound = {.key = key};
    if (!json_is_object(json))
        return wrong(reader, at, "a bound is {...}");
    int rc = check_names(reader, at, json);
    if (!rc)
        rc = read_texts(reader, at, json, &bound, key);
    if (!rc)
        rc = read_numbers(reader, at, json, &bound);
    if (!rc)
        rc = check_order(reader, at, &bound);
    if (!rc)
        rc = check_new(reader, at, key);
    return rc ? rc : bounds_add(reader->bounds, &bound, reader->err);
}

static int read_left_out(struct reader *reader, const char *at, json_t *json)
{
    const char *machine, *reason;
    int rc = read_text(reader, at, json, "machine", &machine);
    if (!rc)
        rc = read_text(reader, at, json, "reason", &reason);
    return rc ? rc : bounds_leave_out(reader->bounds, machine, reason, reader->err);
}

/* Each element of an array by itself, so that its line is known. */
static int read_array(struct reader *reader, struct json_piece array,
                      int (*read)(struct reader *, const char *, json_t *))
{
    struct json_walk walk;
    struct json_piece name, value;
    int rc = 0;
    if (json_walk_open(&walk, array, '['))
        return wrong(reader, array.at, "this is no array");
    while (!rc && json_walk_next(&walk, &name, &value) == 1) {
        json_t *json = json_loadb(value.at, value.length, JSON_DECODE_ANY, NULL);
        rc = json ? read(reader, value.at, json_value_one_line(json))
                  : wrong(reader, value.at, "this is no JSON");
        json_decref(json);
    }
    return rc;
}

static int read_header(struct reader *reader, json_t *whole)
{
    const char *schema = json_string_value(json_object_get(whole, "schema"));
    json_int_t version = json_integer_value(json_object_get(whole, "schema_version"));
    const char *kind = json_string_value(json_object_get(whole, "kind"));
    const char *how = json_string_value(json_object_get(whole, "how"));
    json_int_t machines = json_integer_value(json_object_get(whole, "machines"));
    if (!schema || strcmp(schema, SCHEMA) != 0)
        return err_set(reader->err, -EINVAL, "%.*s: schema is not \"" SCHEMA "\": no baseline",
                       NAME_MOST, reader->path);
    if (version != BOUNDS_SCHEMA_VERSION)
        return err_set(reader->err, -EINVAL,
                       "%.*s: schema_version is %lld, and this version reads %d", NAME_MOST,
                       reader->path, version, BOUNDS_SCHEMA_VERSION);
    reader->bounds->kind = strdup(kind ? kind : "");
    (void)snprintf(reader->bounds->how, sizeof(reader->bounds->how), "%s", how ? how : "");
    reader->bounds->machines = machines > 0 && machines < INT32_MAX ? (unsigned)machines : 0;
    return reader->bounds->kind
               ? 0
               : err_set(reader->err, -ENOMEM, "no memory for '%.*s'", NAME_MOST, reader->path);
}

static int read_arrays(struct reader *reader, struct json_piece whole)
{
    struct json_walk walk;
    struct json_piece name, value;
    int rc = json_walk_open(&walk, whole, '{');
    while (!rc && json_walk_next(&walk, &name, &value) == 1) {
        if (name.length == 6 && memcmp(name.at, "bounds", 6) == 0)
            rc = read_array(reader, value, read_bound);
        else if (name.length == 8 && memcmp(name.at, "left_out", 8) == 0)
            rc = read_array(reader, value, read_left_out);
    }
    if (!rc && !reader->bounds->n)
        rc = err_set(reader->err, -EINVAL, "%.*s: no bounds in it", NAME_MOST, reader->path);
    return rc;
}

static int read_whole(struct reader *reader, size_t size)
{
    json_error_t error;
    json_t *whole = json_loadb(reader->text, size, JSON_REJECT_DUPLICATES, &error);
    if (!whole)
        return err_set(reader->err, -EINVAL, "%.*s line %d: %s", NAME_MOST, reader->path,
                       error.line, text_one_line(error.text));
    int rc = read_header(reader, json_value_one_line(whole));
    json_decref(whole);
    return rc ? rc : read_arrays(reader, (struct json_piece){reader->text, size});
}

int bounds_file_read(const char *path, struct bounds *bounds, struct err *err)
{
    char *text = NULL;
    size_t size = 0;
    *bounds = (struct bounds){0};
    char *real = realpath(path, NULL); /* it may be a link, such as in a Kubernetes volume */
    int rc = real ? file_read(AT_FDCWD, real, file_most, &text, &size) : -errno;
    free(real);
    if (rc)
        return err_sys(err, rc, "cannot read the baseline '%.*s'", NAME_MOST, path);
    struct reader reader = {
        .path = path, .text = text, .bounds = bounds, .counted = text, .line = 1, .err = err};
    rc = read_whole(&reader, size);
    intern_free(&reader.keys);
    free(reader.lines);
    free(text);
    return rc;
}
