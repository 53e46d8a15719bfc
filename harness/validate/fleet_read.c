#include "harness/validate/fleet_read.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/lib/finding.h"
#include "harness/lib/sys/file.h"
#include "harness/lib/text.h"
#include "harness/record/csv.h"
#include "harness/record/directory.h"
#include "harness/record/json_value.h"
#include "harness/record/row.h"
#include "harness/show/json/run_json.h"

/* Columns of rows.csv; those of a key are adjacent. */
enum cell {
    CELL_KEY = 1,
    CELL_UNIT = CELL_KEY + FLEET_COLUMNS,
    CELL_BETTER,
    CELL_MEDIAN = 13,
    CELL_STATUS = 20,
    CELL_REASON,
    CELLS
};

#define VALIDATION_NAME "validate.json"

/* The columns of a missing reason that concerns all arms. */
static const char *const all_arms[FLEET_COLUMNS] = {
    [FLEET_SCENARIO] = "", [FLEET_PLACEMENT] = "", [FLEET_BENCH] = ""};

static const size_t file_most = (size_t)256 << 20;

struct reader {
    void (*report)(const char *line);
    struct fleet *fleet;
    struct fleet_found *found;
    struct err *err;
    struct intern ignored; /* keys of figures that do not count, to decide once per key */
};

/* "2026-11-22T10:43:19Z" as 20261122104319; 0 = unknown. */
static uint64_t time_of(const char *text)
{
    uint64_t digits = 0;
    for (; text && *text; text++)
        if (*text >= '0' && *text <= '9')
            digits = digits * 10 + (uint64_t)(*text - '0');
    return digits;
}

static const char *text_in(const json_t *object, const char *name)
{
    const char *text = json_string_value(json_object_get(object, name));
    return text ? text : "";
}

/* Appends "8 x NVIDIA H200" for each sequence of GPUs with the same name. */
static void add_gpus(const json_t *gpus, char *text, size_t size)
{
    size_t n = json_array_size(gpus);
    for (size_t i = 0, count; i < n; i += count) {
        const char *name = text_in(json_array_get(gpus, i), "name");
        for (count = 1; i + count < n; count++)
            if (strcmp(text_in(json_array_get(gpus, i + count), "name"), name) != 0)
                break;
        text_append(text, size, ", ", "%zu x %s", count, *name ? name : "GPU");
    }
}

/*
 * Describes the machine's kind by the parts that its key is made of, and appends the key if there
 * is one: machines with equal words may differ in parts that only the key has.
 */
static void put_kind(const json_t *record, char *kind, size_t size)
{
    const json_t *machine = json_object_get(record, "machine");
    const json_t *parts = json_object_get(machine, "parts");
    const json_t *from = parts ? parts : json_object_get(record, "topology");
    json_int_t packages = json_integer_value(json_object_get(from, "packages"));
    const json_t *all = json_object_get(from, "cpus");
    json_int_t cpus = json_integer_value(parts ? all : json_object_get(all, "count"));
    const char *model = text_in(from, "cpu_model"), *key = text_in(machine, "kind");
    (void)snprintf(kind, size, "%lld x %s, %lld CPUs", packages ? packages : 1,
                   *model ? model : "unknown CPU", cpus);
    add_gpus(json_object_get(from, "gpus"), kind, size);
    if (*key)
        text_append(kind, size, " ", "(%s)", key);
    (void)text_one_line(kind);
}

/* Adds a run of the machine that the record describes. */
static int add_run(struct fleet *fleet, const json_t *record, const char *name, const char *started,
                   uint32_t *run, struct err *why)
{
    char kind[512];
    const json_t *machine = json_object_get(record, "machine");
    put_kind(record, kind, sizeof(kind));
    const struct fleet_origin origin = {
        name, *text_in(machine, "identity") ? text_in(machine, "key") : "", kind, time_of(started)};
    return fleet_add_run(fleet, &origin, run, why);
}

/* -EALREADY: the same run of the same machine was read before. */
static int check_new(struct fleet *fleet, const char *name, const char *run_id, struct err *why)
{
    char result[512];
    uint32_t nbefore = fleet->results.n, at;
    size_t length = (size_t)snprintf(result, sizeof(result), "%.200s/%.200s", name, run_id);
    int rc = *run_id ? intern_add(&fleet->results, result, length, &at, why) : 0;
    return rc || !*run_id || at == nbefore ? rc : -EALREADY;
}

