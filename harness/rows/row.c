#include "harness/rows/row.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/stats.h"
#include "harness/rows/metric.h"
#include "harness/rows/rounds.h"

/* clang-format off */
#define COLUMN(field, kind) {#field, ROW_##kind, offsetof(struct row, field)}
const struct row_column row_columns[] = {
    COLUMN(run_id, CHARS), COLUMN(scenario, TEXT), COLUMN(placement, TEXT),
    COLUMN(workers, UNSIGNED), COLUMN(bench, TEXT), COLUMN(params, CHARS), COLUMN(device, TEXT),
    COLUMN(metric, TEXT), COLUMN(unit, CHARS), COLUMN(better, TEXT), COLUMN(rounds, UNSIGNED),
    COLUMN(samples, SIZE), COLUMN(median, DOUBLE), COLUMN(ci_low, DOUBLE),
    COLUMN(ci_high, DOUBLE), COLUMN(p95, DOUBLE), COLUMN(p99, DOUBLE), COLUMN(min, DOUBLE),
    COLUMN(max, DOUBLE), COLUMN(status, STATUS), COLUMN(reason, CHARS),
    {.name = NULL},
};
#undef COLUMN
/* clang-format on */

const char *row_text(const struct row *row, const struct row_column *column)
{
    const void *field = (const char *)row + column->offset;
    if (column->kind == ROW_CHARS)
        return field;
    if (column->kind == ROW_STATUS)
        return status_name(*(const enum status *)field);
    return *(const char *const *)field ? *(const char *const *)field : "";
}

/* What the rows of one arm are made from. */
struct maker {
    const struct result *result;
    const struct rounds *rounds;
    size_t arm;       /* index in both */
    double *values;   /* scratch: one a round */
    uint32_t *counts; /* scratch: one a round */
};

static const struct arm *arm_of(const struct maker *maker)
{
    return &maker->result->arms[maker->arm];
}

static const struct arm_rounds *rounds_of(const struct maker *maker)
{
    return &maker->rounds->arms[maker->arm];
}

static const struct round_values *
base_of(const struct maker *maker, const struct metric_info *metric, const struct round_values *own)
{
    return rounds_find(maker->rounds, rounds_of(maker)->baseline[metric->baseline], own->round);
}

static double value_of(const struct maker *maker, const struct metric_info *metric,
                       const struct round_values *own)
{
    return metric_value(metric, own, base_of(maker, metric, own), rounds_of(maker)->slices);
}

/* The round whose loss is the median (the lower one of an even count), or NULL. */
static const struct round_values *round_of_median_loss(const struct maker *maker)
{
    const struct arm_rounds *rounds = rounds_of(maker);
    const struct metric_info *loss = metric_find("loss_per_step");
    for (size_t i = 0; i < rounds->n; i++)
        maker->values[i] = value_of(maker, loss, &rounds->values[i]);
    size_t n = stats_sort(maker->values, rounds->n);
    for (size_t i = 0; n && i < rounds->n; i++)
        if (value_of(maker, loss, &rounds->values[i]) == maker->values[(n - 1) / 2])
            return &rounds->values[i];
    return NULL;
}

/* True when `key` ("size=4096;pages=4k") has a value for `name`. */
static bool key_names(const char *key, const char *name)
{
    size_t length = strlen(name);
    for (const char *at = key; at && *at; at = strchr(at, ';'), at += at != NULL)
        if (strncmp(at, name, length) == 0 && at[length] == '=')
            return true;
    return false;
}

/*
 * The params column: the benchmark's parameters, then the key of a scan's value, then slots=N, then
 * what makes load behind the arm: background=NAME:WORKERS, or none in the baselines of such a run.
 * A name stands once: where the key says which of several a value is for, the parameter gives way.
 */
static void describe_params(const struct arm *arm, const struct bench *background, const char *key,
                            struct row *row)
{
    size_t used = 0, size = sizeof(row->params);
    for (const struct opt *opt = arm->bench->opts; opt && opt->name && used < size; opt++) {
        char value[128];
        if (key_names(key, opt->name))
            continue;
        (void)opt_format_value(opt, arm->params, value, sizeof(value));
        used += (size_t)snprintf(row->params + used, size - used, "%s=%s;", opt->name, value);
    }
    if (used >= size)
        return;
    row->key_at = used;
    used += (size_t)snprintf(row->params + used, size - used, "%s%sslots=%u", key,
                             key[0] ? ";" : "", arm->slots);
    row->key_length = strnlen(key, size - 1 - row->key_at);
    unsigned behind = arm_background(arm);
    if (!background || used >= size)
        return;
    if (behind)
        (void)snprintf(row->params + used, size - used, ";background=%s:%u", background->name,
                       behind);
    else
        (void)snprintf(row->params + used, size - used, ";background=none");
}

