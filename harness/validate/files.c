#include "harness/validate/files.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/lib/array.h"
#include "harness/lib/sys/file.h"
#include "harness/lib/text.h"
#include "harness/record/json_value.h"
#include "harness/validate/rules/rules.h"

/*
 * Reads a JSON file that a person edits. Errors in an element of its arrays name file and line.
 *
 *   struct entries entries = {.path = path, .what = "waivers", .arg = ...};
 *   rc = entries_open(&entries, &err);               parses the file
 *   rc = entries_read(&entries, NULL, take_waiver);
 *   entries_close(&entries);
 */

struct entries {
    const char *path, *what; /* what: "bounds", for messages */
    void *arg;               /* for the `take` function */

    unsigned line; /* of the current entry */
    char *text;    /* owned, as `whole` */
    size_t size;
    json_t *whole;
    struct err *err;
};

enum { ENTRIES_NAME_MOST = 150, FILE_MOST = 64 << 20 };

/* Sets the error "FILE line 7: " and the sentence; returns -EINVAL. */
static __attribute__((format(printf, 2, 3))) int entries_refuse(const struct entries *entries,
                                                                const char *fmt, ...)
{
    char what[200];
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(what, sizeof(what), fmt, args);
    va_end(args);
    return err_set(entries->err, -EINVAL, "%.*s line %u: %s", ENTRIES_NAME_MOST, entries->path,
                   entries->line, text_one_line(what));
}

/* Reads and parses the file: errors of reading, and -EINVAL. Close it also after an error. */
static int entries_open(struct entries *entries, struct err *err)
{
    json_error_t error;
    entries->err = err;
    entries->line = 1;
    char *real = realpath(entries->path, NULL); /* a link, for example in a Kubernetes volume */
    int rc = real ? file_read(AT_FDCWD, real, FILE_MOST, &entries->text, &entries->size) : -errno;
    free(real);
    if (rc)
        return err_sys(err, rc, "cannot read the %s '%.*s'", entries->what, ENTRIES_NAME_MOST,
                       entries->path);
    entries->whole = json_loadb(entries->text, entries->size, JSON_REJECT_DUPLICATES, &error);
    entries->line = entries->whole ? 1 : (unsigned)error.line;
    if (!entries->whole)
        return entries_refuse(entries, "%s", error.text);
    (void)json_value_one_line(entries->whole);
    return 0;
}

static void entries_close(struct entries *entries)
{
    json_decref(entries->whole);
    free(entries->text);
}

/* As json_unpack; its error goes to entries_refuse. */
static int entries_unpack(const struct entries *entries, json_t *entry, const char *fmt, ...)
{
    json_error_t error;
    va_list args;
    va_start(args, fmt);
    int rc = json_vunpack_ex(entry, &error, 0, fmt, args);
    va_end(args);
    return rc ? entries_refuse(entries, "%s", error.text) : 0;
}

/* The text of the array, to count its lines. The array exists, because the file was parsed. */
static struct json_piece find_array(const struct entries *entries, const char *name)
{
    const struct json_piece whole = {entries->text, entries->size};
    struct json_walk walk;
    struct json_piece member, value;
    if (!name || json_walk_open(&walk, whole, '{'))
        return whole;
    while (json_walk_next(&walk, &member, &value) == 1)
        if (member.length == strlen(name) && memcmp(member.at, name, member.length) == 0)
            return value;
    return whole;
}

/*
 * Calls `take` with each entry of the array of that name, in order; NULL: the file itself is the
 * array. A missing array is empty; -EINVAL if it is not an array. `take` returns 0, -ENOMEM, or the
 * error of entries_unpack or entries_refuse.
 */
static int entries_read(struct entries *entries, const char *name,
                        int (*take)(struct entries *entries, json_t *entry))
{
    struct json_walk walk;
    struct json_piece unnamed, piece;
    const json_t *array = name ? json_object_get(entries->whole, name) : entries->whole;
    const char *counted = entries->text; /* `line` is the line of this position */
    int rc = 0;
    entries->line = 1;
    if (!array && name)
        return 0;
    if (!json_is_array(array) || json_walk_open(&walk, find_array(entries, name), '['))
        return err_set(entries->err, -EINVAL, "%.*s: %s is no array", ENTRIES_NAME_MOST,
                       entries->path, name ? name : "it");
    for (size_t i = 0; !rc && json_walk_next(&walk, &unnamed, &piece) == 1; i++) {
        for (; counted < piece.at; counted++)
            entries->line += *counted == '\n';
        rc = take(entries, json_array_get(array, i));
    }
    return rc;
}

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

static bool is_date(const char *text)
{
    int year, month, day, used = 0;
    return sscanf(text, "%4d-%2d-%2d%n", &year, &month, &day, &used) == 3 && used == 10 &&
           !text[10] && text[4] == '-' && text[7] == '-' && month >= 1 && month <= 12 && day >= 1 &&
           day <= 31;
}

static int take(struct entries *entries, json_t *entry)
{
    struct waivers *waivers = entries->arg;
    const char *rule = "", *unit = "", *reason = "", *until = "";
    int rc = entries_unpack(entries, entry, "{s?s, s?s, s?s, s?s !}", "rule", &rule, "unit", &unit,
                            "reason", &reason, "until", &until);
    const char *wrong = !rule_find(rule) ? "is for no rule: see 'contend validate --list'"
                        : !reason[strspn(reason, " ")] ? "has no reason"
                        : strlen(reason) >= sizeof(waivers->all->reason) ||
                                strlen(unit) >= sizeof(waivers->all->unit)
                            ? "has too long a reason or unit"
                        : !is_date(until) ? "lacks a date 'until' such as \"2026-12-31\""
                                          : NULL;
    if (rc || wrong)
        return rc ? rc : entries_refuse(entries, "the waiver of '%.31s' %s", rule, wrong);
    struct waiver *added = array_add(waivers->all, waivers->n, waivers->capacity);
    if (!added)
        return err_set(entries->err, -ENOMEM, "no memory for the waivers");
    added->line = entries->line;
    (void)snprintf(added->rule, sizeof(added->rule), "%s", rule);
    (void)snprintf(added->unit, sizeof(added->unit), "%s", unit);
    (void)snprintf(added->reason, sizeof(added->reason), "%s", reason);
    (void)snprintf(added->until, sizeof(added->until), "%s", until);
    return 0;
}

