#include "harness/record/values.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/lib/array.h"
#include "harness/lib/text.h"
#include "harness/record/jobs.h"
#include "harness/record/metric.h"

/* The values of one arm are made from these. */
struct maker {
    const struct result *result;
    const struct rounds *rounds;
    size_t arm; /* index in both */
    struct round_values *values;
    struct err *err;
};

static const struct round_value no_value = {.metric = VALUE_STATUS, .unit = "", .better = "none"};

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

int values_append(struct round_values *values, size_t arm, const struct round_value *value,
                  struct err *err)
{
    struct round_value *added = array_add(values->value, values->n, values->capacity);
    if (!added)
        return err_set(err, -ENOMEM, "out of memory for %zu values", values->n + 1);
    *added = *value;
    added->arm = arm;
    added->place = values->n;
    return 0;
}

static int by_name(const void *a, const void *b)
{
    const struct round_value *x = a, *y = b;
    int order = (x->arm > y->arm) - (x->arm < y->arm);
    order = order ? order : strcmp(x->metric, y->metric);
    order = order ? order : dims_compare(&x->dims, &y->dims);
    return order ? order : (x->place > y->place) - (x->place < y->place);
}

static int by_place(const void *a, const void *b)
{
    const struct round_value *x = a, *y = b;
    int order = (x->arm > y->arm) - (x->arm < y->arm);
    order = order ? order : (x->place > y->place) - (x->place < y->place);
    return order ? order : (x->round > y->round) - (x->round < y->round);
}

/* Metrics of all benchmarks first, as in their table; then others, as they came first. */
static size_t place_of(const struct round_value *value)
{
    enum { GENERAL = 1000 };
    const struct metric_info *metric = value->dims.n ? NULL : metric_find(value->metric);
    if (!strcmp(value->metric, VALUE_STATUS))
        return 0;
    return metric ? 1 + (size_t)(metric - metrics) : GENERAL + value->place;
}

/* Keeps a value, in place of one without a round. -EINVAL: it contradicts the one before it. */
static int keep(struct round_values *values, const struct round_value *value, struct err *err)
{
    const struct round_value *last = values->n ? &values->value[values->n - 1] : NULL;
    bool begins = !last || last->arm != value->arm || last->place != value->place;
    if (!begins && last->round != VALUE_NO_ROUND && last->round == value->round)
        return err_set(err, -EINVAL, "%.60s has two values in round %d", value->metric,
                       value->round);
    if (!begins &&
        (strcmp(last->unit, value->unit) != 0 || strcmp(last->better, value->better) != 0))
        return err_set(err, -EINVAL, "%.60s is in %.30s, %s is better, and in %.30s, %s",
                       value->metric, last->unit, last->better, value->unit, value->better);
    values->n += begins || last->round != VALUE_NO_ROUND;
    values->value[values->n - 1] = *value;
    return 0;
}

static int index_arms(struct round_values *values, size_t narms, struct err *err)
{
    size_t *first = calloc(narms + 1, sizeof(*first)), at = 0;
    values->first = first;
    values->narms = narms;
    for (size_t arm = 0; first && arm < narms; arm++) {
        while (at < values->n && values->value[at].arm == arm)
            at++;
        first[arm + 1] = at;
    }
    return first ? 0 : err_set(err, -ENOMEM, "out of memory for %zu arms", narms);
}

int values_sort(struct round_values *values, size_t narms, struct err *err)
{
    struct round_value *all = values->value;
    const size_t n = values->n;
    int rc = 0;
    if (n)
        qsort(all, n, sizeof(*all), by_name);
    for (size_t i = 0; i < n; i++) {
        bool begins = !i || all[i].arm != all[i - 1].arm || !values_alike(&all[i], &all[i - 1]);
        all[i].place = begins ? place_of(&all[i]) : all[i - 1].place;
    }
    if (n)
        qsort(all, n, sizeof(*all), by_place);
    values->n = 0;
    for (size_t i = 0; i < n && !rc; i++)
        rc = keep(values, &all[i], err);
    return rc ? rc : index_arms(values, narms, err);
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
    return values_append(maker->values, maker->arm, &value, maker->err);
}

/* Appends why there is no value. */
static int append_none(const struct maker *maker, struct round_value value, int round,
                       enum status status, const char *reason)
{
    value.round = round;
    value.value = NAN;
    value.status = status;
    value.base = -1;
    value.reason = reason;
    return values_append(maker->values, maker->arm, &value, maker->err);
}