/* `key` of a scan's value, or "". */
static void describe_arm(const struct maker *maker, struct row *row, const char *key)
{
    const struct result *result = maker->result;
    const struct arm *arm = arm_of(maker);
    *row = (struct row){
        .arm = arm,
        .scenario = result->scenario,
        .placement = placement_infos[arm->placement].name,
        .bench = arm->bench->name,
        .device = device_name(arm_device(result, arm)),
        .workers = arm->workers,
        .slots = arm->slots,
        .status = rounds_of(maker)->status,
    };
    (void)snprintf(row->run_id, sizeof(row->run_id), "%s", result->run_id);
    describe_params(arm, result->background, key, row);
    (void)snprintf(row->reason, sizeof(row->reason), "%s", rounds_of(maker)->reason);
}

/* Adds why a row's values are not its arm's own measurement. */
static void explain_sharing(const struct maker *maker, struct row *row)
{
    const struct arm *source = &maker->result->arms[rounds_of(maker)->source];
    if (source == arm_of(maker))
        return;
    char slots[32] = "", own[sizeof(row->reason)];
    if (source->slots != row->slots)
        (void)snprintf(slots, sizeof(slots), " of %u workers", source->slots);
    memcpy(own, row->reason, sizeof(own));
    (void)snprintf(row->reason, sizeof(row->reason), "same plan as %s%s, measured once%s%.180s",
                   placement_infos[source->placement].name, slots, own[0] ? "; " : "", own);
}

static void describe_metric(const struct maker *maker, const struct metric_info *metric,
                            struct row *row)
{
    describe_arm(maker, row, "");
    row->metric = metric->name;
    row->better = metric->better;
    if (metric->unit)
        (void)snprintf(row->unit, sizeof(row->unit), "%s", metric->unit);
    else
        (void)snprintf(row->unit, sizeof(row->unit), "%.28s/s", arm_of(maker)->bench->ops_unit);
    row->median = row->ci_low = row->ci_high = NAN;
    row->p95 = row->p99 = row->min = row->max = NAN;
}

/* A value is as good as the worse of the two arms it compares; `status` is of the baseline. */
static void take_base_status(const struct maker *maker, size_t base, enum status status,
                             struct row *row)
{
    if (status <= row->status)
        return;
    row->status = status;
    (void)snprintf(row->reason, sizeof(row->reason), "its baseline: %.230s",
                   maker->rounds->arms[base].reason);
}

/* Percentiles are of steps, not of rounds: what the slowest steps of a run feel like. */
static void fill_step_times(const struct arm_rounds *rounds, struct row *row)
{
    row->samples = rounds->nsteps;
    row->p95 = stats_percentile(rounds->steps, rounds->nsteps, 0.95);
    row->p99 = stats_percentile(rounds->steps, rounds->nsteps, 0.99);
    row->min = stats_percentile(rounds->steps, rounds->nsteps, 0);
    row->max = stats_percentile(rounds->steps, rounds->nsteps, 1);
}

/* The numbers of n >= 1 sorted values of rounds in maker->values. */
static void fill_interval(const struct maker *maker, size_t n, struct row *row)
{
    struct stats_interval ci =
        stats_median_interval(maker->values, n, maker->result->seed, maker->counts);
    row->rounds = (unsigned)n;
    row->samples = n;
    row->median = stats_median(maker->values, n);
    row->ci_low = ci.low;
    row->ci_high = ci.high;
    row->p95 = row->p99 = NAN;
    row->min = maker->values[0];
    row->max = maker->values[n - 1];
}

/* Fills the numbers from the rounds; false when no round has a value. */
static bool fill_numbers(const struct maker *maker, const struct metric_info *metric,
                         const struct round_values *loss_round, struct row *row)
{
    const struct arm_rounds *rounds = rounds_of(maker);
    size_t n = 0;
    for (size_t i = 0; i < rounds->n; i++) {
        double value = value_of(maker, metric, &rounds->values[i]);
        if (isnan(value))
            continue;
        maker->values[n++] = value;
        const struct round_values *base = base_of(maker, metric, &rounds->values[i]);
        if (base)
            take_base_status(maker, (size_t)rounds->baseline[metric->baseline], base->status, row);
    }
    n = stats_sort(maker->values, n);
    if (!n)
        return false;
    fill_interval(maker, n, row);
    if (metric->is_step_time)
        fill_step_times(rounds, row);
    if (metric->is_loss)
        row->median = loss_round ? value_of(maker, metric, loss_round) : NAN;
    return !isnan(row->median);
}

