/* How many cores are enough, on curves whose answers are known. */
#include "harness/engine/arms.h"
#include "harness/show/json/forms.h"
#include "harness/verdict/runs/sizing.h"
#include "tests/lib/fixture_result.h"
#include "tests/lib/unit.h"

enum { POINTS = 8 };

TEST(knee_finds_the_knee_and_what_is_enough)
{
    static const struct {
        double rate[POINTS];
        size_t knee, enough;
    } cases[] = {
        /* Cores 1, 2, 3, 4, 6, 8, 12, 16. */
        {{10, 20, 30, 40, 40, 40, 40, 40}, 3, 3},        /* four cores keep the device busy */
        {{10, 20, 30, 40, 60, 80, 120, 160}, POINTS, 7}, /* a line has no knee */
        {{10, 20, 30, 37, 39, 40, 40, 40}, 3, 4},        /* bends, then flattens */
        {{40, 40, 40, 40, 40, 40, 40, 40}, POINTS, 0},   /* one core suffices */
        {{10, 20, 30, 40, 41, 40, 30, 20}, 3, 3},        /* more cores are worse */
        {{NAN, 20, 30, 40, 40, 40, NAN, NAN}, 3, 3},     /* some sizes were not measured */
        {{10, 39, 40, NAN, NAN, NAN, NAN, NAN}, 1, 1},   /* three points suffice for a knee */
        {{NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN}, POINTS, POINTS},
    };
    static const unsigned cores[POINTS] = {1, 2, 3, 4, 6, 8, 12, 16};
    for (size_t c = 0; c < sizeof(cases) / sizeof(cases[0]); c++) {
        struct knee_point points[POINTS];
        for (size_t i = 0; i < POINTS; i++)
            points[i] = (struct knee_point){cores[i], cases[c].rate[i], true};
        if (knee_find(points, POINTS) != cases[c].knee ||
            knee_enough(points, POINTS, 0.05) != cases[c].enough)
            fail_msg("case %zu: knee %zu, enough %zu", c, knee_find(points, POINTS),
                     knee_enough(points, POINTS, 0.05));
    }
}

/* A worker's step takes 40 ms on one core and 10 ms on four or more; with two workers a tenth
 * longer. */
static void measure(struct topo *topo, struct sizing *sizing, struct result *result)
{
    const struct topo_options options = {.xml = "package:1 core:16 pu:1"};
    static const enum placement placements[] = {PLACE_NONE, PLACE_PARTITION};
    static const int64_t params[2] = {64, 8};
    const bool optional[2] = {false};
    const unsigned workers = 2;
    struct err err = {0};
    const struct arms_request request = {.bench = &fixture_bench,
                                         .params = params,
                                         .placements = placements,
                                         .nplacements = 2,
                                         .optional = optional,
                                         .workers = &workers,
                                         .nworkers = 1};
    assert_int_equal(topo_load(&options, topo, &err), 0);
    fixture_result_init(result);
    result->purpose = PURPOSE_SIZING;
    if (sizing_arrange(sizing, topo, &request, result, &err))
        fail_msg("%s", err.msg);
    for (size_t i = 0; i < result->narms; i++)
        for (unsigned round = 0; round < 3; round++) {
            unsigned threads = result->arms[i].plan.workers[0].threads;
            double step_ms = 40.0 / (threads < 4 ? threads : 4);
            (void)fixture_add_even_round(
                result, i, round, step_ms * (result->arms[i].planned_workers > 1 ? 1.1 : 1), 5);
        }
}

TEST(sizing_reads_both_curves_and_predicts_one_by_the_other)
{
    AUTO(topo) topo;
    struct sizing sizing = {0};
    ENDED_BY(fixture_result_free) struct result result;
    struct sizing_curves curves;
    AUTO(findings) findings = {0};
    measure(&topo, &sizing, &result);
    assert_int_equal(result.narms, 8 + 6); /* one worker on 1 to 16 cores, two workers on 1 to 8 */
    ANALYSED(analysis, &result);
    assert_true(sizing_read(&analysis, &curves));
    assert_int_equal(curves.n, 8);
    assert_int_equal(curves.workers, 2);
    assert_int_equal(curves.solo[curves.enough].cores, 4);
    assert_int_equal(curves.all[curves.enough_all].cores, 4);
    assert_int_equal(curves.solo[curves.knee].cores, 4);
    for (size_t i = 0; i < 6; i++)
        assert_true(fabs(curves.error[i] - 0.1) < 1e-6);
    assert_true(fabs(curves.median_error - 0.1) < 1e-6 && isnan(curves.all[6].rate));
    sizing_judge(&analysis, &findings);
    assert_int_equal(findings.n, 2);
    assert_has(findings.all[0].sentence,
               "one worker alone needs 4 cores (knee at 4); each of 2 workers 4 cores");
    assert_string_equal(findings.all[0].command,
                        "contend place --workers 2 --placement partition --cores-each 4");
    assert_has(findings.all[1].sentence, "median error of 10%, at worst 10%");
    json_auto_t *json = sizing_to_json(&analysis);
    assert_int_equal(json_integer_value(json_object_get(json, "enough_all")), 4);
}

