/* Reads run.json into struct result: arms, their plans, and what is known of their benchmarks. */
#include <errno.h>
#include <stdalign.h>
#include <stddef.h>
#include <string.h>

#include "harness/engine/worker/command_bench.h"
#include "harness/lib/text.h"
#include "harness/record/json_machine.h"
#include "harness/record/json_value.h"
#include "harness/show/json/recorded_parts.h"

/* The parameters of an arm are texts, as rows.csv writes them. */
struct texts {
    size_t n;
    struct {
        const char *name, *value;
    } * part;
};

/* "rows=64;cols=8" taken apart. */
static int split(struct recorded *recorded, const char *params, struct texts *texts,
                 struct err *err)
{
    size_t length = strlen(params), most = 1;
    for (const char *at = params; *at; at++)
        most += *at == ';';
    char *copy = recorded_alloc(recorded, length + 1, 1);
    texts->part = recorded_alloc(recorded, most, sizeof(*texts->part));
    if (!copy || !texts->part)
        return err_set(err, -ENOMEM, "no memory for the parameters of run.json");
    memcpy(copy, params, length + 1);

    for (char *at = copy; at && *at;) {
        char *end = strchr(at, ';'), *value;
        if (end)
            *end = '\0';
        value = strchr(at, '=');
        if (value)
            *value++ = '\0';
        texts->part[texts->n].name = at;
        texts->part[texts->n++].value = value ? value : "";
        at = end ? end + 1 : NULL;
    }
    return 0;
}

/* The default of this program's option, as text; NULL: it has no such option. */
static const char *default_of(struct recorded *recorded, const struct bench *known,
                              const char *name)
{
    alignas(max_align_t) unsigned char params[BENCH_PARAMS_MAX] = {0};
    for (const struct opt *opt = known ? known->opts : NULL; opt && opt->name; opt++) {
        if (strcmp(opt->name, name) != 0 || known->params_size > sizeof(params))
            continue;
        opts_set_defaults(known->opts, params);
        const char *text = opt_format_value(opt, params);
        size_t length = strlen(text);
        char *kept = recorded_alloc(recorded, length + 1, 1);
        return kept ? memcpy(kept, text, length + 1) : NULL;
    }
    return NULL;
}

/* Text options for the parameters of an arm; the struct of their values is an array of texts. */
static struct opt *make_options(struct recorded *recorded, const struct texts *texts,
                                const struct bench *known)
{
    struct opt *opts = recorded_alloc(recorded, texts->n + 1, sizeof(*opts));
    for (size_t i = 0; opts && i < texts->n; i++)
        opts[i] = (struct opt){.name = texts->part[i].name,
                               .kind = OPT_TEXT,
                               .offset = i * sizeof(const char *),
                               .def = default_of(recorded, known, texts->part[i].name)};
    return opts;
}

/* Marks a recorded benchmark as a scan. It only fails, as recorded values are not measured again.
 */
static int recorded_scan(struct bench_ctx *ctx)
{
    return err_set(ctx->err, -ENOTSUP, "a benchmark of run.json cannot be run");
}

/* The benchmark as this program knows it, or else only what the record says; NULL: no memory. */
static const struct bench *make_bench(struct recorded *recorded, const char *name,
                                      const struct bench *const *benches, const struct texts *texts)
{
    const json_t *said = json_object_get(json_object_get(recorded->record, "benchmarks"), name);
    const struct bench *known = bench_find(benches, name);
    if (!known)
        known = command_bench_find(name);
    struct bench *bench = recorded_alloc(recorded, 1, sizeof(*bench));
    if (!bench)
        return NULL;
    if (known)
        *bench = *known;
    else
        bench->runs_command = !strcmp(name, NEIGHBOURS_BENCH);
    bench->name = name;
    bench->ops_unit = json_value_text_of(said, "ops_unit");
    bench->rate_unit =
        json_object_get(said, "rate_unit") ? json_value_text_of(said, "rate_unit") : NULL;
    bench->scan = json_is_true(json_object_get(said, "scan")) ? recorded_scan : NULL;
    bench->gang = json_is_true(json_object_get(said, "together"));
    bench->opts = make_options(recorded, texts, known);
    recorded->benches[recorded->nbenches++] = bench;
    return bench->opts ? bench : NULL;
}

