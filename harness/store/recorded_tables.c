/* rounds.csv and rows.csv as struct analysis; run.json says how many lines of them an arm has. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/stats.h"
#include "harness/rows/baseline.h"
#include "harness/rows/metric.h"
#include "harness/store/csv_read.h"
#include "harness/store/recorded_parts.h"

enum { CELLS_MOST = 24, ROUND_CELLS = 15 };

/* Where the cells of a line of rounds.csv are. */
enum {
    PLACEMENT = 2,
    ROLE = 4,
    BENCH = 5,
    PARAMS = 6,
    METRIC = 8,
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

static int refuse(const struct csv_reader *reader, struct err *err)
{
    return err_set(err, -EINVAL, "%s, record %u: not what run.json says", reader->name,
                   reader->line);
}

static bool is_of(const struct arm *arm, const char *placement, const char *role, const char *bench)
{
    return !strcmp(placement, placement_infos[arm->placement].name) &&
           !strcmp(role, row_role(arm)) && !strcmp(bench, arm->bench->name);
}

/* Behind slots=N, and what follows of background= and variant=; the end where there is no key. */
static size_t find_key(const char *params)
{
    const char *at = params;
    while (*at && strncmp(at, "slots=", strlen("slots=")) != 0)
        at += strcspn(at, ";") + (at[strcspn(at, ";")] == ';');
    bool ours = *at;
    while (ours) {
        at += strcspn(at, ";");
        at += *at == ';';
        ours = !strncmp(at, "background=", strlen("background=")) ||
               !strncmp(at, "variant=", strlen("variant="));
    }
    return (size_t)(at - params);
}

static int read_value(struct csv_reader *reader, const struct arm *arm, struct round_value *value,
                      struct err *err)
{
    char *cells[ROUND_CELLS];
    int rc = csv_read(reader, cells, ROUND_CELLS, err);
    if (rc < 0)
        return rc;
    if (!rc || !is_of(arm, cells[PLACEMENT], cells[ROLE], cells[BENCH]))
        return refuse(reader, err);
    *value = (struct round_value){
        .metric = cells[METRIC],
        .unit = cells[UNIT],
        .better = cells[BETTER],
        .key = cells[PARAMS] + find_key(cells[PARAMS]),
        .round = cells[ROUND][0] ? (int)strtol(cells[ROUND], NULL, 10) : VALUE_NO_ROUND,
        .value = cells[VALUE][0] ? strtod(cells[VALUE], NULL) : (double)NAN,
        .status = status_find(cells[STATUS]),
        .base = -1,
        .reason = cells[REASON],
    };
    return 0;
}

static int read_values(struct recorded *recorded, struct err *err)
{
    struct csv_reader reader = {.at = recorded->rounds_text, .name = CSV_ROUNDS_NAME};
    struct round_values *values = &recorded->analysis.values;
    int rc = csv_read_header(&reader, CSV_ROUND_COLUMNS, err);
    for (size_t arm = 0; arm < recorded->result.narms && !rc; arm++) {
        size_t n = count_of(recorded, arm, "round_values");
        for (size_t i = 0; i < n && !rc; i++) {
            struct round_value value;
            rc = read_value(&reader, &recorded->result.arms[arm], &value, err);
            if (!rc)
                rc = values_append(values, &value, err);
        }
        if (!rc)
            rc = values_close_arm(values, err);
    }
    return rc || !*reader.at ? rc : refuse(&reader, err);
}

static int read_row(struct csv_reader *reader, const struct arm *arm, struct row *row,
                    struct err *err)
{
    char *cells[CELLS_MOST];
    size_t n = 0;
    while (row_columns[n].name)
        n++;
    int rc = csv_read(reader, cells, n, err);
    if (rc < 0)
        return rc;
    *row = (struct row){
        .arm = arm, .slots = arm->slots, .placement = "", .role = "", .bench = "", .metric = ""};
    for (size_t i = 0; rc && i < n; i++)
        row_set(row, &row_columns[i], cells[i]);
    if (!rc || !is_of(arm, row->placement, row->role, row->bench))
        return refuse(reader, err);
    row->key_at = find_key(row->params);
    row->key_length = strlen(row->params + row->key_at);
    return 0;
}

static bool knows(const struct bench *bench, const char *metric)
{
    for (const struct bench_metric *known = bench->metrics; known && known->name; known++)
        if (!strcmp(known->name, metric))
            return true;
    return false;
}

/* What a benchmark emitted that this program does not know of it. */
static int add_metric(struct recorded *recorded, const struct row *row, struct err *err)
{
    /* Made by recorded_arms.c, which lends it to the arms. */
    struct bench *bench = (struct bench *)(uintptr_t)row->arm->bench;
    size_t n = 0;
    if (!(bench->scan || row->key_length) || knows(bench, row->metric) ||
        !strcmp(row->metric, VALUE_STATUS) || !strcmp(row->metric, "retention"))
        return 0;
    while (bench->metrics && bench->metrics[n].name)
        n++;
    struct bench_metric *longer = recorded_keep(recorded, n + 2, sizeof(*longer));
    char *unit = recorded_keep(recorded, sizeof(row->unit), 1);
    if (!longer || !unit)
        return err_set(err, -ENOMEM, "no memory for the metrics of " CSV_ROWS_NAME);
    if (n)
        memcpy(longer, bench->metrics, n * sizeof(*longer));
    memcpy(unit, row->unit, sizeof(row->unit));
    longer[n] = (struct bench_metric){.name = row->metric, .unit = unit, .better = row->better};
    bench->metrics = longer;
    return 0;
}

static int read_rows(struct recorded *recorded, struct err *err)
{
    struct csv_reader reader = {.at = recorded->rows_text, .name = CSV_ROWS_NAME};
    int rc = csv_read_header(&reader, ROW_COLUMNS, err);
    for (size_t arm = 0; arm < recorded->result.narms && !rc; arm++) {
        size_t n = count_of(recorded, arm, "rows");
        for (size_t i = 0; i < n && !rc; i++) {
            struct row row;
            rc = read_row(&reader, &recorded->result.arms[arm], &row, err);
            if (!rc)
                rc = add_metric(recorded, &row, err);
            if (!rc)
                rc = rows_append(&recorded->analysis.rows, &row, err);
        }
    }
    return rc || !*reader.at ? rc : refuse(&reader, err);
}

/* What the values say of their rounds: how many, and the rate that chooses baselines. */
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
        (void)snprintf(rounds->arms[i].reason, sizeof(rounds->arms[i].reason), "%s",
                       reason ? reason : "");
        rounds->arms[i].source = source < result->narms ? source : i;
        rc = count_rounds(recorded, i, err);
    }
    if (!rc)
        baseline_choose(result, rounds);
    return rc;
}

int recorded_tables(struct recorded *recorded, struct err *err)
{
    recorded->analysis.result = &recorded->result;
    int rc = read_values(recorded, err);
    if (!rc)
        rc = read_rows(recorded, err);
    return rc ? rc : make_rounds(recorded, err);
}
