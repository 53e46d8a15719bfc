/* When a round of workers that own their CPUs is disturbed. */
#include "harness/run/collect.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "tests/lib/fixture_result.h"

/* The status of a round of two workers, of which the second waited that share. */
static enum status judge(enum placement placement, unsigned threads, double share, const char *why)
{
    struct result result;
    fixture_result_init(&result);
    size_t arm = fixture_add_arm(&result, placement, 2, false);
    struct observation *round = fixture_add_even_round(&result, arm, 0, 10, 4);
    fixture_set_shares(&round->workers[0], 1, 0, 0);
    fixture_set_shares(&round->workers[1], 1 - share, share, 0);
    result.arms[arm].plan.workers[1].threads = threads;
    collect_waits(&result.arms[arm], round);
    enum status status = round->status;
    assert_string_equal(round->reason, why);
    fixture_result_free(&result);
    return status;
}

static void test_collect_waits_for_ones_own_cpus_are_noise(void **state)
{
    (void)state;
    const char said[] = "worker 1 waited 5% of its time for CPUs that are its own";
    assert_int_equal(judge(PLACE_PARTITION, 4, 0.05, said), STATUS_NOISY);
    assert_int_equal(judge(PLACE_PARTITION, 4, 0.015, ""), STATUS_OK);
    assert_int_equal(judge(PLACE_PARTITION, 8, 0.5, ""), STATUS_OK); /* more threads than CPUs */
    assert_int_equal(judge(PLACE_NONE, 8, 0.5, ""), STATUS_OK);      /* that is what it measures */
    assert_int_equal(judge(PLACE_SAME, 4, 0.5, ""), STATUS_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_collect_waits_for_ones_own_cpus_are_noise),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