/* Keeps only the needed parts of run.json, which may be large. NULL: out of memory. */
static json_t *take_members(struct json_piece text)
{
    static const char *const names[] = {"schema_version", "environment", "machine", "topology",
                                        "started",        "run_id",      "status"};
    json_t *record = json_object();
    for (size_t i = 0; record && i < sizeof(names) / sizeof(names[0]); i++)
        (void)json_object_set_new(record, names[i], json_walk_member(text, names[i]));
    return record ? json_value_one_line(record) : NULL;
}

/* Adds the run that run.json describes. -EINVAL if its machine or time is missing; -EALREADY. */
static int add_result(struct reader *reader, const json_t *record, uint32_t *run, struct err *why)
{
    const json_int_t schema = json_integer_value(json_object_get(record, "schema_version"));
    const char *name = text_in(json_object_get(record, "environment"), "hostname");
    const char *started = text_in(record, "started"), *ended = text_in(record, "status");
    if (schema != RUN_SCHEMA_VERSION)
        return err_set(why, -EPROTO, "run.json: schema_version is %lld, and this version reads %d",
                       schema, RUN_SCHEMA_VERSION);
    if (!*name || !*started)
        return err_set(why, -EINVAL, "run.json: it has no %s, or is cut off",
                       *name ? "started" : "environment.hostname");
    int rc = check_new(reader->fleet, name, text_in(record, "run_id"), why);
    if (!rc)
        rc = add_run(reader->fleet, record, name, started, run, why);
    if (rc || !*ended || strcmp(ended, "complete") == 0)
        return rc;
    return fleet_add_missing_reason(
        reader->fleet, *run, all_arms, false,
        strcmp(ended, "failed") == 0 ? "the run failed" : "the run was interrupted", why);
}

static const char *const *key_of(char **cells)
{
    return (const char *const *)&cells[CELL_KEY];
}

/* True if a comparison may fail on the figure; false for a benchmark that this version lacks. */
static bool is_gating(const struct fleet *fleet, char **cells)
{
    const struct bench *bench = bench_find(fleet->benches, cells[CELL_KEY + FLEET_BENCH]);
    const struct dims at = dims_parse(bench, row_key(cells[CELL_KEY + FLEET_PARAMS]));
    return bench && metric_is_gating(bench, cells[CELL_KEY + FLEET_METRIC], &at);
}

/* True if the figure counts; `length` 0: its key is too long. */
static bool is_counted(struct reader *reader, char **cells, const char *key, size_t length)
{
    struct err none;
    uint32_t at;
    if (length && intern_find(&reader->fleet->raw_keys, key, length) != INTERN_NONE)
        return true;
    if (length && intern_find(&reader->ignored, key, length) != INTERN_NONE)
        return false;
    bool is = is_gating(reader->fleet, cells);
    if (!is && length)
        (void)intern_add(&reader->ignored, key, length, &at, &none); /* or decided again */
    return is;
}

/* Records why an arm could not be measured, or failed in some rounds. */
static int add_missing_reason(struct reader *reader, uint32_t run, char **cells, struct err *why)
{
    const char *text = str_fmt("%.40s: %.20s: %.90s", cells[CELL_KEY + FLEET_BENCH],
                               cells[CELL_STATUS], cells[CELL_REASON]);
    return fleet_add_missing_reason(reader->fleet, run, key_of(cells),
                                    status_find(cells[CELL_STATUS]) != STATUS_SKIPPED, text, why);
}

static int add_row(struct reader *reader, uint32_t run, const struct csv_reader *csv, char **cells,
                   struct err *why)
{
    struct fleet_figure figure = {.unit = cells[CELL_UNIT],
                                  .higher = strcmp(cells[CELL_BETTER], "higher") == 0,
                                  .noisy = strcmp(cells[CELL_STATUS], "ok") != 0};
    char key[FLEET_KEY_MAX];
    struct err err;
    size_t length = fleet_key_join(key_of(cells), key);
    if (!is_counted(reader, cells, key, length))
        return 0;
    int rc = csv_number(csv, "median", cells[CELL_MEDIAN], &figure.value, why);
    if (rc || isnan(figure.value))
        return rc;
    if (status_find(cells[CELL_STATUS]) >= STATUS_SKIPPED)
        return add_missing_reason(reader, run, cells,
                                  why); /* a failed arm's speed does not count */
    if (!length)
        return csv_refuse(csv, why, "its columns are too long");
    rc = fleet_add_value(reader->fleet, run, key, length, &figure, &err);
    return rc == -ENOMEM ? err_set(why, rc, "%s", err.msg)
           : rc          ? csv_refuse(csv, why, "%s", err.msg)
                         : 0;
}

