#include "harness/validate/files.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/lib/text.h"
#include "harness/lib/units.h"
#include "harness/record/json_value.h"
#include "harness/validate/entries.h"

#define SCHEMA "contend-bounds"

enum { DIGITS = 6, NAME_MOST = 150 };

static json_t *bound_to_json(const struct bound *bound)
{
    json_t *json = json_pack(
        "{s:s, s:o, s:o, s:o, s:s, s:s, s:b, s:o, s:i}", "metric",
        fleet_key_column(bound->key, FLEET_METRIC), "reference", json_value_real(bound->reference),
        "lower", json_value_real(bound->lower), "upper", json_value_real(bound->upper), "unit",
        bound->unit, "better", bound->higher ? "higher" : "lower", "required", bound->required,
        "spread", json_value_real(bound->spread), "machines", (int)bound->machines);
    for (int i = 0; i < FLEET_METRIC; i++)
        (void)json_object_set_new(json, fleet_columns[i],
                                  json_string(fleet_key_column(bound->key, (enum fleet_column)i)));
    return json;
}

/* Writes a value as one line, or with JSON_INDENT an object without its end. False: no memory. */
static bool put(json_t *json, size_t flags, const char *end, FILE *out)
{
    char *text = json_dumps(json, JSON_REAL_PRECISION(DIGITS) | flags);
    json_decref(json);
    if (text)
        (void)fprintf(out, "%.*s%s", (int)(strlen(text) - (flags ? strlen("\n}") : 0)), text, end);
    free(text);
    return text;
}

static bool put_all(const struct bounds *bounds, time_t made, FILE *out)
{
    bool good = put(json_pack("{s:s, s:i, s:s, s:i, s:s, s:s}", "schema", SCHEMA, "schema_version",
                              BOUNDS_SCHEMA_VERSION, "kind", bounds->kind, "machines",
                              (int)bounds->machines, "made", text_utc(made), "how", bounds->how),
                    JSON_INDENT(1), ",\n\"left_out\": [\n", out);
    for (size_t i = 0; i < bounds->nleft_out && good; i++)
        good = put(json_pack("{s:s, s:s}", "machine", bounds->left_out[i].machine, "reason",
                             bounds->left_out[i].reason),
                   0, i + 1 < bounds->nleft_out ? ",\n" : "\n", out);
    (void)fputs("],\n\"bounds\": [\n", out);
    for (size_t i = 0; i < bounds->n && good; i++)
        good = put(bound_to_json(&bounds->all[i]), 0, i + 1 < bounds->n ? ",\n" : "\n", out);
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
    bool good = put_all(bounds, made, out);
    int rc = fclose(out) ? -errno : good ? 0 : -EIO;
    if (rc)
        (void)unlink(path);
    return rc ? err_sys(err, rc, "cannot write '%.*s'", NAME_MOST, path) : 0;
}

struct reader {
    struct bounds *bounds;
    struct intern keys; /* of the bounds in order, to find a figure that occurs twice */
};

static int check(const struct entries *entries, const struct bound *bound, const char *unit,
                 const char *better)
{
    if (!*unit || strlen(unit) >= sizeof(bound->unit))
        return entries_refuse(entries, "unit is %s", *unit ? "too long" : "missing");
    if (!bound->higher && strcmp(better, "lower") != 0)
        return entries_refuse(entries, "better is '%.20s', and can be higher or lower", better);
    if (!(bound->reference > 0))
        return entries_refuse(entries, "reference is not above 0");
    if (bound->lower > bound->upper)
        return entries_refuse(entries, "lower %s is above upper %s: swapped?",
                              units_plain(bound->lower, 6), units_plain(bound->upper, 6));
    if (bound->reference < bound->lower || bound->reference > bound->upper)
        return entries_refuse(entries, "reference %s is not between lower and upper",
                              units_plain(bound->reference, 6));
    return 0;
}

static int take_key(struct entries *entries, const char *const columns[FLEET_COLUMNS],
                    char key[static FLEET_KEY_MAX])
{
    struct reader *reader = entries->arg;
    uint32_t figure;
    size_t length = fleet_key_join(columns, key);
    if (!length)
        return entries_refuse(entries, "its columns are too long");
    int rc = intern_add(&reader->keys, key, length, &figure, entries->err);
    return rc || figure == reader->bounds->n
               ? rc
               : entries_refuse(entries, "the same figure is in line %u",
                                reader->bounds->all[figure].line);
}

