/* Reads rounds.csv and rows.csv into struct analysis; run.json says how many lines an arm has. */
#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "harness/lib/base/text.h"
#include "harness/lib/stats/stats.h"
#include "harness/rows/baseline.h"
#include "harness/rows/metric.h"
#include "harness/store/read/recorded_parts.h"

enum { CELLS_MOST = 24, ROUND_CELLS = 15, METRICS_MOST = 256 };

/* Index of the cells of a line: up to BETTER in both files, after it in rounds.csv. */
enum {
    RUN_ID,
    SCENARIO,
    PLACEMENT,
    WORKERS,
    ROLE,
    BENCH,
    PARAMS,
    DEVICE,
    METRIC,
    UNIT,
    BETTER,
    ROUND,
    VALUE,
    STATUS,
    REASON
};

static const json_t *summary_of(const struct recorded *recorded, size_t arm)
{
    const json_t *arms = json_object_get(recorded->record, "arms");
    return json_object_get(json_array_get(arms, arm), "summary");
}

static size_t count_of(const struct recorded *recorded, size_t arm, const char *what)
{
    json_int_t n = json_integer_value(json_object_get(summary_of(recorded, arm), what));
    return n > 0 ? (size_t)n : 0;
}

static int refuse_end(const struct csv_reader *reader, size_t missing, struct err *err)
{
    return csv_refuse(reader, err, "not there, but run.json counts %zu lines more", missing);
}

static int refuse_rest(const struct csv_reader *reader, struct err *err)
{
    const struct csv_reader after = {.name = reader->name, .line = reader->lines_read + 1};
    return csv_refuse(&after, err, "more lines than run.json counts");
}

/* Checks that the cells of a line up to BETTER, in either file, are of this run and arm. */
static int check_place(const struct csv_reader *reader, const struct recorded *recorded,
                       const struct arm *arm, char **cells, struct err *err)
{
    const struct result *result = &recorded->result;
    unsigned long long workers;
    char planned_workers[32];
    text_set(planned_workers, "slots=%u", arm->planned_workers);
    if (strcmp(cells[RUN_ID], result->run_id) != 0)
        return csv_refuse(reader, err, "of run '%.60s', run.json is of '%.60s'", cells[RUN_ID],
                          result->run_id);
    if (strcmp(cells[SCENARIO], result->scenario) != 0)
        return csv_refuse(reader, err, "of scenario '%.60s', run.json is of '%.60s'",
                          cells[SCENARIO], result->scenario);
    int rc = csv_count(reader, "workers", cells[WORKERS], RECORDED_WORKERS_MOST, &workers, err);
    if (rc)
        return rc;
    if (strcmp(cells[PLACEMENT], placement_infos[arm->placement].name) != 0 ||
        strcmp(cells[ROLE], row_role(arm)) != 0 || strcmp(cells[BENCH], arm->bench->name) != 0 ||
        workers != arm->workers || !row_params_have(cells[PARAMS], planned_workers))
        return csv_refuse(reader, err, "not what run.json says: %s of %.40s, %s, workers=%u here",
                          row_role(arm), arm->bench->name, placement_infos[arm->placement].name,
                          arm->workers);
    if (strlen(row_key(cells[PARAMS])) >= DIMS_KEY_MAX)
        return csv_refuse(reader, err, "a key of more than %d bytes", DIMS_KEY_MAX - 1);
    if (!cells[METRIC][0])
        return csv_refuse(reader, err, "no metric");
    if (strcmp(cells[BETTER], "higher") != 0 && strcmp(cells[BETTER], "lower") != 0 &&
        strcmp(cells[BETTER], "none") != 0)
        return csv_refuse(reader, err, "better '%.40s' is not higher, lower or none",
                          cells[BETTER]);
    return 0;
}

static int check_status(const struct csv_reader *reader, const char *cell, struct err *err)
{
    if (!strcmp(status_name(status_find(cell)), cell))
        return 0;
    return csv_refuse(reader, err, "status '%.40s' is none", cell);
}

