/* Comparisons in JSON: the fields, and numbers that are not known. */
#include "harness/json/comparison.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void test_comparison_json_has_outcome_and_null_for_unknown(void **state)
{
    (void)state;
    struct comparison one = {.base = "base",
                             .other = "new",
                             .metric = "throughput",
                             .ratio = 0.5,
                             .low = (double)NAN,
                             .high = (double)NAN,
                             .outcome = OUTCOME_UNCLEAR,
                             .gates = true,
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_comparison_json_has_outcome_and_null_for_unknown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
