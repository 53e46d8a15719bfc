#include "harness/record/row.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/lib/array.h"
#include "harness/lib/stats.h"
#include "harness/lib/text.h"
#include "harness/record/metric.h"

/* clang-format off */
#define COLUMN(field, kind) \
    {#field, ROW_##kind, offsetof(struct row, field), sizeof(((struct row *)NULL)->field)}
const struct row_column row_columns[] = {
    COLUMN(run_id, CHARS), COLUMN(scenario, TEXT), COLUMN(placement, TEXT),
    COLUMN(workers, UNSIGNED), COLUMN(role, TEXT), COLUMN(bench, TEXT), COLUMN(params, CHARS), COLUMN(device, TEXT),
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

/* The rows of one arm are made from these. */
struct maker {
    const struct result *result;
    const struct rounds *rounds;
    const struct round_values *values;
    size_t arm;      /* index in all three */
    double *scratch; /* one per round */
};

static const struct arm *arm_of(const struct maker *maker)
{
    return &maker->result->arms[maker->arm];
}

static const struct arm_rounds *rounds_of(const struct maker *maker)
{
    return &maker->rounds->arms[maker->arm];
}

static bool is_shared(const struct opt *opt, const void *one, const void *other)
{
    return !strcmp(opt_format_value(opt, one), opt_format_value(opt, other));
}

#define put(params, ...) text_append((params), ROW_PARAMS_MAX, ";", __VA_ARGS__)

void row_put_params(const struct result *result, const struct arm *arm, const struct arm *other,
                    const struct dims *at, char params[static ROW_PARAMS_MAX])
{
    unsigned behind = arm_background(arm);
    params[0] = '\0';
    for (const struct opt *opt = arm->bench->opts; opt && opt->name; opt++)
        if (!dims_has_name(arm->bench, at, opt->name) &&
            (!other || is_shared(opt, arm->params, other->params)))
            put(params, "%s=%s", opt->name, opt_format_value(opt, arm->params));
    put(params, "slots=%u", arm->planned_workers);
    if (result_has_doses(result) && dose_is_idle(&arm->dose))
        put(params, "dose=none");
    else if (result_has_doses(result))
        put(params, "dose=%s:%s", dose_names[arm->dose.kind], dose_format_level(&arm->dose));
    else if (result->background && behind)
        put(params, "background=%s:%u", result->background->name, behind);
    else if (result->background)
        put(params, "background=none");
    if (arm->variant)
        put(params, "variant=%s", arm->variant->name);
    if (at->n)
        put(params, "%s", dims_format(arm->bench, at));
}

const char *row_key(const char *params)
{
    const char *at = params;
    while (*at && strncmp(at, "slots=", strlen("slots=")) != 0)
        at += strcspn(at, ";") + (at[strcspn(at, ";")] == ';');
    bool ours = *at;
    while (ours) {
        at += strcspn(at, ";");
        at += *at == ';';
        ours = !strncmp(at, "background=", strlen("background=")) ||
               !strncmp(at, "dose=", strlen("dose=")) ||
               !strncmp(at, "variant=", strlen("variant="));
    }
    return at;
}

const char *row_role(const struct arm *arm)
{
    return arm->is_control ? "canary" : arm->is_baseline ? "baseline" : "foreground";
}

/* Everything but the numbers. */
static void describe(const struct maker *maker, const struct round_value *value, struct row *row)
{
    const struct result *result = maker->result;
    const struct arm *arm = arm_of(maker);
    *row = (struct row){
        .arm = arm,
        .scenario = result->scenario,
        .placement = placement_infos[arm->placement].name,
        .role = row_role(arm),
        .bench = arm->bench->name,
        .device = device_name(arm_device(result, arm)),
        .workers = arm->workers,
        .planned_workers = arm->planned_workers,
        .dims = value->dims,
        .metric = value->metric,
        .better = value->better,
        .median = NAN,
        .ci_low = NAN,
        .ci_high = NAN,
        .p95 = NAN,
        .p99 = NAN,
        .min = NAN,
        .max = NAN,
        .status = rounds_of(maker)->status,
    };
    text_set(row->unit, "%s", value->unit);
    text_set(row->run_id, "%s", result->run_id);
    row_put_params(result, arm, NULL, &value->dims, row->params);
    text_set(row->reason, "%s", rounds_of(maker)->reason);
}

/* Adds a note if the row's values are the measurement of another arm. */
static void explain_sharing(const struct maker *maker, struct row *row)
{
    char own[sizeof(row->reason)];
    const char *shared = rounds_format_shared(maker->result, maker->rounds, maker->arm);
    memcpy(own, row->reason, sizeof(own));
    if (shared[0])
        text_set(row->reason, "%s%s%.170s", shared, own[0] ? "; " : "", own);
}

/*
 * The status is that of the worse of the two arms that a value compares. Skipped rounds do not
 * count if other rounds have a value: `rounds` says how many do.
 */
static void take_status(const struct maker *maker, const struct round_value *value, bool any,
                        struct row *row)
{
    bool missed = any && value->status == STATUS_SKIPPED && isnan(value->value);
    if (missed || value->status <= row->status)
        return;
    row->status = value->status;
    if (value->base < 0)
        text_set(row->reason, "%s", value->reason);
    else
        text_set(row->reason, "its baseline: %.230s", maker->rounds->arms[value->base].reason);
}

/* Puts the first doubt of the benchmark before the disturbances of the arm. */
static void take_doubt(const struct round_value *values, size_t n, struct row *row)
{
    char own[sizeof(row->reason)];
    for (size_t i = 0; i < n; i++) {
        if (!values[i].doubt)
            continue;
        memcpy(own, row->reason, sizeof(own));
        text_set(row->reason, "%.130s%s%.120s", values[i].doubt, own[0] ? "; " : "", own);
        return;
    }
}

/* Percentiles are over steps, not rounds: they describe the slowest steps of a run. */
static void fill_step_times(const struct arm_rounds *rounds, struct row *row)
{
    row->samples = rounds->nsteps;
    row->p95 = stats_percentile(rounds->steps, rounds->nsteps, 0.95);
    row->p99 = stats_percentile(rounds->steps, rounds->nsteps, 0.99);
    row->min = stats_percentile(rounds->steps, rounds->nsteps, 0);
    row->max = stats_percentile(rounds->steps, rounds->nsteps, 1);
}

/* Summarises the n values of a metric and key, one per round. */
static void fill_numbers(const struct maker *maker, const struct round_value *values, size_t n,
                         struct row *row)
{
    bool any = false;
    for (size_t i = 0; i < n; i++)
        any = any || !isnan(values[i].value);
    for (size_t i = 0; i < n; i++) {
        maker->scratch[i] = values[i].value;
        take_status(maker, &values[i], any, row);
    }
    n = stats_sort(maker->scratch, n);
    if (n == 0)
        return;
    const struct stats_interval ci = stats_median_interval(maker->scratch, n);
    row->rounds = (unsigned)n;
    row->samples = n;
    row->median = stats_median(maker->scratch, n);
    row->ci_low = ci.low;
    row->ci_high = ci.high;
    row->min = maker->scratch[0];
    row->max = maker->scratch[n - 1];
}

/* The round whose loss is the median (the lower one of an even count), or VALUE_NO_ROUND. */
static int round_of_median_loss(const struct maker *maker)
{
    size_t end = maker->values->first[maker->arm + 1], n;
    for (size_t at = maker->values->first[maker->arm]; at < end; at += n) {
        const struct round_value *values = &maker->values->value[at];
        n = values_group(maker->values, at, end);
        if (strcmp(values->metric, METRIC_LOSS) != 0)
            continue;
        for (size_t i = 0; i < n; i++)
            maker->scratch[i] = values[i].value;
        double median = maker->scratch[(stats_sort(maker->scratch, n) - 1) / 2];
        for (size_t i = 0; i < n; i++)
            if (values[i].value == median)
                return values[i].round;
    }
    return VALUE_NO_ROUND;
}

static double value_in_round(const struct round_value *values, size_t n, int round)
{
    for (size_t i = 0; i < n; i++)
        if (values[i].round == round)
            return values[i].value;
    return NAN;
}

static struct dims shown(const struct row *row)
{
    const struct bench_metric *metric = bench_metric_find(row->arm->bench, row->metric);
    struct dims at = row->dims;
    for (unsigned part = 0; metric && metric->replaced.dim && part < at.n; part++)
        if (at.of[part].dim == metric->replaced.dim && at.of[part].at == metric->replaced.at)
            at.of[part].at = metric->shown;
    return at;
}

static const char unresolved[] =
    "not resolved: it is the difference of two measurements, and not clearly above 0";

bool row_is_unresolved(const struct row *row)
{
    return isnan(row->median) && !strcmp(row->reason, unresolved);
}

/* `rounds` keeps how many there are. */
static void drop_unresolved(struct row *row)
{
    const struct bench_metric *metric = bench_metric_find(row->arm->bench, row->metric);
    double low = row->rounds > 1 ? fmin(row->ci_low, row->median) : row->median;
    if (!metric || !metric->difference || row->status >= STATUS_SKIPPED || !(low <= 0))
        return;
    row->median = row->ci_low = row->ci_high = row->p95 = row->p99 = row->min = row->max = NAN;
    row->status = STATUS_SKIPPED;
    text_set(row->reason, "%s", unresolved);
}

int rows_append(struct rows *rows, const struct row *row, struct err *err)
{
    struct row *added = array_add(rows->row, rows->n, rows->capacity);
    if (!added)
        return err_set(err, -ENOMEM, "out of memory for %zu rows", rows->n + 1);
    *added = *row;
    added->shown = shown(row);
    drop_unresolved(added);
    return 0;
}

/* One row of a metric and key. */
static int append_group(const struct maker *maker, const struct round_value *values, size_t n,
                        int loss_round, struct rows *rows, struct err *err)
{
    struct row row;
    bool of_rounds = values->round != VALUE_NO_ROUND;
    const struct metric_info *metric =
        arm_of(maker)->bench->scan || values->dims.n ? NULL : metric_find(values->metric);
    if (!strcmp(values->metric, VALUE_STATUS) && rounds_of(maker)->n)
        return 0; /* the other rows carry the status of the arm's rounds */
    describe(maker, values, &row);
    if (of_rounds && strcmp(values->metric, VALUE_STATUS) != 0)
        fill_numbers(maker, values, n, &row);
    else if (!of_rounds) {
        row.status = values->status;
        text_set(row.reason, "%s", values->reason);
    }
    if (of_rounds && metric && metric->is_step_time)
        fill_step_times(rounds_of(maker), &row);
    if (of_rounds && metric && metric->is_loss) {
        row.median = value_in_round(values, n, loss_round);
        if (isnan(row.median))
            return 0;
    }
    take_doubt(values, n, &row);
    explain_sharing(maker, &row);
    return rows_append(rows, &row, err);
}

static int append_arm(const struct maker *maker, struct rows *rows, struct err *err)
{
    const struct round_values *values = maker->values;
    size_t end = values->first[maker->arm + 1], n;
    int loss_round = round_of_median_loss(maker), rc = 0;
    for (size_t at = values->first[maker->arm]; at < end && !rc; at += n) {
        n = values_group(values, at, end);
        rc = append_group(maker, &values->value[at], n, loss_round, rows, err);
    }
    return rc;
}

int rows_make(const struct result *result, const struct rounds *rounds,
              const struct round_values *values, struct rows *rows, struct err *err)
{
    struct maker maker = {.result = result, .rounds = rounds, .values = values};
    size_t most = 1;
    *rows = (struct rows){0};
    for (size_t i = 0; i < rounds->narms; i++)
        most = rounds->arms[i].n > most ? rounds->arms[i].n : most;
    maker.scratch = calloc(most, sizeof(*maker.scratch));
    int rc = maker.scratch ? 0 : err_set(err, -ENOMEM, "out of memory for rows");
    for (maker.arm = 0; !rc && maker.arm < rounds->narms; maker.arm++)
        rc = append_arm(&maker, rows, err);
    free(maker.scratch);
    return rc;
}

void rows_free(struct rows *rows)
{
    if (!rows)
        return;
    free(rows->row);
    *rows = (struct rows){0};
}

const char *row_doubt(const struct row *row, const struct arm_rounds *rounds)
{
    bool shown = !row->arm->is_baseline || bench_is_team(row->arm->bench);
    bool own = row->status == STATUS_NOISY && shown &&
               bench_metric_find(row->arm->bench, row->metric) &&
               strcmp(row->reason, rounds->reason) != 0;
    const char *end = own && rounds->status == STATUS_NOISY ? strstr(row->reason, "; ") : NULL;
    return !own ? "" : end ? str_fmt("%.*s", (int)(end - row->reason), row->reason) : row->reason;
}

bool metric_is_gating(const struct bench *bench, const char *metric, const struct dims *at)
{
    const struct bench_metric *own = bench_metric_find(bench, metric);
    const struct metric_info *general = metric_find(metric);
    if (own)
        return own->gating && dims_agree(at, own->compare_filter);
    /* The user said by what a command is judged; how long it ran may be fixed. */
    if (bench->runs_command && bench->rate_unit)
        return !strcmp(metric, METRIC_RATE);
    return general && general->gating && !bench->scan;
}

bool row_is_gating(const struct row *row)
{
    return !row->arm->is_control && !row->arm->is_baseline &&
           metric_is_gating(row->arm->bench, row->metric, &row->dims);
}

const struct row *rows_find(const struct rows *rows, const struct arm *arm, const char *metric)
{
    for (size_t i = 0; i < rows->n; i++)
        if (rows->row[i].arm == arm && !strcmp(rows->row[i].metric, metric))
            return &rows->row[i];
    return NULL;
}

double rows_median(const struct rows *rows, const struct arm *arm, const char *metric)
{
    const struct row *row = arm ? rows_find(rows, arm, metric) : NULL;
    return row ? row->median : (double)NAN;
}

const struct row *rows_next(const struct rows *rows, const struct arm *arm, const char *metric,
                            size_t *at)
{
    while (*at < rows->n) {
        const struct row *row = &rows->row[(*at)++];
        if (row->arm == arm && !isnan(row->median) && strcmp(row->metric, metric) == 0)
            return row;
    }
    return NULL;
}

const struct row *rows_at(const struct rows *rows, const struct arm *arm, const char *metric,
                          const struct dims *dims)
{
    size_t at = 0;
    const struct row *row = rows_next(rows, arm, metric, &at);
    while (row && dims_compare(&row->dims, dims) != 0)
        row = rows_next(rows, arm, metric, &at);
    return row;
}

double rows_stolen_share(const struct result *result, const struct rows *rows)
{
    return rows_largest_share(result, rows, "stolen_per_step");
}

double rows_largest_share(const struct result *result, const struct rows *rows, const char *metric)
{
    double most = 0;
    for (size_t i = 0; i < result->narms; i++) {
        const struct row *part = rows_find(rows, &result->arms[i], metric);
        const struct row *step = rows_find(rows, &result->arms[i], "step_time_mean");
        if (part && step && part->median > most * step->median)
            most = part->median / step->median;
    }
    return most;
}

bool arm_option_differs(const struct result *result, const struct arm *arm, const struct opt *opt)
{
    for (size_t i = 0; i < result->narms; i++)
        if (result->arms[i].bench == arm->bench &&
            !is_shared(opt, arm->params, result->arms[i].params))
            return true;
    return false;
}
