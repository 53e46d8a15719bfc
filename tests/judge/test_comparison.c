/* A comparison told as a finding. */
#include "harness/judge/comparison.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static const struct comparison slower = {.base = "base",
                                         .other = "new",
                                         .arm = "pipeline, partition, 2 workers",
                                         .metric = "throughput",
                                         .unit = "items/s",
                                         .better = "higher",
                                         .base_median = 200,
                                         .other_median = 150,
                                         .ratio = 0.75,
                                         .low = 0.7,
                                         .high = 0.8,
                                         .outcome = OUTCOME_SLOWER,
                                         .gates = true,
                                         .reason = "25% slower."};

static void test_comparison_slower_is_bad_and_keeps_its_numbers(void **state)
{
    (void)state;
    struct finding finding;
    comparison_to_finding(&slower, &finding);
    assert_string_equal(finding.id, "change_throughput");
    assert_int_equal(finding.severity, FINDING_BAD);
    assert_int_equal(finding.outcome, OUTCOME_SLOWER);
    assert_string_equal(finding.subject, slower.arm);
    assert_string_equal(finding.sentence, slower.reason);
    assert_string_equal(finding.evidence, "base 200 items/s, new 150 items/s");
    assert_true(finding.value == 0.75 && finding.low == 0.7 && finding.high == 0.8);
}

static void test_comparison_unclear_is_a_doubt_only_where_it_gates(void **state)
{
    (void)state;
    struct comparison comparison = slower;
    struct finding finding;
    comparison.outcome = OUTCOME_UNCLEAR;
    comparison_to_finding(&comparison, &finding);
    assert_int_equal(finding.severity, FINDING_DOUBT);
    comparison.gates = false;
    comparison_to_finding(&comparison, &finding);
    assert_int_equal(finding.severity, FINDING_NOTE);
}

static void test_comparison_of_one_side_has_no_evidence(void **state)
{
    (void)state;
    struct comparison comparison = slower;
    struct finding finding;
    comparison.outcome = OUTCOME_MISSING;
    comparison.other_median = (double)NAN;
    comparison_to_finding(&comparison, &finding);
    assert_int_equal(finding.severity, FINDING_DOUBT);
    assert_string_equal(finding.evidence, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_comparison_slower_is_bad_and_keeps_its_numbers),
        cmocka_unit_test(test_comparison_unclear_is_a_doubt_only_where_it_gates),
        cmocka_unit_test(test_comparison_of_one_side_has_no_evidence),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
