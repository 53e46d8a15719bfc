/* A bad status is reported once for all arms that share its reason. */
#include "harness/verdict/odd.h"

#include "tests/lib/fixture_result.h"
#include "tests/lib/unit.h"

enum { ARMS = 4 };

static const struct bench_metric scan_metrics[] = {{"rate", "GB/s", "higher"}, {.name = NULL}};
static const struct bench scan = {
    .name = "a_scan_of_a_long_name", .metrics = scan_metrics, .scan = fixture_no_scan};
static const enum placement placements[ARMS] = {PLACE_NONE, PLACE_SIZED, PLACE_PARTITION,
                                                PLACE_NUMA};

/* Findings of one round of n arms of the scan that ended for these reasons; "" = without error. */
static void find(const char *const *reasons, size_t n, struct findings *findings)
{
    EMPTY_RESULT(result);
    for (size_t i = 0; i < n; i++) {
        size_t arm = fixture_add_arm(&result, placements[i % ARMS], 1, false);
        result.arms[arm].bench = &scan;
        result.arms[arm].params = NULL;
        struct observation *round = fixture_add_even_round(&result, arm, 0, 10, 4);
        round->status = reasons[i][0] ? STATUS_SKIPPED : STATUS_OK;
        put_text(round->reason, "%s", reasons[i]);
    }
    *findings = (struct findings){0};
    ANALYSED(analysis, &result);
    statuses_find(&analysis, findings);
}

TEST(statuses_all_alike_are_the_benchmarks)
{
    AUTO(findings) findings;
    find((const char *const[]){"worker 0: no GPU", "worker 1: no GPU", "worker 0: no GPU",
                               "worker 0: no GPU"},
         ARMS, &findings);
    assert_int_equal(findings.n, 1);
    assert_string_equal(findings.all[0].subject, "a_scan_of_a_long_name");
    assert_string_equal(findings.all[0].sentence, "skipped: worker 0: no GPU");
}

TEST(statuses_some_alike_name_the_benchmark_once)
{
    AUTO(findings) findings;
    find((const char *const[]){"worker 1: no GPU", "", "one node", "worker 0: no GPU"}, ARMS,
         &findings);
    assert_int_equal(findings.n, 2);
    assert_string_equal(findings.all[0].subject, "a_scan_of_a_long_name, none; numa");
    assert_string_equal(findings.all[1].subject, "a_scan_of_a_long_name, partition");
}

TEST(statuses_that_are_many_are_one_finding)
{
    enum { MANY = 64 };
    const char *reasons[MANY];
    AUTO(findings) findings;
    for (int i = 0; i < MANY; i++)
        reasons[i] = i ? "no GPU" : "";
    find(reasons, MANY, &findings);
    assert_int_equal(findings.n, 1);
    const char *subject = findings.all[0].subject, *others = strstr(subject, "; and others");
    assert_non_null(others);
    assert_string_equal(others, "; and others");
    assert_lacks(subject + 1, "a_scan");
}
