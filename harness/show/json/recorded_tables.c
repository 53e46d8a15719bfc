/* Reads rounds.csv into struct analysis, and makes its rows as a run does. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/engine/contract/command_load.h"
#include "harness/lib/stats.h"
#include "harness/lib/text.h"
#include "harness/record/analysis.h"
#include "harness/record/json_value.h"
#include "harness/record/metric.h"
#include "harness/show/json/recorded_parts.h"

enum { ROUND_CELLS = 15, ROW_CELLS = 22, METRICS_MOST = 256 };

/* Index of the cells of a line: up to BETTER in both files, then those of rounds.csv. */
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

/* Those of rows.csv that rounds.csv lacks. */
enum { ROW_SAMPLES = 12, ROW_P95 = 16, ROW_P99, ROW_MIN, ROW_MAX, ROW_STATUS_CELL, ROW_REASON };

static const json_t *summary_of(const struct recorded *recorded, size_t arm)
{
    const json_t *arms = json_object_get(recorded->record, "arms");
    return json_object_get(json_array_get(arms, arm), "summary");
}

static bool is_of(const struct result *result, const struct arm *arm, char **cells)
{
    char params[ROW_PARAMS_MAX];
    const struct dims at = dims_parse(arm->bench, row_key(cells[PARAMS]));
    const char *workers = str_fmt("%u", arm->workers);
    row_put_params(result, arm, NULL, &at, params);
    return !strcmp(params, cells[PARAMS]) && !strcmp(workers, cells[WORKERS]) &&
           !strcmp(arm->bench->name, cells[BENCH]) && !strcmp(row_role(arm), cells[ROLE]) &&
           !strcmp(placement_infos[arm->placement].name, cells[PLACEMENT]);
}

/* How many parameters of the arm are in the key, which alone has them then; -1: one has another
 * value there. */
static int count_in_key(const struct arm *arm, const char *key)
{
    char name[DIMS_KEY_MAX], value[DIMS_KEY_MAX];
    const struct dims at = dims_parse(arm->bench, key);
    int n = 0;
    for (unsigned part = 0; part < at.n; part++) {
        dims_part(arm->bench, &at, part, name, value);
        const struct opt *opt = opts_find(arm->bench->opts, name);
        if (opt && strcmp(opt_format_value(opt, arm->params), value) != 0)
            return -1;
        n += opt != NULL;
    }
    return n;
}

/* True if both lines are equal up to the key. */
static bool is_alike(char **cells, char **before)
{
    size_t length = (size_t)(row_key(cells[PARAMS]) - cells[PARAMS]);
    for (size_t i = RUN_ID; i < PARAMS; i++)
        if (!before[i] || strcmp(cells[i], before[i]) != 0)
            return false;
    return length == (size_t)(row_key(before[PARAMS]) - before[PARAMS]) &&
           !memcmp(cells[PARAMS], before[PARAMS], length);
}

static struct bench *own_bench(struct recorded *recorded, size_t arm)
{
    size_t i = 0;
    while (recorded->benches[i] != recorded->result.arms[arm].bench)
        i++;
    return recorded->benches[i];
}

/* Makes arm_device say what the line says. */
static void take_device(struct recorded *recorded, size_t arm, const char *name)
{
    struct result *result = &recorded->result;
    struct bench *bench = own_bench(recorded, arm);
    enum device device = device_find(name);
    const unsigned kinds = NEED_DEVICE | NEED_GPU | NEED_COLLECTIVE;
    if (!strcmp(device_name(arm_device(result, &result->arms[arm])), name))
        return;
    bench->needs &= ~kinds;
    if (device == DEVICE_CUDA)
        bench->needs |= NEED_GPU;
    else if (device != DEVICE_NONE) {
        bench->needs |= NEED_COLLECTIVE;
        result->transport = device;
    }
}

/* Finds the arm of a line: the next that is like it, from that of the line before on. */
static int find_arm(const struct csv_reader *reader, struct recorded *recorded, char **cells,
                    size_t *arm, struct err *err)
{
    const struct result *result = &recorded->result;
    const char *key = row_key(cells[PARAMS]);
    for (size_t i = 0, at = *arm; i < 2 * result->narms; i++, at++) {
        at = at < result->narms ? at : 0;
        bool is_like = i >= result->narms || count_in_key(&result->arms[at], key) >= 0;
        if (!is_like || !is_of(result, &result->arms[at], cells))
            continue;
        *arm = at;
        take_device(recorded, at, cells[DEVICE]);
        return 0;
    }
    return csv_refuse(reader, err, "of a configuration that run.json lacks: %.40s, %.30s, %.100s",
                      cells[BENCH], cells[PLACEMENT], cells[PARAMS]);
}