static int append_metric(const struct maker *maker, const struct metric_info *metric,
                         const struct observation *own, const struct round_fields *fields)
{
    const struct arm_rounds *rounds = rounds_of(maker);
    int base_arm = rounds->baseline[metric->baseline];
    const struct round_fields *base = rounds_find(maker->rounds, base_arm, own->round);
    const struct round_value value = {
        .metric = metric->name,
        .unit = metric->unit ? metric->unit : rounds->rate_unit,
        .better = metric->better,
        .value = metric_value(metric, fields, base, rounds->slices),
    };
    if (isnan(value.value))
        return !metric->absent
                   ? 0
                   : append_none(maker, value, VALUE_NO_ROUND, STATUS_SKIPPED, metric->absent);
    size_t source = base ? maker->rounds->arms[base_arm].source : 0;
    return append(maker, value, own,
                  base ? arm_observation(&maker->result->arms[source], own->round) : NULL,
                  base_arm);
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
static bool has_stage(const struct maker *maker, const struct bench_stage *stage, size_t index)
{
    const struct arm_rounds *rounds = rounds_of(maker);
    bool any = stage->kind == STAGE_OTHER;
    for (size_t i = 0; i < rounds->n && !any; i++)
        any = rounds->fields[i].stage_time[index] > 0;
    return any;
}

static int append_stages(const struct maker *maker, const struct bench_stage *stages)
{
    const struct arm *source = source_of(maker);
    const struct arm_rounds *rounds = rounds_of(maker);
    const struct round_value none = {.metric = METRIC_STAGE, .unit = "s", .better = "lower"};
    size_t before = maker->values->n;
    int rc = 0;
    for (size_t s = 0; stages && stages[s].name && !rc; s++) {
        struct round_value value = none;
        value.dims = dims_parse(arm_of(maker)->bench, stages[s].key);
        for (size_t i = 0; has_stage(maker, &stages[s], s) && i < rounds->n && !rc; i++) {
            value.value = rounds->fields[i].stage_time[s];
            if (!isnan(value.value))
                rc = append(maker, value, arm_observation(source, rounds->fields[i].round), NULL,
                            -1);
        }
    }
    if (rc || !stages || maker->values->n > before)
        return rc;
    return append_none(maker, none, VALUE_NO_ROUND, STATUS_SKIPPED, why_no_stages(source));
}

/* Worker 0, which emitted the values of an observation; NULL if that is not usable. */
static const struct worker_result *emitted(const struct observation *of)
{
    return of && of->status <= STATUS_CENSORED && of->nworkers ? &of->workers[0] : NULL;
}

/* Why an emitted value of a worker is absent, or doubtful; NULL where it is neither. */
static const struct err *reason_of(const struct worker_result *worker, const struct value *value)
{
    return value->reason && value->reason <= worker->nreasons ? &worker->reasons[value->reason - 1]
                                                              : NULL;
}

/* A benchmark emits in the same order each round, so the hint is nearly always right. */
static const struct value *find_like(const struct worker_result *worker, const struct value *like,
                                     size_t hint)
{
    for (size_t i = 0; worker && i < worker->nvalues; i++) {
        const struct value *value = &worker->values[(hint + i) % worker->nvalues];
        if (value->metric == like->metric && !dims_compare(&value->dims, &like->dims))
            return value;
    }
    return NULL;
}

static int append_retention(const struct maker *maker, const struct observation *own,
                            const struct value *loaded, size_t hint)
{
    const int idle = rounds_of(maker)->baseline[BASELINE_IDLE];
    const struct bench_metric *metric = &source_of(maker)->bench->metrics[loaded->metric];
    const struct observation *base =
        idle < 0 ? NULL : arm_observation(&maker->result->arms[idle], own->round);
    const struct value *alone = metric->retention ? find_like(emitted(base), loaded, hint) : NULL;
    struct round_value value = {
        .metric = "retention", .unit = "ratio", .better = "higher", .dims = loaded->dims};
    if (!alone)
        return 0;
    value.value = strcmp(metric->better, "higher") ? alone->value / loaded->value
                                                   : loaded->value / alone->value;
    return isnan(value.value) ? 0 : append(maker, value, own, base, idle);
}

/* The job of a worker; NULL if all do the same. */
static const struct neighbour *job_of(const struct maker *maker, unsigned worker, unsigned *index)
{
    const struct neighbours *jobs = arm_jobs(maker->result, source_of(maker));
    *index = worker;
    return jobs ? neighbour_of(jobs, source_of(maker)->alone, worker, index) : NULL;
}

/* The value of all foreground workers of the job; NaN if one has none. */
static double value_over_workers(const struct maker *maker, const struct observation *own,
                                 const struct neighbour *job, const struct value *of, size_t hint)
{
    const struct bench_metric *metric = &source_of(maker)->bench->metrics[of->metric];
    unsigned index;
    double sum = 0, most = -INFINITY;
    unsigned n = 0;
    if (metric->over == OVER_FIRST)
        return of->value;
    for (unsigned w = 0; w < own->nworkers && !own->workers[w].background; w++) {
        if (job_of(maker, w, &index) != job)
            continue;
        const struct value *value = find_like(&own->workers[w], of, hint);
        if (!value)
            return NAN;
        n++;
        sum += value->value;
        most = fmax(most, value->value);
    }
    return metric->over == OVER_MOST ? most : metric->over == OVER_SUM ? sum : sum / n;
}

static int append_emitted(const struct maker *maker, const struct observation *own,
                          const struct worker_result *worker, const struct neighbour *job)
{
    int rc = 0;
    for (size_t i = 0; i < worker->nvalues && !rc; i++) {
        const struct value *of = &worker->values[i];
        const struct bench_metric *metric = &source_of(maker)->bench->metrics[of->metric];
        const struct err *why = reason_of(worker, of);
        const struct round_value value = {.metric = metric->name,
                                          .unit = metric->unit,
                                          .better = metric->better,
                                          .dims = of->dims,
                                          .value = value_over_workers(maker, own, job, of, i),
                                          .doubt = why && !why->code ? why->msg : NULL};
        if (!isnan(value.value))
            rc = append(maker, value, own, NULL, -1);
        else if (why && why->code)
            rc = append_none(maker, value, (int)own->round,
                             why->code == -ENOTSUP ? STATUS_SKIPPED : STATUS_FAILED, why->msg);
        if (!rc)
            rc = append_retention(maker, own, of, i);
    }
    return rc;
}

/* Of each job that runs the first worker emits for all. */
static int append_all_emitted(const struct maker *maker, const struct observation *own)
{
    unsigned index;
    int rc = 0;
    for (unsigned w = 0; emitted(own) && w < own->nworkers && !rc; w++) {
        const struct neighbour *job = job_of(maker, w, &index);
        if (!index)
            rc = append_emitted(maker, own, &own->workers[w], job);
    }
    return rc;
}

static int append_jobs(const struct maker *maker, const struct observation *own)
{
    struct job_value values[JOB_VALUES];
    const struct arm *source = source_of(maker);
    int rc = 0;
    for (size_t i = 0, n = jobs_values(maker->result, source, own, values); i < n && !rc; i++) {
        const struct bench_metric *of = &source->bench->metrics[values[i].metric];
        const struct round_value value = {
            .metric = of->name, .unit = of->unit, .better = of->better, .value = values[i].value};
        rc = append(maker, value, own, NULL, -1);
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

static int append_round(const struct maker *maker, const struct observation *own)
{
    const struct round_fields *fields = rounds_find(maker->rounds, (int)maker->arm, own->round);
    int rc = 0;
    if (!fields)
        return append_none(maker, no_value, (int)own->round, own->status, own->reason);
    for (const struct metric_info *metric = metrics; metric->name && !rc; metric++)
        if (applies(arm_of(maker), metric))
            rc = append_metric(maker, metric, own, fields);
    if (!rc && emitted(own) && arm_jobs(maker->result, source_of(maker)))
        rc = append_jobs(maker, own);
    return rc ? rc : append_all_emitted(maker, own);
}

static int append_arm(const struct maker *maker)
{
    const struct arm *source = source_of(maker);
    const struct arm_rounds *rounds = rounds_of(maker);
    int rc = 0;
    if (arm_of(maker)->plan.status == PLAN_SKIPPED || !source->nobservations)
        return append_none(maker, no_value, VALUE_NO_ROUND, rounds->status, rounds->reason);
    if (rounds->n)
        rc = append_stages(maker, source->bench->stages);
    for (size_t o = 0; o < source->nobservations && !rc; o++)
        rc = append_round(maker, &source->observations[o]);
    return rc;
}

int values_make(const struct result *result, const struct rounds *rounds,
                struct round_values *values, struct err *err)
{
    struct maker maker = {.result = result, .rounds = rounds, .values = values, .err = err};
    int rc = 0;
    *values = (struct round_values){0};
    for (maker.arm = 0; maker.arm < rounds->narms && !rc; maker.arm++)
        rc = append_arm(&maker);
    return rc ? rc : values_sort(values, rounds->narms, err);
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
    const char *doubt = value->doubt ? value->doubt : "";
    bool has_reason = value->reason[0] != '\0';
    const char *shared = rounds_format_shared(result, rounds, arm);
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