static int append_row(struct rows *rows, const struct row *row, struct err *err)
{
    if (rows->n == rows->capacity) {
        size_t capacity = rows->capacity ? 2 * rows->capacity : 64;
        struct row *grown = realloc(rows->row, capacity * sizeof(*grown));
        if (!grown)
            return err_set(err, -ENOMEM, "out of memory for %zu rows", capacity);
        rows->row = grown;
        rows->capacity = capacity;
    }
    rows->row[rows->n++] = *row;
    return 0;
}

/* A baseline is what others are compared with. */
static bool applies(const struct arm *arm, const struct metric_info *metric)
{
    return metric->baseline == BASELINE_NONE || !arm->alone;
}

static int append_metric(const struct maker *maker, const struct metric_info *metric,
                         const struct round_values *loss_round, struct rows *rows, struct err *err)
{
    struct row row;
    describe_metric(maker, metric, &row);
    if (!fill_numbers(maker, metric, loss_round, &row)) {
        if (!metric->absent)
            return 0;
        row.status = STATUS_SKIPPED;
        (void)snprintf(row.reason, sizeof(row.reason), "%s", metric->absent);
    }
    explain_sharing(maker, &row);
    return append_row(rows, &row, err);
}

/* The values that worker 0 emitted in one observation; none when it did not end well. */
static const struct worker_result *scanned(const struct arm *arm, size_t observation)
{
    const struct observation *of = &arm->observations[observation];
    return of->status <= STATUS_CENSORED && of->nworkers ? &of->workers[0] : NULL;
}

/* A scan emits in the same order each round, so the hint is nearly always right. */
static const struct value *find_value(const struct worker_result *worker, const struct value *like,
                                      size_t hint)
{
    for (size_t i = 0; i < worker->nvalues; i++) {
        const struct value *value = &worker->values[(hint + i) % worker->nvalues];
        if (value->metric == like->metric && strcmp(value->key, like->key) == 0)
            return value;
    }
    return NULL;
}

/* True when an earlier round than `observation` has the value already. */
static bool seen_before(const struct arm *arm, size_t observation, const struct value *value,
                        size_t hint)
{
    for (size_t o = 0; o < observation; o++)
        if (scanned(arm, o) && find_value(scanned(arm, o), value, hint))
            return true;
    return false;
}

static int append_value(const struct maker *maker, size_t observation, size_t index,
                        struct rows *rows, struct err *err)
{
    struct row row;
    const struct arm *arm = arm_of(maker);
    const struct value *value = &scanned(arm, observation)->values[index];
    const struct bench_metric *metric = &arm->bench->metrics[value->metric];
    size_t n = 0;
    describe_arm(maker, &row, value->key);
    row.metric = metric->name;
    row.better = metric->better;
    (void)snprintf(row.unit, sizeof(row.unit), "%s", metric->unit);
    for (size_t o = observation; o < arm->nobservations; o++) {
        const struct worker_result *worker = scanned(arm, o);
        const struct value *found = worker ? find_value(worker, value, index) : NULL;
        if (found)
            maker->values[n++] = found->value;
    }
    n = stats_sort(maker->values, n); /* drops what is not a number */
    if (n)
        fill_interval(maker, n, &row);
    return n ? append_row(rows, &row, err) : 0;
}

/* The arm's team without the background, or NULL. */
static const struct arm *team_alone(const struct result *result, const struct arm *arm)
{
    for (size_t i = 0; arm_background(arm) && i < result->narms; i++) {
        const struct arm *other = &result->arms[i];
        if (other->alone && other->bench == arm->bench && other->params == arm->params &&
            other->slots == arm->slots && bench_is_team(arm->bench))
            return other;
    }
    return NULL;
}

/* The arm's observation of a round, or NULL. */
static const struct observation *of_round(const struct arm *arm, unsigned round)
{
    for (size_t o = 0; o < arm->nobservations; o++)
        if (arm->observations[o].round == round)
            return &arm->observations[o];
    return NULL;
}

/* NaN where the observation has no such value. */
static double value_like(const struct arm *arm, const struct observation *observation,
                         const struct value *like, size_t hint)
{
    const struct worker_result *worker =
        observation ? scanned(arm, (size_t)(observation - arm->observations)) : NULL;
    const struct value *found = worker ? find_value(worker, like, hint) : NULL;
    return found ? found->value : NAN;
}

/*
 * Retention under load (METHOD): loaded / idle of what is better higher, else idle / loaded, of the
 * same round, so that drift of the machine cancels.
 */
