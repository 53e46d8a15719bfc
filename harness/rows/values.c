#include "harness/rows/values.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/lib/base/array.h"
#include "harness/lib/base/text.h"
#include "harness/rows/metric.h"

/* The values of one arm are made from these. */
struct maker {
    const struct result *result;
    const struct rounds *rounds;
    size_t arm; /* index in both */
    struct round_values *values;
    struct err *err;
};

static const struct arm *arm_of(const struct maker *maker)
{
    return &maker->result->arms[maker->arm];
}

static const struct arm_rounds *rounds_of(const struct maker *maker)
{
    return &maker->rounds->arms[maker->arm];
}

/* The arm whose observations this arm uses: itself, or an arm with the same plan. */
static const struct arm *source_of(const struct maker *maker)
{
    return &maker->result->arms[rounds_of(maker)->source];
}

/* The arm's observation of a round, or NULL. */
static const struct observation *of_round(const struct arm *arm, unsigned round)
{
    for (size_t o = 0; o < arm->nobservations; o++)
        if (arm->observations[o].round == round)
            return &arm->observations[o];
    return NULL;
}

int values_append(struct round_values *values, const struct round_value *value, struct err *err)
{
    struct round_value *added = array_add(values->value, values->n, values->capacity);
    if (!added)
        return err_set(err, -ENOMEM, "out of memory for %zu values", values->n + 1);
    *added = *value;
    return 0;
}

int values_close_arm(struct round_values *values, struct err *err)
{
    size_t *grown = realloc(values->first, (values->narms + 2) * sizeof(*grown));
    if (!grown)
        return err_set(err, -ENOMEM, "out of memory for %zu arms", values->narms);
    values->first = grown;
    grown[0] = 0;
    grown[++values->narms] = values->n;
    return 0;
}

/* Appends with the status and reason of its round, or of its baseline's round if that is worse. */
static int append(const struct maker *maker, struct round_value value,
                  const struct observation *own, const struct observation *base, int base_arm)
{
    bool by_base = base && base->status > own->status;
    value.round = (int)own->round;
    value.status = by_base ? base->status : own->status;
    value.reason = by_base ? base->reason : own->reason;
    value.base = by_base ? base_arm : -1;
    if (value.doubt && value.status < STATUS_NOISY)
        value.status = STATUS_NOISY;
    return values_append(maker->values, &value, maker->err);
}

static int append_absent(const struct maker *maker, struct round_value value,
                         const struct observation *own, const struct err *why)
{
    value.round = (int)own->round;
    value.status = why->code == -ENOTSUP ? STATUS_SKIPPED : STATUS_FAILED;
    value.reason = why->msg;
    value.base = -1;
    return values_append(maker->values, &value, maker->err);
}

static int append_status(const struct maker *maker, int round, enum status status,
                         const char *reason)
{
    const struct round_value value = {.metric = VALUE_STATUS,
                                      .unit = "",
                                      .better = "none",
                                      .round = round,
                                      .value = NAN,
                                      .status = status,
                                      .base = -1,
                                      .reason = reason};
    return values_append(maker->values, &value, maker->err);
}

/* Appends a status for each round without values, or for the arm if it has no round at all. */
static int append_statuses(const struct maker *maker)
{
    const struct arm *source = source_of(maker);
    const struct arm_rounds *rounds = rounds_of(maker);
    int rc = 0;
    if (arm_of(maker)->plan.status == PLAN_SKIPPED || !source->nobservations)
        return append_status(maker, VALUE_NO_ROUND, rounds->status, rounds->reason);
    for (size_t o = 0; o < source->nobservations && !rc; o++) {
        const struct observation *of = &source->observations[o];
        if (of->status > STATUS_CENSORED)
            rc = append_status(maker, (int)of->round, of->status, of->reason);
    }
    return rc;
}

static int append_metric(const struct maker *maker, const struct metric_info *metric)
{
    const struct arm_rounds *rounds = rounds_of(maker);
    int base_arm = rounds->baseline[metric->baseline], rc = 0;
    size_t before = maker->values->n;
    struct round_value value = {.metric = metric->name,
                                .unit = metric->unit ? metric->unit : rounds->rate_unit,
                                .better = metric->better};
    for (size_t i = 0; i < rounds->n && !rc; i++) {
        const struct round_fields *own = &rounds->fields[i];
        const struct round_fields *base = rounds_find(maker->rounds, base_arm, own->round);
        value.value = metric_value(metric, own, base, rounds->slices);
        if (isnan(value.value))
            continue;
        const struct observation *of_base =
            base ? of_round(&maker->result->arms[maker->rounds->arms[base_arm].source], own->round)
                 : NULL;
        rc = append(maker, value, of_round(source_of(maker), own->round), of_base, base_arm);
    }
    if (rc || maker->values->n > before || !metric->absent)
        return rc;
    value.round = VALUE_NO_ROUND;
    value.value = NAN;
    value.status = STATUS_SKIPPED;
    value.base = -1;
    value.reason = metric->absent;
    return values_append(maker->values, &value, maker->err);
}