TEST(sizing_takes_the_fewest_cores_that_keep_a_bound)
{
    AUTO(topo) topo;
    struct sizing sizing = {0};
    ENDED_BY(fixture_result_free) struct result result;
    AUTO(findings) findings = {0};
    measure(&topo, &sizing, &result);
    result.slo = fixture_slo("step_time<=14ms", false);
    ANALYSED(analysis, &result);
    sizing_judge(&analysis, &findings);
    assert_has(findings.all[0].sentence, "To hold step_time<=14ms, one worker alone needs 3 cores; "
                                         "each of 2 workers 4 cores.");
    assert_has(findings.all[0].command, "--cores-each 4");
    result.slo = fixture_slo("step_time<=10500us", false);
    AUTO(findings) lost = {0};
    sizing_judge(&analysis, &lost);
    assert_has(lost.all[0].sentence, "one worker alone needs 4 cores.");
    assert_string_equal(lost.all[0].command, "");
    result.slo = fixture_slo("step_time<=1ms", false);
    AUTO(findings) none = {0};
    sizing_judge(&analysis, &none);
    assert_int_equal(none.n, 0); /* slo_find says so */
}

TEST(sizing_takes_no_count_that_failed)
{
    AUTO(topo) topo;
    struct sizing sizing = {0};
    ENDED_BY(fixture_result_free) struct result result;
    struct sizing_curves curves;
    measure(&topo, &sizing, &result);
    result.arms[3].observations[1].status = STATUS_FAILED; /* one worker on 4 cores */
    ANALYSED(analysis, &result);
    assert_true(sizing_read(&analysis, &curves));
    assert_int_equal(curves.solo[3].cores, 4);
    assert_true(isnan(curves.solo[3].rate));
    assert_int_equal(curves.solo[curves.enough].cores, 6);
}

/* Two workers on a GPU do together what one did at its best; a failed size predicts nothing. */
TEST(sizing_predicts_nothing_from_what_failed)
{
    AUTO(topo) topo;
    struct sizing sizing = {0};
    ENDED_BY(fixture_result_free) struct result result;
    struct sizing_curves curves;
    measure(&topo, &sizing, &result);
    for (size_t i = 0; i < result.narms; i++)
        for (unsigned w = 0; w < result.arms[i].plan.nworkers; w++)
            result.arms[i].plan.workers[w].gpu = 0;
    result.arms[3].observations[1].status = STATUS_FAILED; /* one worker on 4 cores */
    ANALYSED(analysis, &result);
    assert_true(sizing_read(&analysis, &curves));
    double best = curves.solo[4].rate;
    assert_true(fabs(curves.predicted[0] / best - 0.5) < 1e-6); /* 2 x a quarter */
    assert_true(fabs(curves.predicted[2] / best - 1) < 1e-6);
    assert_true(isnan(curves.predicted[3]) && isnan(curves.error[3]));
    assert_true(!isnan(curves.all[3].rate));
    assert_true(fabs(curves.predicted[4] / best - 1) < 1e-6);
}

TEST(sizing_refuses_counts_that_cannot_be_read)
{
    static const char *const bad[] = {"0", "2,1", "x", "1,,2", "", "1,1"};
    const struct topo_options options = {.xml = "package:1 core:2 pu:1"};
    static const enum placement placement = PLACE_PARTITION;
    const unsigned workers = 1;
    AUTO(topo) topo;
    struct err err = {0};
    assert_int_equal(topo_load(&options, &topo, &err), 0);
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct sizing sizing = {.cores = bad[i]};
        ENDED_BY(arms_free) struct result result = {0};
        const struct arms_request request = {.bench = &fixture_bench,
                                             .placements = &placement,
                                             .nplacements = 1,
                                             .workers = &workers,
                                             .nworkers = 1};
        assert_true(sizing_arrange(&sizing, &topo, &request, &result, &err) < 0);
        assert_has(err.msg, "is not an ascending list");
    }
}