/* Sets benchmark and parameters. Arms with equal ones share them: equal pointers mean equality. */
static int fill_bench(struct recorded *recorded, size_t index, const struct bench *const *benches,
                      struct err *err)
{
    const json_t *arms = json_object_get(recorded->record, "arms");
    const json_t *json = json_array_get(arms, index);
    struct arm *arm = &recorded->result.arms[index];
    const char *name = json_value_text_of(json, "bench"),
               *params = json_value_text_of(json, "params_text");
    for (size_t i = 0; i < index; i++) {
        const struct arm *other = &recorded->result.arms[i];
        if (strcmp(other->bench->name, name) != 0)
            continue;
        arm->bench = other->bench;
        if (!strcmp(json_value_text_of(json_array_get(arms, i), "params_text"), params)) {
            arm->params = other->params;
            return 0;
        }
    }
    struct texts texts = {0};
    int rc = split(recorded, params, &texts, err);
    if (rc)
        return rc;
    if (!arm->bench)
        arm->bench = make_bench(recorded, name, benches, &texts);
    const char **values = recorded_alloc(recorded, texts.n + 1, sizeof(*values));
    if (!arm->bench || !values)
        return err_set(err, -ENOMEM, "no memory for the benchmarks of run.json");
    for (size_t i = 0; i < texts.n; i++) {
        if (!arm->bench->opts[i].name || strcmp(arm->bench->opts[i].name, texts.part[i].name) != 0)
            return err_set(err, -EINVAL, "arms of %.60s have different parameters", name);
        values[i] = texts.part[i].value;
    }
    arm->params = values;
    return 0;
}

static int fill_plan(struct recorded *recorded, const json_t *json, struct plan *plan,
                     struct err *err)
{
    const json_t *workers = json_object_get(json, "workers");
    plan->status = strcmp(json_value_text_of(json, "status"), "ok") != 0 ? PLAN_SKIPPED : PLAN_OK;
    text_set(plan->reason, "%s", json_value_text_of(json, "reason"));
    plan->nworkers = (unsigned)json_array_size(workers);
    plan->workers = recorded_alloc(recorded, plan->nworkers, sizeof(*plan->workers));
    int rc = plan->workers ? 0 : err_set(err, -ENOMEM, "no memory for the plans of run.json");
    for (unsigned w = 0; w < plan->nworkers && !rc; w++)
        rc = plan_worker_from_json(json_array_get(workers, w), &plan->workers[w], err);
    return rc;
}

/* Sets the variant, which arms with the same name share. Only what the name says is known. */
static int fill_variant(struct recorded *recorded, size_t index, const char *name, struct err *err)
{
    struct arm *arms = recorded->result.arms;
    for (size_t i = 0; i < index; i++)
        if (arms[i].variant && !strcmp(arms[i].variant->name, name))
            arms[index].variant = arms[i].variant;
    if (!name[0] || arms[index].variant)
        return 0;
    struct variant *variant = recorded_alloc(recorded, 1, sizeof(*variant));
    if (!variant)
        return err_set(err, -ENOMEM, "no memory for the variants of run.json");
    variant->plan = recorded->result.plan;
    const enum purpose purpose = recorded->result.purpose;
    if (purpose == PURPOSE_TUNE || purpose == PURPOSE_SIZING || purpose == PURPOSE_PREDICT)
        variant_take_name(variant, arms[index].placement, name);
    else
        text_set(variant->name, "%s", name);
    arms[index].alone = purpose == PURPOSE_MIX && !strncmp(name, ARM_ALONE, strlen(ARM_ALONE));
    arms[index].variant = variant;
    return 0;
}

/* Reads the dose, which the last worker of the plan gives. */
static int fill_dose(const json_t *dose, struct arm *arm, struct err *err)
{
    int rc =
        dose ? dose_parse(json_string_value(dose) ? json_string_value(dose) : "", &arm->dose, err)
             : 0;
    arm->plan.has_dose = !dose_is_idle(&arm->dose) && arm->plan.nworkers > arm->planned_workers;
    return rc;
}

static int refuse(size_t index, struct err *err, const char *what)
{
    return err_set(err, -EINVAL, "run.json, arm %zu of arms: %s", index, what);
}

/* Reads a count that run.json must have. */
static int take_count(const json_t *object, const char *key, json_int_t least, json_int_t most,
                      unsigned *count, struct err *err)
{
    const json_t *number = json_object_get(object, key);
    json_int_t value = json_integer_value(number);
    if (!json_is_integer(number) || value < least || value > most)
        return err_set(err, -EINVAL, "%s is no whole number from %lld to %lld", key, least, most);
    *count = (unsigned)value;
    return 0;
}

/* Reads the position of the arm in each round: the sequential test of two arms uses which ran
 * first. */
static int fill_orders(struct recorded *recorded, const json_t *observations, struct arm *arm,
                       struct err *err)
{
    const size_t rounds = recorded->result.rounds_done;
    size_t i;
    const json_t *observation;
    arm->orders = recorded_alloc(recorded, rounds, sizeof(*arm->orders));
    if (!arm->orders)
        return err_set(err, -ENOMEM, "no memory for the order of rounds");
    arm->norders = rounds;
    json_array_foreach(observations, i, observation)
    {
        unsigned round = json_value_count_of(observation, "round");
        if (round < rounds)
            arm->orders[round] = json_value_count_of(observation, "order");
    }
    return 0;
}