static int read_value(struct csv_reader *reader, const struct recorded *recorded, size_t arm,
                      struct round_value *value, const char **key, struct err *err)
{
    const struct result *result = &recorded->result;
    char *cells[ROUND_CELLS];
    unsigned long long round = 0;
    int rc = csv_read(reader, cells, ROUND_CELLS, err);
    if (rc <= 0)
        return rc;
    rc = check_place(reader, recorded, &result->arms[arm], cells, err);
    if (!rc && cells[ROUND][0])
        rc = csv_count(reader, "round", cells[ROUND], result->rounds_done - 1, &round, err);
    if (!rc)
        rc = check_status(reader, cells[STATUS], err);
    *key = row_key(cells[PARAMS]);
    *value = (struct round_value){
        .metric = cells[METRIC],
        .unit = cells[UNIT],
        .better = cells[BETTER],
        .round = cells[ROUND][0] ? (int)round : VALUE_NO_ROUND,
        .status = status_find(cells[STATUS]),
        .base = -1,
        .reason = cells[REASON],
    };
    if (!rc)
        rc = csv_number(reader, "value", cells[VALUE], &value->value, err);
    if (!rc)
        value->dims = dims_parse(result->arms[arm].bench, *key);
    return rc ? rc : 1;
}

static int read_values(struct recorded *recorded, struct groups *groups, struct err *err)
{
    struct csv_reader reader;
    struct round_values *values = &recorded->analysis.values;
    int rc = csv_read_header(&reader, CSV_ROUNDS_NAME, recorded->rounds_text, recorded->rounds_size,
                             CSV_ROUND_COLUMNS, err);
    for (size_t arm = 0; arm < recorded->result.narms && !rc; arm++) {
        size_t n = count_of(recorded, arm, "round_values");
        for (size_t i = 0; i < n && !rc; i++) {
            struct round_value value;
            const char *key;
            rc = read_value(&reader, recorded, arm, &value, &key, err);
            if (!rc)
                return refuse_end(&reader, n - i, err);
            rc = rc < 0 ? rc : values_append(values, &value, err);
            if (!rc)
                rc = groups_add(groups, values, key, i == 0, &reader, err);
        }
        if (!rc)
            rc = values_close_arm(values, err);
        if (!rc)
            rc = groups_close_arm(groups, &reader, err);
    }
    return rc || !*reader.at ? rc : refuse_rest(&reader, err);
}

static int check_cell(const struct csv_reader *reader, const struct row_column *column,
                      const char *cell, struct err *err)
{
    unsigned long long count;
    double number;
    switch (column->kind) {
    case ROW_DOUBLE:
        return csv_number(reader, column->name, cell, &number, err);
    case ROW_UNSIGNED:
        return csv_count(reader, column->name, cell, INT32_MAX, &count, err);
    case ROW_SIZE:
        return csv_count(reader, column->name, cell, INT64_MAX, &count, err);
    case ROW_STATUS:
        return check_status(reader, cell, err);
    case ROW_CHARS:
        if (strlen(cell) >= column->size)
            return csv_refuse(reader, err, "%s has more than %zu bytes", column->name,
                              column->size - 1);
        return 0;
    case ROW_TEXT:
        break;
    }
    return 0;
}

/* 1, 0 at the end, or -EINVAL. */
static int read_row(struct csv_reader *reader, const struct recorded *recorded,
                    const struct arm *arm, struct row *row, struct err *err)
{
    char *cells[CELLS_MOST];
    size_t n = 0;
    while (row_columns[n].name)
        n++;
    int rc = csv_read(reader, cells, n, err);
    if (rc <= 0)
        return rc;
    *row = (struct row){.arm = arm,
                        .planned_workers = arm->planned_workers,
                        .placement = "",
                        .role = "",
                        .bench = "",
                        .metric = ""};
    rc = check_place(reader, recorded, arm, cells, err);
    for (size_t i = 0; i < n && !rc; i++) {
        rc = check_cell(reader, &row_columns[i], cells[i], err);
        if (!rc)
            row_set(row, &row_columns[i], cells[i]);
    }
    if (rc)
        return rc;
    row->dims = dims_parse(arm->bench, row_key(row->params));
    return 1;
}

static bool has_metric(const struct bench *bench, const char *metric)
{
    for (const struct bench_metric *known = bench->metrics; known && known->name; known++)
        if (!strcmp(known->name, metric))
            return true;
    return false;
}