static int check(const struct csv_reader *reader, const struct result *result, char **cells,
                 struct err *err)
{
    if (strcmp(cells[RUN_ID], result->run_id) != 0)
        return csv_refuse(reader, err, "of run '%.60s', run.json is of '%.60s'", cells[RUN_ID],
                          result->run_id);
    if (strcmp(cells[SCENARIO], result->scenario) != 0)
        return csv_refuse(reader, err, "of scenario '%.60s', run.json is of '%.60s'",
                          cells[SCENARIO], result->scenario);
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

static int take_status(const struct csv_reader *reader, const char *cell, enum status *status,
                       struct err *err)
{
    *status = status_find(cell);
    if (!strcmp(status_name(*status), cell))
        return 0;
    return csv_refuse(reader, err, "status '%.40s' is none", cell);
}

static int take_value(const struct csv_reader *reader, const struct bench *bench, char **cells,
                      struct round_value *value, struct err *err)
{
    unsigned long long round = 0;
    int rc = 0;
    if (cells[ROUND][0])
        rc = csv_count(reader, "round", cells[ROUND], RECORDED_ROUNDS_MOST - 1, &round, err);
    *value = (struct round_value){.metric = cells[METRIC],
                                  .unit = cells[UNIT],
                                  .better = cells[BETTER],
                                  .dims = dims_parse(bench, row_key(cells[PARAMS])),
                                  .round = cells[ROUND][0] ? (int)round : VALUE_NO_ROUND,
                                  .base = -1,
                                  .reason = cells[REASON]};
    if (!rc)
        rc = take_status(reader, cells[STATUS], &value->status, err);
    return rc ? rc : csv_number(reader, "value", cells[VALUE], &value->value, err);
}

/* While a run is at work, or after it was killed, the last line may be cut off. */
static void drop_cut_line(struct recorded *recorded)
{
    char *text = recorded->rounds_text;
    while (recorded->rounds_size && text[recorded->rounds_size - 1] != '\n')
        text[--recorded->rounds_size] = '\0';
}

/* A run that was killed has more rounds than its run.json. */
static void count_round(struct result *result, int round)
{
    if (round >= (int)result->rounds_done)
        result->rounds_done = (unsigned)round + 1;
    if (result->rounds_planned < result->rounds_done)
        result->rounds_planned = result->rounds_done;
}

static int read_values(struct recorded *recorded, struct err *err)
{
    struct csv_reader reader;
    struct result *result = &recorded->result;
    struct round_values *values = &recorded->analysis.values;
    char *cells[ROUND_CELLS], *before[ROUND_CELLS] = {NULL};
    size_t arm = 0;
    if (!json_is_string(json_object_get(recorded->record, "ended")))
        drop_cut_line(recorded);
    int rc = csv_read_header(&reader, CSV_ROUNDS_NAME, recorded->rounds_text, recorded->rounds_size,
                             CSV_ROUND_COLUMNS, err);
    while (!rc && (rc = csv_read(&reader, cells, ROUND_CELLS, err)) == 1) {
        struct round_value value;
        rc = check(&reader, result, cells, err);
        if (!rc && (!is_alike(cells, before) ||
                    count_in_key(&result->arms[arm], row_key(cells[PARAMS])) != 0))
            rc = find_arm(&reader, recorded, cells, &arm, err);
        if (!rc)
            rc = take_value(&reader, result->arms[arm].bench, cells, &value, err);
        if (!rc)
            rc = values_append(values, arm, &value, err);
        if (!rc)
            count_round(result, value.round);
        memcpy(before, cells, sizeof(before));
    }
    if (rc)
        return rc;
    struct err why;
    rc = values_sort(values, result->narms, &why);
    return rc ? err_set(err, rc, CSV_ROUNDS_NAME ": %.200s", why.msg) : 0;
}

static bool has_metric(const struct bench *bench, const char *metric)
{
    for (const struct bench_metric *known = bench->metrics; known && known->name; known++)
        if (!strcmp(known->name, metric))
            return true;
    return false;
}

/* Declares a metric that this program's benchmark does not have, to keep its values. */
static int add_metric(struct recorded *recorded, size_t arm, const struct round_value *value,
                      struct err *err)
{
    struct bench *bench = own_bench(recorded, arm);
    bool is_named = bench->runs_command && !metric_find(value->metric);
    size_t n = 0;
    if (!(bench->scan || value->dims.n || is_named) || has_metric(bench, value->metric) ||
        !strcmp(value->metric, VALUE_STATUS) || !strcmp(value->metric, "retention") ||
        !strcmp(value->metric, METRIC_STAGE))
        return 0;
    while (bench->metrics && bench->metrics[n].name)
        n++;
    if (n == METRICS_MOST)
        return err_set(err, -EINVAL, CSV_ROUNDS_NAME ": %.40s has more than %d metrics",
                       bench->name, METRICS_MOST);
    struct bench_metric *longer = recorded_alloc(recorded, n + 2, sizeof(*longer));
    if (!longer)
        return err_set(err, -ENOMEM, "no memory for the metrics of " CSV_ROUNDS_NAME);
    if (n)
        memcpy(longer, bench->metrics, n * sizeof(*longer));
    longer[n] = (struct bench_metric){.name = value->metric,
                                      .unit = value->unit,
                                      .better = value->better,
                                      .gating = is_named && strcmp(value->better, "none") != 0};
    for (const struct bench_metric *client = client_metrics; is_named && client->name; client++)
        if (!strcmp(client->name, value->metric))
            longer[n] = *client;
        else if (strstr(value->metric, client->name)) /* of one of several jobs */
            longer[n].hidden = client->hidden;
    bench->metrics = longer;
    return 0;
}

static int add_metrics(struct recorded *recorded, struct err *err)
{
    const struct round_values *values = &recorded->analysis.values;
    int rc = 0;
    for (size_t arm = 0; arm < values->narms; arm++)
        for (size_t i = values->first[arm]; i < values->first[arm + 1] && !rc; i++)
            rc = add_metric(recorded, arm, &values->value[i], err);
    return rc;
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
    text_set(rounds->rate_unit, "%s", bench_rate_unit(recorded->result.arms[arm].bench));
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
        size_t source = (size_t)json_value_count_of(summary, "source");
        rounds->arms[i].status = status_find(status ? status : "");
        text_set(rounds->arms[i].reason, "%s", reason ? reason : "");
        rounds->arms[i].source = source < result->narms ? source : i;
        rc = count_rounds(recorded, i, err);
    }
    if (!rc)
        baseline_choose(result, rounds);
    return rc;
}