static int append_stage(const struct maker *maker, const struct bench_stage *stage, unsigned index)
{
    const struct arm_rounds *rounds = rounds_of(maker);
    struct round_value value = {.metric = METRIC_STAGE,
                                .unit = "s",
                                .better = "lower",
                                .dims = dims_parse(arm_of(maker)->bench, stage->key)};
    bool any = stage->kind == STAGE_OTHER;
    int rc = 0;
    for (size_t i = 0; i < rounds->n; i++)
        any = any || rounds->fields[i].stage_time[index] > 0;
    for (size_t i = 0; any && i < rounds->n && !rc; i++) {
        value.value = rounds->fields[i].stage_time[index];
        if (!isnan(value.value))
            rc =
                append(maker, value, of_round(source_of(maker), rounds->fields[i].round), NULL, -1);
    }
    return rc;
}

/* Why no step has stage times. */
static const char *why_no_stages(const struct arm *source)
{
    for (size_t o = 0; o < source->nobservations; o++)
        for (unsigned w = 0; w < source->observations[o].nworkers; w++)
            if (source->observations[o].workers[w].stages.refused)
                return "its steps are too short to be timed stage by stage";
    return "no step of it ended";
}

/* A stage that took no time in any round is left out: it belongs to another path of a step. */
static int append_stages(const struct maker *maker)
{
    const struct arm *source = source_of(maker);
    size_t before = maker->values->n;
    int rc = 0;
    for (unsigned i = 0; source->bench->stages && source->bench->stages[i].name && !rc; i++)
        rc = append_stage(maker, &source->bench->stages[i], i);
    if (rc || !source->bench->stages || maker->values->n > before)
        return rc;
    const struct round_value none = {.metric = METRIC_STAGE,
                                     .unit = "s",
                                     .better = "lower",
                                     .round = VALUE_NO_ROUND,
                                     .value = NAN,
                                     .status = STATUS_SKIPPED,
                                     .base = -1,
                                     .reason = why_no_stages(source)};
    return values_append(maker->values, &none, maker->err);
}

/* Worker 0, which emitted the values of an observation; NULL if that is not usable. */
static const struct worker_result *emitted(const struct observation *of)
{
    return of && of->status <= STATUS_CENSORED && of->nworkers ? &of->workers[0] : NULL;
}

/* Why an emitted value of an observation is absent, or doubtful; NULL where it is neither. */
static const struct err *reason_of(const struct observation *of, const struct value *value)
{
    const struct worker_result *worker = emitted(of);
    return worker && value->reason && value->reason <= worker->nreasons
               ? &worker->reasons[value->reason - 1]
               : NULL;
}

/* A benchmark emits in the same order each round, so the hint is nearly always right. */
static const struct value *find_like(const struct observation *of, const struct value *like,
                                     size_t hint)
{
    const struct worker_result *worker = emitted(of);
    for (size_t i = 0; worker && i < worker->nvalues; i++) {
        const struct value *value = &worker->values[(hint + i) % worker->nvalues];
        if (value->metric == like->metric && !dims_compare(&value->dims, &like->dims))
            return value;
    }
    return NULL;
}

/* True if a round before `observation` has the value already. */
static bool seen_before(const struct arm *arm, size_t observation, const struct value *like,
                        size_t hint)
{
    for (size_t o = 0; o < observation; o++)
        if (find_like(&arm->observations[o], like, hint))
            return true;
    return false;
}

static int append_emitted(const struct maker *maker, size_t observation, const struct value *like,
                          size_t hint)
{
    int rc = 0;
    const struct arm *source = source_of(maker);
    const struct bench_metric *metric = &source->bench->metrics[like->metric];
    for (size_t o = observation; o < source->nobservations && !rc; o++) {
        const struct observation *own = &source->observations[o];
        const struct value *found = find_like(own, like, hint);
        const struct err *why = found ? reason_of(own, found) : NULL;
        const struct round_value value = {.metric = metric->name,
                                          .unit = metric->unit,
                                          .better = metric->better,
                                          .dims = like->dims,
                                          .value = found ? found->value : (double)NAN,
                                          .doubt = why && !why->code ? why->msg : NULL};
        if (!isnan(value.value))
            rc = append(maker, value, own, NULL, -1);
        else if (why && why->code)
            rc = append_absent(maker, value, own, why);
    }
    return rc;
}

