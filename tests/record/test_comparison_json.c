/* Comparisons in JSON: the fields, and unknown numbers. */
#include "harness/show/json/result_json.h"
#include "tests/lib/unit.h"

TEST(comparison_json_has_outcome_and_null_for_unknown)
{
    struct comparison one = {.base = "base",
                             .other = "new",
                             .metric = "throughput",
                             .evidence.ratio = 0.5,
                             .evidence.low = (double)NAN,
                             .evidence.high = (double)NAN,
                             .evidence.outcome = OUTCOME_UNCLEAR,
                             .gating = true,
                             .reason = "one run a side"};
    struct comparisons comparisons = {.n = 1, .all = &one};
    json_t *array = comparisons_to_json(&comparisons);
    json_t *object = json_array_get(array, 0);
    assert_int_equal(json_array_size(array), 1);
    assert_int_equal(json_object_size(object), 19);
    assert_string_equal(json_string_value(json_object_get(object, "outcome")), "UNCLEAR");
    assert_string_equal(json_string_value(json_object_get(object, "reason")), "one run a side");
    assert_true(json_is_true(json_object_get(object, "gates")));
    assert_true(json_is_null(json_object_get(object, "low")));
    assert_true(json_real_value(json_object_get(object, "ratio")) == 0.5);
    json_decref(array);
}

TEST(comparison_json_reads_back_what_it_wrote)
{
    struct comparison one = {.base = "a",
                             .other = "b",
                             .arm = "pipeline, partition, 2 workers",
                             .params = "rows=64;slots=2",
                             .metric = "step_time",
                             .unit = "s",
                             .better = "lower",
                             .evidence.base = 0.25,
                             .evidence.other = 0.5,
                             .evidence.ratio = 2,
                             .evidence.low = 1.5,
                             .evidence.high = (double)NAN,
                             .evidence.level = 0.995,
                             .base_runs = 1,
                             .other_runs = 3,
                             .evidence.rounds = 40,
                             .evidence.outcome = OUTCOME_SLOWER,
                             .gating = true,
                             .reason = "After 40."};
    struct comparisons written = {.n = 1, .all = &one}, back;
    json_t *array = comparisons_to_json(&written);
    assert_int_equal(comparisons_from_json(array, &back, NULL), 0);
    json_decref(array);
    assert_int_equal(back.n, 1);
    assert_true(isnan(back.all[0].evidence.high));
    back.all[0].evidence.high = one.evidence.high; /* NaN has many bit patterns */
    json_t *again = comparisons_to_json(&back), *first = comparisons_to_json(&written);
    assert_true(json_equal(again, first));
    json_decref(again);
    json_decref(first);
    comparisons_free(&back);
    assert_int_equal(comparisons_from_json(NULL, &back, NULL), 0);
    assert_int_equal(back.n, 0);
}

TEST(comparison_json_of_variants)
{
    static struct variants variants = {
        .n = 2,
        .all = {{.name = "a"},
                {.name = "b", .env = {.text = {"A=1"}, .n = 1}, .before = "x", .after = "y"}},
        .state = {{.initial = ""}, {.initial = "0", .during = "1", .final = "0"}}};
    json_t *array = variants_to_json(&variants);
    const json_t *b = json_array_get(array, 1);
    const json_t *env = json_object_get(b, "env");
    assert_int_equal(json_array_size(array), 2);
    assert_string_equal(json_string_value(json_array_get(env, 0)), "A=1");
    assert_string_equal(json_string_value(json_object_get(b, "before")), "x");
    assert_string_equal(
        json_string_value(json_object_get(json_object_get(b, "read_back"), "during")), "1");
    assert_true(json_is_null(json_object_get(json_array_get(array, 0), "build")));
    json_decref(array);
}
