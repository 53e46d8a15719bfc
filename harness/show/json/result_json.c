#include "harness/show/json/result_json.h"

#include <math.h>

#include "harness/lib/text.h"
#include "harness/record/json_value.h"

static json_t *to_json(const void *of, size_t i)
{
    const struct comparison *one = &((const struct comparisons *)of)->all[i];
    return json_value_object(
        "base:t other:t arm:t params:t metric:t unit:t better:t base_median:r other_median:r "
        "ratio:r low:r high:r level:r base_runs:i other_runs:i pairs:z outcome:t gates:b reason:t",
        one->base, one->other, one->arm, one->params, one->metric, one->unit, one->better,
        one->evidence.base, one->evidence.other, one->evidence.ratio, one->evidence.low,
        one->evidence.high, one->evidence.level, one->base_runs, one->other_runs,
        one->evidence.rounds, finding_outcome_name(one->evidence.outcome), one->gating,
        one->reason);
}

json_t *comparisons_to_json(const struct comparisons *comparisons)
{
    return json_value_array(comparisons, comparisons->n, to_json);
}

static struct comparison from_json(const json_t *object)
{
    struct comparison one = {
        .evidence.base = json_value_number_of(object, "base_median"),
        .evidence.other = json_value_number_of(object, "other_median"),
        .evidence.ratio = json_value_number_of(object, "ratio"),
        .evidence.low = json_value_number_of(object, "low"),
        .evidence.high = json_value_number_of(object, "high"),
        .evidence.level = json_value_number_of(object, "level"),
        .base_runs = json_value_count_of(object, "base_runs"),
        .other_runs = json_value_count_of(object, "other_runs"),
        .evidence.rounds = json_value_count_of(object, "pairs"),
        .evidence.outcome = finding_outcome_find(json_value_text_of(object, "outcome")),
        .gating = json_is_true(json_object_get(object, "gates")),
    };
    text_set(one.base, "%s", json_value_copy_text(object, "base"));
    text_set(one.other, "%s", json_value_copy_text(object, "other"));
    text_set(one.arm, "%s", json_value_copy_text(object, "arm"));
    text_set(one.params, "%s", json_value_copy_text(object, "params"));
    text_set(one.metric, "%s", json_value_copy_text(object, "metric"));
    text_set(one.unit, "%s", json_value_copy_text(object, "unit"));
    text_set(one.better, "%s", json_value_copy_text(object, "better"));
    text_set(one.reason, "%s", json_value_copy_text(object, "reason"));
    return one;
}

int comparisons_from_json(const json_t *json, struct comparisons *comparisons, struct err *err)
{
    int rc = 0;
    *comparisons = (struct comparisons){0};
    for (size_t i = 0; i < json_array_size(json) && !rc; i++) {
        struct comparison one = from_json(json_array_get(json, i));
        rc = comparisons_add(comparisons, &one, err);
    }
    return rc;
}

static json_t *text_at(const void *of, size_t i)
{
    return json_value_text(((const struct opt_texts *)of)->text[i]);
}

static json_t *from_variant(const void *of, size_t i)
{
    const struct variant *variant = &((const struct variants *)of)->all[i];
    const struct variant_state *state = &((const struct variants *)of)->state[i];
    return json_value_object(
        "name:t env:o params:o placement:t threads:n cpu_max:r before:t "
        "after:t check:t build:t read_back:o",
        variant->name, json_value_array(&variant->env, variant->env.n, text_at),
        json_value_array(&variant->params, variant->params.n, text_at), variant->placement,
        variant->plan.threads ? (int)variant->plan.threads : -1,
        variant->cpu_max > 0 ? variant->cpu_max : (double)NAN, variant->before, variant->after,
        variant->check, variant->build,
        json_value_object("initial:T during:T final:T", state->initial, state->during,
                          state->final));
}

json_t *variants_to_json(const struct variants *variants)
{
    return json_value_array(variants, variants->n, from_variant);
}