/* Adds the rows of a result, except those of variants, which are no figures of the machine. */
static int add_rows(struct reader *reader, uint32_t run, char *text, size_t size, struct err *why)
{
    struct csv_reader csv;
    char *cells[CELLS];
    int rc = csv_read_header(&csv, CSV_ROWS_NAME, text, size, ROW_COLUMNS, why);
    while (!rc && (rc = csv_read(&csv, cells, CELLS, why)) == 1) {
        rc = 0;
        if (strcmp(cells[CELL_KEY + FLEET_METRIC], VALUE_STATUS) == 0)
            rc = add_missing_reason(reader, run, cells, why);
        else if (strcmp(cells[CELL_KEY + FLEET_ROLE], "foreground") == 0 &&
                 strcmp(cells[CELL_BETTER], "none") != 0 &&
                 !strstr(cells[CELL_KEY + FLEET_PARAMS], ";variant="))
            rc = add_row(reader, run, &csv, cells, why);
    }
    return rc;
}

static int read_result(struct reader *reader, int dir_fd, struct err *why)
{
    char *text = NULL, *rows = NULL;
    size_t size = 0;
    uint32_t run = 0;
    int rc = file_read(dir_fd, "run.json", file_most, &text, &size);
    json_t *record = rc ? NULL : take_members((struct json_piece){text, size});
    rc = rc ? err_sys(why, rc, "cannot read run.json") : add_result(reader, record, &run, why);
    if (!rc) {
        rc = file_read(dir_fd, CSV_ROWS_NAME, file_most, &rows, &size);
        rc = rc ? err_sys(why, rc, "cannot read " CSV_ROWS_NAME)
                : add_rows(reader, run, rows, size, why);
    }
    struct err none;
    if (rc && rows &&
        fleet_add_missing_reason(reader->fleet, run, all_arms, false,
                                 "its " CSV_ROWS_NAME " is damaged", &none))
        rc = err_set(why, -ENOMEM, "%s", none.msg);
    json_decref(record);
    free(text);
    free(rows);
    return rc;
}

/* Reads one result. Reports what is wrong with it, and fails only without memory. */
static int take_result(struct reader *reader,
                       int (*read)(struct reader *reader, int dir_fd, struct err *why), int dir_fd,
                       const char *path)
{
    struct err why = {0};
    int rc = read(reader, dir_fd, &why);
    if (!rc || rc == -EALREADY) {
        *(rc ? &reader->found->again : &reader->found->results) += 1;
        return 0;
    }
    if (rc == -ENOMEM)
        return err_set(reader->err, rc, "%s", why.msg);
    const char *line = str_fmt("'%s': %s", path, why.msg);
    reader->report(line);
    reader->found->damaged++;
    return 0;
}

/* The profile is part of the key, because longer measurements give better values. */
static int add_measured(struct fleet *fleet, uint32_t run, const char *profile, const json_t *one,
                        struct err *why)
{
    char key[FLEET_KEY_MAX];
    const char *unit = text_in(one, "unit"), *better = text_in(one, "better");
    const json_t *value = json_object_get(one, "value");
    if (!json_is_true(json_object_get(one, "gates")) || !json_is_number(value))
        return 0;
    const char *params = str_fmt("profile=%.20s;slots=1;%.400s", profile, text_in(one, "key"));
    const char *columns[FLEET_COLUMNS] = {[FLEET_SCENARIO] = FLEET_VALIDATE,
                                          [FLEET_PLACEMENT] = "",
                                          [FLEET_WORKERS] = "",
                                          [FLEET_ROLE] = "",
                                          [FLEET_BENCH] = text_in(one, "probe"),
                                          [FLEET_PARAMS] = params,
                                          [FLEET_DEVICE] = "",
                                          [FLEET_METRIC] = text_in(one, "metric")};
    const struct fleet_figure figure = {
        .unit = unit, .higher = strcmp(better, "higher") == 0, .value = json_number_value(value)};
    size_t length = fleet_key_join(columns, key);
    struct err err;
    if (!length || !*unit || strlen(unit) >= FLEET_UNIT_MAX ||
        (!figure.higher && strcmp(better, "lower") != 0))
        return err_set(why, -EINVAL, VALIDATION_NAME ": '%.60s' of measured is no figure",
                       columns[FLEET_METRIC]);
    int rc = fleet_add_value(fleet, run, key, length, &figure, &err);
    return rc ? err_set(why, rc, VALIDATION_NAME ": '%.60s': %.150s", columns[FLEET_METRIC],
                        err.msg)
              : 0;
}

