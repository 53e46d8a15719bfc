/* Curves over numbers of workers: which results have them, and the text about them. */
#include "harness/record/analysis.h"

#include "tests/lib/fixture_result.h"
#include "tests/lib/unit.h"

static void add(struct result *result, enum placement placement, unsigned planned_workers,
                bool alone, double step_ms)
{
    size_t arm = fixture_add_arm(result, placement, planned_workers, alone);
    for (unsigned round = 0; round < 3; round++)
        (void)fixture_add_even_round(result, arm, round, step_ms, 4);
}

/* 100 items a step. Under partition 1 worker does 5,000, 2 workers 10,000 and 4 workers 10,250
 * items/s; none loses from 2 workers on. Some numbers of workers exceed the machine. */
static void make(struct result *result)
{
    fixture_result_init(result);
    add(result, PLACE_NONE, 1, false, 20);
    add(result, PLACE_PARTITION, 1, false, 20);
    add(result, PLACE_NONE, 4, false, 200);
    add(result, PLACE_PARTITION, 4, false, 39.02439);
    add(result, PLACE_PARTITION, 4, true, 39.02439);
    add(result, PLACE_NONE, 2, false, 50);
    add(result, PLACE_PARTITION, 2, false, 20);
    (void)fixture_add_skipped(result, PLACE_PARTITION, 16, "too few CPUs");
}

TEST(scaling_orders_counts_and_knows_what_could_not_be_had)
{
    ENDED_BY(fixture_result_free) struct result result;
    struct scaling scaling;
    make(&result);
    assert_true(scaling_read(&result, &scaling));
    assert_int_equal(scaling.ncounts, 4);
    assert_int_equal(scaling.nplacements, 2);
    const unsigned counts[] = {1, 2, 4, 16};
    const int arms[4][2] = {{0, 1}, {5, 6}, {2, 3}, {-1, -1}};
    for (size_t c = 0; c < 4; c++) {
        assert_int_equal(scaling.counts[c], counts[c]);
        for (size_t p = 0; p < 2; p++)
            assert_int_equal(scaling.arm[c][p], arms[c][p]);
    }
}

TEST(scaling_needs_two_counts_and_one_run)
{
    struct scaling scaling;
    EMPTY_RESULT(result);
    add(&result, PLACE_NONE, 2, false, 20);
    add(&result, PLACE_PARTITION, 2, false, 20);
    assert_false(scaling_read(&result, &scaling));
    add(&result, PLACE_PARTITION, 4, false, 20);
    assert_true(scaling_read(&result, &scaling));
    result.purpose = PURPOSE_TUNE;
    assert_false(scaling_read(&result, &scaling));
}

TEST(scaling_is_told_as_a_table_and_as_what_is_enough)
{
    ENDED_BY(fixture_result_free) struct result result;
    make(&result);
    FREED char *text = fixture_print(&result, false);
    static const char *const lines[] = {
        "items/s of all workers, and efficiency, by their number\n",
        "workers    none  effic.  partition  effic.\n",
        "1        5.00 k    100%     5.00 k    100%\n",
        "2        4.00 k       -     10.0 k       -\n",
        "4        2.00 k     20%     10.3 k    100%\n",
        "16            -       -          -       -\n",
    };
    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
        assert_has(text, lines[i]);
    for (char *at = text; *at; at++)
        *at = (char)(*at == '\n' ? ' ' : *at);
    if (!strstr(text, "highest throughput: 4 workers under partition, 10.3 k items/s, "
                      "efficiency 100%; 2 reach 98% of that.") ||
        !strstr(text, "place --workers 2 --placement partition"))
        fail_msg("%s", text);
}
