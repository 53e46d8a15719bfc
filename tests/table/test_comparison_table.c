/* Comparisons as a person reads them: what is shown, where, and how wide. */
#include "harness/table/comparison.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/lib/fixture_comparison.h"

enum { COLUMNS = 79 };

static char *print(const struct comparison *all, size_t n, const struct comparison_view *view)
{
    struct comparisons comparisons = {0};
    char *text = NULL;
    size_t size = 0;
    for (size_t i = 0; i < n; i++)
        assert_int_equal(comparisons_add(&comparisons, &all[i], NULL), 0);
    FILE *out = open_memstream(&text, &size);
    assert_non_null(out);
    comparisons_print(&comparisons, view, out);
    assert_int_equal(fclose(out), 0);
    comparisons_free(&comparisons);
    return text;
}

static void test_comparison_table_has_arm_numbers_and_interval(void **state)
{
    (void)state;
    struct comparison large = fixture_slower;
    large.base_median = 1048000;
    large.other_median = 933000;
    large.ratio = 0.8903;
    large.low = 0.85;
    large.high = 0.93;
    char *text = print(&large, 1, &(struct comparison_view){0});
    assert_string_equal(
        text, "                                             base       new  change interval\n"
              "pipeline, partition, 2 workers\n"
              "  SLOWER  throughput, items/s              1.05 M     933 k  -11.0% -15..-7.0%\n");
    free(text);
}

static void test_comparison_table_hides_what_does_not_gate(void **state)
{
    (void)state;
    struct comparison two[] = {fixture_slower, fixture_slower};
    two[1].gates = false;
    (void)strcpy(two[1].metric, "helper_cpu");
    char *text = print(two, 2, &(struct comparison_view){0});
    assert_null(strstr(text, "helper_cpu"));
    free(text);
    text = print(two, 2, &(struct comparison_view){.all = true});
    assert_non_null(strstr(text, "helper_cpu"));
    free(text);
    assert_string_equal(text = print(&two[1], 1, &(struct comparison_view){0}), "");
    free(text);
}

static void test_comparison_table_explains_and_stays_narrow(void **state)
{
    (void)state;
    struct comparison wide = fixture_slower;
    wide.ratio = 0.011;
    wide.low = 0.0051;
    wide.high = 0.023;
    (void)memset(wide.metric, 'm', sizeof(wide.metric) - 1);
    (void)memset(wide.base, 'b', sizeof(wide.base) - 1);
    (void)snprintf(wide.reason, sizeof(wide.reason), "%s",
                   "A long sentence that says why, in more words than fit into one line of a "
                   "terminal, so that it has to be wrapped.");
    char *text = print(&wide, 1, &(struct comparison_view){.explain = true});
    assert_non_null(strstr(text, "so that it has to be"));
    for (const char *line = text; *line; line += strcspn(line, "\n") + 1)
        assert_true(strcspn(line, "\n") <= COLUMNS);
    assert_null(strstr(text, "\033"));
    free(text);
}

static void test_comparison_table_of_one_side_has_no_ratio(void **state)
{
    (void)state;
    struct comparison missing = fixture_slower;
    missing.outcome = OUTCOME_MISSING;
    missing.other_median = missing.ratio = missing.low = missing.high = (double)NAN;
    char *text = print(&missing, 1, &(struct comparison_view){.color = true});
    assert_non_null(strstr(text, "\033[31mMISSING\033[0m"));
    assert_null(strstr(text, "nan"));
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_comparison_table_has_arm_numbers_and_interval),
        cmocka_unit_test(test_comparison_table_hides_what_does_not_gate),
        cmocka_unit_test(test_comparison_table_explains_and_stays_narrow),
        cmocka_unit_test(test_comparison_table_of_one_side_has_no_ratio),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