/* Declares a metric that this program's benchmark does not have, to keep its values. */
static int add_metric(struct recorded *recorded, const struct csv_reader *reader,
                      const struct row *row, struct err *err)
{
    /* Not const: recorded_arms.c allocated it, and the arms only borrow it. */
    struct bench *bench = (struct bench *)(uintptr_t)row->arm->bench;
    size_t n = 0;
    if (!(bench->scan || row->dims.n) || has_metric(bench, row->metric) ||
        !strcmp(row->metric, VALUE_STATUS) || !strcmp(row->metric, "retention") ||
        !strcmp(row->metric, METRIC_STAGE))
        return 0;
    while (bench->metrics && bench->metrics[n].name)
        n++;
    if (n == METRICS_MOST)
        return csv_refuse(reader, err, "%.40s has more than %d metrics", bench->name, METRICS_MOST);
    struct bench_metric *longer = recorded_alloc(recorded, n + 2, sizeof(*longer));
    char *unit = recorded_alloc(recorded, sizeof(row->unit), 1);
    if (!longer || !unit)
        return err_set(err, -ENOMEM, "no memory for the metrics of " CSV_ROWS_NAME);
    if (n)
        memcpy(longer, bench->metrics, n * sizeof(*longer));
    memcpy(unit, row->unit, sizeof(row->unit));
    longer[n] = (struct bench_metric){.name = row->metric, .unit = unit, .better = row->better};
    bench->metrics = longer;
    return 0;
}

static int read_rows(struct recorded *recorded, struct groups *groups, struct err *err)
{
    struct csv_reader reader;
    const struct round_values *values = &recorded->analysis.values;
    int rc = csv_read_header(&reader, CSV_ROWS_NAME, recorded->rows_text, recorded->rows_size,
                             ROW_COLUMNS, err);
    for (size_t arm = 0; arm < recorded->result.narms && !rc; arm++) {
        size_t n = count_of(recorded, arm, "rows");
        for (size_t i = 0; i < n && !rc; i++) {
            struct row row;
            rc = read_row(&reader, recorded, &recorded->result.arms[arm], &row, err);
            if (!rc)
                return refuse_end(&reader, n - i, err);
            rc = rc < 0 ? rc
                        : groups_check_row(groups, values, arm, &row, row_key(row.params), &reader,
                                           err);
            if (!rc)
                rc = add_metric(recorded, &reader, &row, err);
            if (!rc)
                rc = rows_append(&recorded->analysis.rows, &row, err);
        }
        if (!rc)
            rc = groups_check_rows(groups, arm, err);
    }
    return rc || !*reader.at ? rc : refuse_rest(&reader, err);
}

/* Sets the number of rounds, and the rate that baseline_choose needs, from the values. */
static int count_rounds(struct recorded *recorded, size_t arm, struct err *err)
{
    const struct round_values *values = &recorded->analysis.values;
    struct arm_rounds *rounds = &recorded->analysis.rounds.arms[arm];
    size_t end = values->first[arm + 1], n;
    double *rates = calloc(end - values->first[arm] + 1, sizeof(*rates));
    if (!rates)
        return err_set(err, -ENOMEM, "no memory for the rounds of " CSV_ROUNDS_NAME);
    rounds->rate = NAN;
    for (size_t at = values->first[arm]; at < end; at += n) {
        const struct round_value *group = &values->value[at];
        n = values_group(values, at, end);
        if (!strcmp(group->metric, VALUE_STATUS) || group->round == VALUE_NO_ROUND)
            continue;
        rounds->n = n > rounds->n ? n : rounds->n;
        for (size_t i = 0; i < n; i++)
            rates[i] = group[i].value;
        if (!strcmp(group->metric, METRIC_RATE) && !recorded->result.arms[arm].bench->scan)
            rounds->rate = stats_median(rates, stats_sort(rates, n));
    }
    free(rates);
    return 0;
}

static int make_rounds(struct recorded *recorded, struct err *err)
{
    struct rounds *rounds = &recorded->analysis.rounds;
    const struct result *result = &recorded->result;
    int rc = 0;
    rounds->arms = calloc(result->narms + 1, sizeof(*rounds->arms));
    if (!rounds->arms)
        return err_set(err, -ENOMEM, "no memory for %zu arms", result->narms);
    rounds->narms = result->narms;
    for (size_t i = 0; i < result->narms && !rc; i++) {
        const json_t *summary = summary_of(recorded, i);
        const char *status = json_string_value(json_object_get(summary, "status"));
        const char *reason = json_string_value(json_object_get(summary, "reason"));
        size_t source = count_of(recorded, i, "source");
        rounds->arms[i].status = status_find(status ? status : "");
        text_set(rounds->arms[i].reason, "%s", reason ? reason : "");
        rounds->arms[i].source = source < result->narms ? source : i;
        rc = count_rounds(recorded, i, err);
    }
    if (!rc)
        baseline_choose(result, rounds);
    return rc;
}

int recorded_tables(struct recorded *recorded, struct err *err)
{
    struct groups groups = {0};
    recorded->analysis.result = &recorded->result;
    int rc = read_values(recorded, &groups, err);
    if (!rc)
        rc = read_rows(recorded, &groups, err);
    groups_free(&groups);
    return rc ? rc : make_rounds(recorded, err);
}