/* The number of rules with that outcome. */
static json_int_t count_in(const json_t *json, const char *outcome)
{
    return json_integer_value(json_object_get(json_object_get(json, "counts"), outcome));
}

static int add_validation(const json_t *json, struct fleet *fleet, struct err *why)
{
    const char *refused = "";
    const char *name = text_in(json, "host"), *utc = text_in(json, "utc");
    const char *verdict = text_in(json, "verdict"), *text = text_in(json, "text");
    const json_t *machine = json_object_get(json, "machine"), *one;
    size_t i;
    uint32_t run;
    if (json_integer_value(json_object_get(json, "schema")) != 1 || !*name || !*utc ||
        !json_is_object(json_object_get(machine, "parts")))
        return err_set(why, -EINVAL,
                       VALIDATION_NAME
                       ": no schema 1, host, utc or machine, or of an earlier version");
    int rc = add_run(fleet, json, name, utc, &run, why);
    bool skipped = finding_outcome_find(verdict) == OUTCOME_SKIP;
    bool judged = *verdict && (!skipped || count_in(json, "PASS") + count_in(json, "WARN") > 0);
    if (!rc && judged && strcmp(verdict, "PASS") != 0) {
        refused = text_one_line(str_fmt("%.90s", *text ? text : "did not pass"));
        rc = fleet_add_missing_reason(fleet, run, all_arms, false, refused, why);
    }
    if (!rc && judged)
        fleet_add_verdict(fleet, run, refused, skipped);
    json_array_foreach(json_object_get(json, "measured"), i, one)
    {
        if (!rc)
            rc = add_measured(fleet, run, text_in(json, "profile"), one, why);
    }
    return rc;
}

int fleet_add_validation_text(const char *text, size_t size, struct fleet *fleet, struct err *err)
{
    json_error_t where;
    json_t *json = json_loadb(text, size, JSON_REJECT_DUPLICATES, &where);
    if (!json)
        return err_set(err, -EINVAL, VALIDATION_NAME ", line %d: %.150s", where.line,
                       text_one_line(where.text));
    int rc = add_validation(json_value_one_line(json), fleet, err);
    json_decref(json);
    return rc;
}

static int read_validation(struct reader *reader, int dir_fd, struct err *why)
{
    char *text = NULL;
    size_t size = 0;
    int rc = file_read(dir_fd, VALIDATION_NAME, file_most, &text, &size);
    rc = rc ? err_sys(why, rc, "cannot read " VALIDATION_NAME)
            : fleet_add_validation_text(text, size, reader->fleet, why);
    free(text);
    return rc;
}

static int read_directory(void *arg, const char *path, int dir_fd, unsigned marks, struct err *err)
{
    struct reader *reader = arg;
    (void)err;
    if (marks & BELOW_VALIDATION) {
        int rc = take_result(reader, read_validation, dir_fd, path);
        if (rc || marks == BELOW_VALIDATION)
            return rc;
    }
    int rc = take_result(reader, read_result, dir_fd, path);
    return rc ? rc : BELOW_SKIP_CHILDREN;
}

int fleet_read(const char *path, void (*report)(const char *line), struct fleet *fleet,
               struct fleet_found *found, struct err *err)
{
    struct reader reader = {.report = report, .fleet = fleet, .found = found, .err = err};
    const struct below_request below = {.marks = BELOW_RUN | BELOW_ROWS | BELOW_VALIDATION,
                                        .depth = FLEET_DEPTH,
                                        .found = read_directory,
                                        .arg = &reader,
                                        .skip_unreadable = true};
    size_t before = found->results + found->damaged + found->again;
    int rc = below_find(path, &below, err);
    intern_free(&reader.ignored);
    if (!rc && found->results + found->damaged + found->again == before)
        rc = err_set(err, -ENOENT, "no result in '%.150s', nor up to %d directories below it", path,
                     FLEET_DEPTH);
    return rc;
}