static int append_retention(const struct maker *maker, const struct value *value, size_t hint,
                            struct rows *rows, struct err *err)
{
    struct row row;
    const struct arm *arm = arm_of(maker), *idle = team_alone(maker->result, arm);
    const struct bench_metric *metric = &arm->bench->metrics[value->metric];
    bool higher = strcmp(metric->better, "higher") == 0;
    size_t n = 0;
    describe_arm(maker, &row, value->key);
    for (size_t o = 0; idle && o < arm->nobservations; o++) {
        const struct observation *base = of_round(idle, arm->observations[o].round);
        double loaded = value_like(arm, &arm->observations[o], value, hint);
        double alone = value_like(idle, base, value, hint);
        double kept = higher ? loaded / alone : alone / loaded;
        if (isnan(kept))
            continue;
        maker->values[n++] = kept;
        take_base_status(maker, (size_t)(idle - maker->result->arms), base->status, &row);
    }
    n = stats_sort(maker->values, n);
    if (!n)
        return 0;
    row.metric = "retention";
    row.better = "higher";
    (void)snprintf(row.unit, sizeof(row.unit), "ratio");
    fill_interval(maker, n, &row);
    return append_row(rows, &row, err);
}

/* One row a metric and key, in the order in which the first round that has it emitted it. */
static int append_values(const struct maker *maker, struct rows *rows, struct err *err)
{
    const struct arm *arm = arm_of(maker);
    for (size_t o = 0; o < arm->nobservations; o++) {
        const struct worker_result *worker = scanned(arm, o);
        for (size_t i = 0; worker && i < worker->nvalues; i++) {
            int rc = 0;
            if (o && seen_before(arm, o, &worker->values[i], i))
                continue;
            rc = append_value(maker, o, i, rows, err);
            if (!rc && arm->bench->metrics[worker->values[i].metric].kept)
                rc = append_retention(maker, &worker->values[i], i, rows, err);
            if (rc)
                return rc;
        }
    }
    return 0;
}

static int append_arm(const struct maker *maker, struct rows *rows, struct err *err)
{
    if (arm_of(maker)->bench->scan && rounds_of(maker)->n)
        return append_values(maker, rows, err);
    if (!rounds_of(maker)->n) {
        struct row row;
        describe_metric(maker, metric_find("step_time"), &row);
        explain_sharing(maker, &row);
        return append_row(rows, &row, err);
    }
    const struct round_values *loss_round = round_of_median_loss(maker);
    for (const struct metric_info *metric = metrics; metric->name; metric++) {
        if (!applies(arm_of(maker), metric))
            continue;
        int rc = append_metric(maker, metric, loss_round, rows, err);
        if (rc)
            return rc;
    }
    return append_values(maker, rows, err);
}

static int append_all(struct maker *maker, struct rows *rows, struct err *err)
{
    size_t most = 1;
    for (size_t i = 0; i < maker->rounds->narms; i++)
        if (maker->rounds->arms[i].n > most)
            most = maker->rounds->arms[i].n;
    maker->values = calloc(most, sizeof(*maker->values));
    maker->counts = calloc(most, sizeof(*maker->counts));
    int rc = maker->values && maker->counts
                 ? 0
                 : err_set(err, -ENOMEM, "out of memory for %zu rounds", most);
    for (maker->arm = 0; !rc && maker->arm < maker->rounds->narms; maker->arm++)
        rc = append_arm(maker, rows, err);
    free(maker->counts);
    free(maker->values);
    return rc;
}

int rows_make(const struct result *result, struct rows *rows, struct err *err)
{
    struct rounds rounds;
    *rows = (struct rows){0};
    int rc = rounds_make(result, &rounds, err);
    if (!rc) {
        struct maker maker = {.result = result, .rounds = &rounds};
        rc = append_all(&maker, rows, err);
    }
    rounds_free(&rounds);
    return rc;
}

void rows_free(struct rows *rows)
{
    if (!rows)
        return;
    free(rows->row);
    *rows = (struct rows){0};
}

const struct row *rows_find(const struct rows *rows, const struct arm *arm, const char *metric)
{
    for (size_t i = 0; i < rows->n; i++)
        if (rows->row[i].arm == arm && !strcmp(rows->row[i].metric, metric))
            return &rows->row[i];
    return NULL;
}

bool arm_option_differs(const struct result *result, const struct arm *arm, const struct opt *opt)
{
    char own[64], others[64];
    (void)opt_format_value(opt, arm->params, own, sizeof(own));
    for (size_t i = 0; i < result->narms; i++)
        if (result->arms[i].bench == arm->bench &&
            strcmp(own, opt_format_value(opt, result->arms[i].params, others, sizeof(others))) != 0)
            return true;
    return false;
}