int waivers_read(const char *path, struct waivers *waivers, struct err *err)
{
    struct entries entries = {.path = path, .what = "waivers", .arg = waivers};
    *waivers = (struct waivers){0};
    int rc = entries_open(&entries, err);
    if (!rc)
        rc = entries_read(&entries, NULL, take);
    entries_close(&entries);
    return rc;
}

void waivers_free(struct waivers *waivers)
{
    free(waivers->all);
    *waivers = (struct waivers){0};
}

#define MACHINE_FILE_SCHEMA "contend-machine"

unsigned machine_name_split(const char *name, const char **file)
{
    size_t digits = strspn(name, "0123456789");
    unsigned long n = digits > 0 && digits < 5 && name[digits] == 'x' ? strtoul(name, NULL, 10) : 0;
    *file = n ? name + digits + 1 : name;
    return (unsigned)n;
}

static int find_measured(const char *name)
{
    int probe = 0;
    while (probe < PROBES && strcmp(facts_probe_names[probe], name) != 0)
        probe++;
    return probe;
}

static int machine_file_take(struct entries *entries, json_t *entry)
{
    struct machine_kind *kind = entries->arg;
    const char *name = "", *measured = "", *metric = "", *key = "", *has = "", *unit = "",
               *source = "";
    int gpus = 0;
    json_t *least = NULL, *most = NULL;
    int rc = entries_unpack(entries, entry, "{s?s, s?s, s?s, s?s, s?s, s?o, s?o, s?s, s?i, s:s !}",
                            "fact", &name, "measured", &measured, "metric", &metric, "key", &key,
                            "has", &has, "least", &least, "most", &most, "unit", &unit, "gpus",
                            &gpus, "source", &source);
    if (rc)
        return rc;
    struct machine_fact fact = {.of = machine_known_find(name),
                                .probe = (enum facts_probe_name)find_measured(measured),
                                .least = json_value_number_of(entry, "least"),
                                .most = json_value_number_of(entry, "most"),
                                .gpus = gpus > 0 ? (unsigned)gpus : 0};
    const bool is_text = fact.of && machine_known_is_text(fact.of);
    const bool is_number = !isnan(fact.least) || !isnan(fact.most);
    const char *wrong = (name[0] != 0) == (measured[0] != 0)
                            ? "needs either a fact or what is measured"
                        : name[0] && !fact.of ? "is not known"
                        : measured[0] && (fact.probe == PROBES || !metric[0])
                            ? "names no measurement and metric of validate.json"
                        : is_text == is_number || is_text != (has[0] != 0)
                            ? is_text ? "needs a text: has" : "needs a number: least, most or both"
                        : fact.least > fact.most       ? "has least above most"
                        : !source[strspn(source, " ")] ? "has no source"
                        : kind->n == MACHINE_FACTS_MAX ? "is one too many"
                                                       : NULL;
    if (wrong)
        return entries_refuse(entries, "the fact '%.31s' %s", name[0] ? name : metric, wrong);
    text_set(fact.metric, "%s", metric);
    text_set(fact.key, "%s", key);
    text_set(fact.has, "%s", has);
    text_set(fact.unit, "%s", unit);
    text_set(fact.source, "%s", source);
    kind->facts[kind->n++] = fact;
    return 0;
}

static int machine_file_read_header(const struct entries *entries, unsigned gpus,
                                    struct machine_kind *kind)
{
    const json_t *whole = entries->whole;
    const char *schema = json_string_value(json_object_get(whole, "schema"));
    const char *expect = json_string_value(json_object_get(whole, "expect"));
    const json_int_t version = json_integer_value(json_object_get(whole, "schema_version"));
    const bool counts = json_is_true(json_object_get(whole, "gpus"));
    const char *path = entries->path;
    if (!schema || strcmp(schema, MACHINE_FILE_SCHEMA) != 0)
        return err_set(entries->err, -EINVAL, "%.150s: schema is not \"" MACHINE_FILE_SCHEMA "\"",
                       path);
    if (version != MACHINE_SCHEMA_VERSION)
        return err_set(entries->err, -EINVAL,
                       "%.150s: schema_version is %lld, and this version reads %d", path, version,
                       MACHINE_SCHEMA_VERSION);
    if (counts != (gpus > 0))
        return err_set(entries->err, -EINVAL,
                       counts ? "%.150s: how many GPUs? --machine 8xNAME"
                              : "%.150s: its GPUs are not counted by the name",
                       path);
    if (counts)
        text_append(kind->expect, sizeof(kind->expect), ",", "gpus=%u", gpus);
    if (expect)
        text_append(kind->expect, sizeof(kind->expect), ",", "%s", expect);
    return 0;
}

int machine_file_read(const char *path, unsigned gpus, struct machine_kind *kind, struct err *err)
{
    struct entries entries = {.path = path, .what = "machine", .arg = kind};
    kind->n = 0;
    kind->expect[0] = '\0';
    int rc = entries_open(&entries, err);
    if (!rc)
        rc = machine_file_read_header(&entries, gpus, kind);
    if (!rc)
        rc = entries_read(&entries, "facts", machine_file_take);
    entries_close(&entries);
    return rc;
}