static int take_bound(struct entries *entries, json_t *entry)
{
    const struct reader *reader = entries->arg;
    const char *c[FLEET_COLUMNS], *unit, *better;
    static const char *const names[] = {"lower", "upper", "spread"}; /* these may be null */
    json_t *open[3] = {NULL, NULL, NULL};
    char key[FLEET_KEY_MAX];
    int required = 0, machines = 0;
    struct bound bound = {.key = key, .line = entries->line};
    int rc = entries_unpack(
        entries, entry,
        "{s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:F, s?o, s?o, s?o, s?b, s?i !}",
        fleet_columns[0], &c[0], fleet_columns[1], &c[1], fleet_columns[2], &c[2], fleet_columns[3],
        &c[3], fleet_columns[4], &c[4], fleet_columns[5], &c[5], fleet_columns[6], &c[6],
        fleet_columns[7], &c[7], "unit", &unit, "better", &better, "reference", &bound.reference,
        names[0], &open[0], names[1], &open[1], names[2], &open[2], "required", &required,
        "machines", &machines);
    for (int i = 0; i < 3 && !rc; i++)
        if (open[i] && !json_is_null(open[i]) && !json_is_number(open[i]))
            rc = entries_refuse(entries, "%s is neither a number nor null", names[i]);
    if (rc)
        return rc;
    bound.higher = strcmp(better, "higher") == 0;
    bound.required = required;
    bound.lower = json_value_number_of(entry, "lower");
    bound.upper = json_value_number_of(entry, "upper");
    bound.spread = json_value_number_of(entry, "spread");
    bound.machines = machines > 0 ? (unsigned)machines : 0;
    (void)snprintf(bound.unit, sizeof(bound.unit), "%s", unit);
    rc = check(entries, &bound, unit, better);
    if (!rc)
        rc = take_key(entries, c, key);
    return rc ? rc : bounds_add(reader->bounds, &bound, entries->err);
}

static int take_left_out(struct entries *entries, json_t *entry)
{
    const struct reader *reader = entries->arg;
    const char *machine, *reason;
    int rc = entries_unpack(entries, entry, "{s:s, s:s}", "machine", &machine, "reason", &reason);
    return rc ? rc : bounds_leave_out(reader->bounds, machine, reason, entries->err);
}

static int read_header(const struct entries *entries, struct bounds *bounds)
{
    const json_t *whole = entries->whole;
    json_int_t version = json_integer_value(json_object_get(whole, "schema_version"));
    const char *kind = json_string_value(json_object_get(whole, "kind"));
    json_int_t machines = json_integer_value(json_object_get(whole, "machines"));
    const char *schema = json_value_copy_text(whole, "schema");
    if (strcmp(schema, SCHEMA) != 0)
        return err_set(entries->err, -EINVAL, "%.*s: schema is not \"" SCHEMA "\": no bounds",
                       NAME_MOST, entries->path);
    if (version != BOUNDS_SCHEMA_VERSION)
        return err_set(entries->err, -EINVAL,
                       "%.*s: schema_version is %lld, and this version reads %d", NAME_MOST,
                       entries->path, version, BOUNDS_SCHEMA_VERSION);
    bounds->kind = strdup(kind ? kind : "");
    text_set(bounds->how, "%s", json_value_copy_text(whole, "how"));
    bounds->machines = machines > 0 && machines < INT32_MAX ? (unsigned)machines : 0;
    return bounds->kind
               ? 0
               : err_set(entries->err, -ENOMEM, "no memory for '%.*s'", NAME_MOST, entries->path);
}

int bounds_file_read(const char *path, struct bounds *bounds, struct err *err)
{
    struct reader reader = {.bounds = bounds};
    struct entries entries = {.path = path, .what = "bounds", .arg = &reader};
    *bounds = (struct bounds){0};
    int rc = entries_open(&entries, err);
    if (!rc)
        rc = read_header(&entries, bounds);
    if (!rc)
        rc = entries_read(&entries, "left_out", take_left_out);
    if (!rc)
        rc = entries_read(&entries, "bounds", take_bound);
    if (!rc && !bounds->n)
        rc = err_set(err, -EINVAL, "%.*s: no bounds in it", NAME_MOST, path);
    intern_free(&reader.keys);
    entries_close(&entries);
    return rc;
}
