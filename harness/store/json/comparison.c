#include "harness/store/json/comparison.h"

#include <math.h>
#include <stdio.h>

#include "harness/store/json/value.h"

static json_t *to_json(const struct comparison *one)
{
    return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:i, s:i, "
                     "s:i, s:s, s:b, "
                     "s:o}",
                     "base", json_value_text(one->base), "other", json_value_text(one->other),
                     "arm", json_value_text(one->arm), "params", json_value_text(one->params),
                     "metric", json_value_text(one->metric), "unit", json_value_text(one->unit),
                     "better", json_value_text(one->better), "base_median",
                     json_value_real(one->base_median), "other_median",
                     json_value_real(one->other_median), "ratio", json_value_real(one->ratio),
                     "low", json_value_real(one->low), "high", json_value_real(one->high), "level",
                     json_value_real(one->level), "base_runs", (int)one->base_runs, "other_runs",
                     (int)one->other_runs, "pairs", (int)one->pairs, "outcome",
                     finding_outcome_name(one->outcome), "gates", one->gates, "reason",
                     json_value_text(one->reason));
}

json_t *comparisons_to_json(const struct comparisons *comparisons)
{
    json_t *array = json_array();
    for (size_t i = 0; array && i < comparisons->n; i++)
        if (json_array_append_new(array, to_json(&comparisons->all[i]))) {
            json_decref(array);
            return NULL;
        }
    return array;
}

static unsigned count(const json_t *object, const char *key)
{
    json_int_t n = json_integer_value(json_object_get(object, key));
    return n > 0 && n < INT32_MAX ? (unsigned)n : 0;
}

static struct comparison from_json(const json_t *object)
{
    struct comparison one = {
        .base_median = json_value_number_of(object, "base_median"),
        .other_median = json_value_number_of(object, "other_median"),
        .ratio = json_value_number_of(object, "ratio"),
        .low = json_value_number_of(object, "low"),
        .high = json_value_number_of(object, "high"),
        .level = json_value_number_of(object, "level"),
        .base_runs = count(object, "base_runs"),
        .other_runs = count(object, "other_runs"),
        .pairs = count(object, "pairs"),
        .outcome = finding_outcome_find(json_string_value(json_object_get(object, "outcome"))),
        .gates = json_is_true(json_object_get(object, "gates")),
    };
    json_value_copy_text(object, "base", one.base, sizeof(one.base));
    json_value_copy_text(object, "other", one.other, sizeof(one.other));
    json_value_copy_text(object, "arm", one.arm, sizeof(one.arm));
    json_value_copy_text(object, "params", one.params, sizeof(one.params));
    json_value_copy_text(object, "metric", one.metric, sizeof(one.metric));
    json_value_copy_text(object, "unit", one.unit, sizeof(one.unit));
    json_value_copy_text(object, "better", one.better, sizeof(one.better));
    json_value_copy_text(object, "reason", one.reason, sizeof(one.reason));
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

static json_t *from_texts(const struct opt_texts *texts)
{
    json_t *array = json_array();
    for (size_t i = 0; array && i < texts->n; i++)
        (void)json_array_append_new(array, json_value_text(texts->text[i]));
    return array;
}

static json_t *from_variant(const struct variant *variant, const struct variant_state *state)
{
    return json_pack(
        "{s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:{s:o, s:o, s:o}}", "name", variant->name, "env",
        from_texts(&variant->env), "params", from_texts(&variant->params), "placement",
        json_value_text(variant->placement), "before", json_value_text(variant->before), "after",
        json_value_text(variant->after), "check", json_value_text(variant->check), "build",
        json_value_text(variant->build), "read_back", "initial",
        json_value_text_or_null(state->initial), "during", json_value_text_or_null(state->during),
        "final", json_value_text_or_null(state->final));
}

json_t *variants_to_json(const struct variants *variants)
{
    json_t *array = json_array();
    for (size_t i = 0; array && i < variants->n; i++)
        (void)json_array_append_new(array, from_variant(&variants->all[i], &variants->state[i]));
    return array;
}