static struct row *find_row(struct rows *rows, size_t from, char **cells)
{
    for (size_t i = from; i < rows->n; i++) {
        struct row *row = &rows->row[i];
        if (!strcmp(row->metric, cells[METRIC]) && !strcmp(row->params, cells[PARAMS]) &&
            !strcmp(row->placement, cells[PLACEMENT]) && !strcmp(row->role, cells[ROLE]) &&
            !strcmp(row->run_id, cells[RUN_ID]))
            return row;
    }
    return NULL;
}

/*
 * Takes from rows.csv what rounds.csv lacks: percentiles of steps, which come from samples, and the
 * reason over all rounds. Both files have rows in one order. A killed run has no rows.csv.
 */
static int take_rows(struct recorded *recorded, struct err *err)
{
    struct csv_reader reader;
    struct rows *rows = &recorded->analysis.rows;
    char *cells[ROW_CELLS];
    size_t at = 0;
    if (!recorded->rows_text)
        return 0;
    int rc = csv_read_header(&reader, CSV_ROWS_NAME, recorded->rows_text, recorded->rows_size,
                             ROW_COLUMNS, err);
    while (!rc && (rc = csv_read(&reader, cells, ROW_CELLS, err)) == 1) {
        struct row *row = find_row(rows, at, cells);
        unsigned long long samples = 0;
        rc = 0;
        if (!row || row_is_unresolved(row))
            continue;
        at = (size_t)(row - rows->row) + 1;
        double *const numbers[] = {&row->p95, &row->p99, &row->min, &row->max};
        for (int i = 0; i < 4 && !rc; i++)
            rc = csv_number(&reader, row_columns[ROW_P95 + i].name, cells[ROW_P95 + i], numbers[i],
                            err);
        if (!rc)
            rc = csv_count(&reader, "samples", cells[ROW_SAMPLES], INT64_MAX, &samples, err);
        if (!rc)
            rc = take_status(&reader, cells[ROW_STATUS_CELL], &row->status, err);
        row->samples = (size_t)samples;
        text_set(row->reason, "%s", cells[ROW_REASON]);
    }
    return rc;
}

int recorded_tables(struct recorded *recorded, struct err *err)
{
    struct analysis *analysis = &recorded->analysis;
    analysis->result = &recorded->result;
    int rc = read_values(recorded, err);
    if (!rc)
        rc = add_metrics(recorded, err);
    if (!rc)
        rc = make_rounds(recorded, err);
    if (!rc)
        rc =
            rows_make(analysis->result, &analysis->rounds, &analysis->values, &analysis->rows, err);
    return rc ? rc : take_rows(recorded, err);
}