static int fill_arm(struct recorded *recorded, size_t index, const struct bench *const *benches,
                    struct err *err)
{
    const json_t *json = json_array_get(json_object_get(recorded->record, "arms"), index);
    const json_t *same_as = json_object_get(json, "same_as");
    struct arm *arm = &recorded->result.arms[index];
    arm->is_baseline = json_is_true(json_object_get(json, "alone"));
    arm->is_control = json_is_true(json_object_get(json, "canary"));
    arm->same_as = json_is_integer(same_as) ? (int)json_value_count_of(json, "same_as") : -1;
    struct err why = {0};
    int rc = take_count(json, "workers", 1, RECORDED_WORKERS_MOST, &arm->workers, &why);
    if (!rc)
        rc = take_count(json, "slots", 1, RECORDED_WORKERS_MOST, &arm->planned_workers, &why);
    if (!rc && arm->same_as >= (int)recorded->result.narms)
        rc = err_set(&why, -EINVAL, "same_as is of no arm");
    if (!rc)
        rc = placement_parse(json_value_text_of(json, "placement"), &arm->placement, &why);
    if (!rc && !json_value_text_of(json, "bench")[0])
        rc = err_set(&why, -EINVAL, "no bench");
    if (!rc)
        rc = fill_bench(recorded, index, benches, &why);
    if (!rc)
        rc = fill_variant(recorded, index, json_value_text_of(json, "variant"), &why);
    if (!rc)
        rc = fill_plan(recorded, json_object_get(json, "plan"), &arm->plan, &why);
    if (!rc)
        rc = fill_dose(json_object_get(json, "dose"), arm, &why);
    if (!rc)
        rc = fill_orders(recorded, json_object_get(json, "observations"), arm, &why);
    return rc == -EINVAL ? refuse(index, err, why.msg) : rc ? err_set(err, rc, "%s", why.msg) : 0;
}

/* Reads what all arms share. */
static int fill_result(struct recorded *recorded, struct err *err)
{
    const json_t *record = recorded->record;
    struct result *result = &recorded->result;
    struct err why = {0};
    text_set(result->run_id, "%s", json_value_text_of(record, "run_id"));
    result->plan = plan_options_from_json(json_object_get(record, "options"));
    result->scenario = json_value_text_of(record, "scenario");
    result->purpose = purpose_find(json_value_text_of(record, "purpose"));
    result->device = device_find(json_value_text_of(record, "device"));
    if (result->purpose == PURPOSE_TUNE)
        result->within =
            json_number_value(json_object_get(json_object_get(record, "options"), "within")) / 100;
    const char *slo = json_string_value(json_object_get(json_object_get(record, "options"), "slo"));
    if (slo && !slo_parse(slo, false, &recorded->slo, NULL))
        result->slo = &recorded->slo;
    result->until_clear = json_is_true(json_object_get(record, "until_clear"));
    result->seed = (uint64_t)json_integer_value(json_object_get(record, "seed"));
    result->narms = json_array_size(json_object_get(record, "arms"));
    if (!result->narms || !result->run_id[0])
        return err_set(err, -EINVAL, "run.json is of a run that measured nothing");
    if (result->narms > RECORDED_ARMS_MOST)
        return err_set(err, -EINVAL, "run.json has more than %d arms", RECORDED_ARMS_MOST);
    int rc = take_count(record, "rounds_planned", 1, RECORDED_ROUNDS_MOST, &result->rounds_planned,
                        &why);
    const json_t *done = json_object_get(record, "rounds_done");
    if (!rc && json_is_integer(done) && !json_integer_value(done))
        return err_set(err, -ENODATA,
                       "no round of it was finished: the run was cut off, or failed");
    if (!rc)
        rc = take_count(record, "rounds_done", 1, result->rounds_planned, &result->rounds_done,
                        &why);
    return rc ? err_set(err, rc, "run.json: %s", why.msg) : 0;
}

int recorded_arms(struct recorded *recorded, const struct bench *const *benches, struct err *err)
{
    const char *background = json_string_value(json_object_get(recorded->record, "background"));
    struct result *result = &recorded->result;
    int rc = fill_result(recorded, err);
    if (rc)
        return rc;
    struct bench *behind = recorded_alloc(recorded, 1, sizeof(*behind));
    result->arms = recorded_alloc(recorded, result->narms, sizeof(*result->arms));
    recorded->benches = recorded_alloc(recorded, result->narms, sizeof(struct bench *));
    if (!behind || !result->arms || !recorded->benches)
        return err_set(err, -ENOMEM, "no memory for the arms of run.json");
    behind->name = background;
    result->background = background ? behind : NULL;
    for (size_t i = 0; i < result->narms && !rc; i++)
        rc = fill_arm(recorded, i, benches, err);
    return rc;
}