static int append_retention(const struct maker *maker, const struct value *like, size_t hint)
{
    int rc = 0, idle = rounds_of(maker)->baseline[BASELINE_IDLE];
    const struct arm *source = source_of(maker);
    bool higher = strcmp(source->bench->metrics[like->metric].better, "higher") == 0;
    for (size_t o = 0; idle >= 0 && o < source->nobservations && !rc; o++) {
        const struct observation *own = &source->observations[o];
        const struct observation *base = of_round(&maker->result->arms[idle], own->round);
        const struct value *loaded = find_like(own, like, hint);
        const struct value *alone = find_like(base, like, hint);
        struct round_value value = {
            .metric = "retention", .unit = "ratio", .better = "higher", .dims = like->dims};
        if (!loaded || !alone)
            continue;
        value.value = higher ? loaded->value / alone->value : alone->value / loaded->value;
        if (!isnan(value.value))
            rc = append(maker, value, own, base, idle);
    }
    return rc;
}

/* By metric and key, in the order in which the first round that has them emitted them. */
static int append_all_emitted(const struct maker *maker)
{
    const struct arm *source = source_of(maker);
    int rc = 0;
    for (size_t o = 0; o < source->nobservations; o++) {
        const struct worker_result *worker = emitted(&source->observations[o]);
        for (size_t i = 0; worker && i < worker->nvalues && !rc; i++) {
            const struct value *like = &worker->values[i];
            if (o && seen_before(source, o, like, i))
                continue;
            rc = append_emitted(maker, o, like, i);
            if (!rc && source->bench->metrics[like->metric].retention)
                rc = append_retention(maker, like, i);
        }
    }
    return rc;
}

/* Metrics that need a baseline do not apply to baselines. */
static bool applies(const struct arm *arm, const struct metric_info *metric)
{
    /* A scan has no steps, but a dose can run beside a scan. */
    if (arm->bench->scan && strcmp(metric->name, METRIC_DOSE) != 0)
        return false;
    return metric->baseline == BASELINE_NONE || !arm->is_baseline;
}

static int append_arm(const struct maker *maker)
{
    const struct arm *arm = arm_of(maker);
    int rc = append_statuses(maker);
    if (rc || !rounds_of(maker)->n)
        return rc;
    for (const struct metric_info *metric = metrics; metric->name && !rc; metric++)
        if (applies(arm, metric))
            rc = append_metric(maker, metric);
    if (!rc)
        rc = append_stages(maker);
    return rc ? rc : append_all_emitted(maker);
}

int values_make(const struct result *result, const struct rounds *rounds,
                struct round_values *values, struct err *err)
{
    struct maker maker = {.result = result, .rounds = rounds, .values = values, .err = err};
    int rc = 0;
    *values = (struct round_values){0};
    for (maker.arm = 0; maker.arm < rounds->narms && !rc; maker.arm++) {
        rc = append_arm(&maker);
        if (!rc)
            rc = values_close_arm(values, err);
    }
    return rc;
}

void values_free(struct round_values *values)
{
    free(values->value);
    free(values->first);
    *values = (struct round_values){0};
}

char *values_format_reason(const struct result *result, const struct rounds *rounds, size_t arm,
                           const struct round_value *value, char *buf, size_t size)
{
    char shared[80];
    const char *doubt = value->doubt ? value->doubt : "";
    bool has_reason = value->reason[0] != '\0';
    (void)rounds_format_shared(result, rounds, arm, shared, sizeof(shared));
    (void)snprintf(buf, size, "%s%s%s%s%s%s", shared, shared[0] && doubt[0] ? "; " : "", doubt,
                   (shared[0] || doubt[0]) && has_reason ? "; " : "",
                   value->base >= 0 ? "its baseline: " : "", value->reason);
    return text_one_line(buf);
}

size_t values_group(const struct round_values *values, size_t at, size_t end)
{
    size_t n = 0;
    const struct round_value *first = &values->value[at];
    while (at + n < end && values_alike(&first[n], first))
        n++;
    return n;
}

bool values_alike(const struct round_value *a, const struct round_value *b)
{
    return !strcmp(a->metric, b->metric) && !dims_compare(&a->dims, &b->dims);
}
