/* Predictions from one and two workers, where the law that the machine follows is known. */
#include "harness/verdict/runs/predict.h"

#include "harness/show/json/forms.h"
#include "tests/lib/fixture_result.h"
#include "tests/lib/unit.h"

/* How long a step takes. */
struct law {
    double serial_ms, parallel_ms; /* the second divided by the CPUs of the worker */
    double shared; /* a step lengthens by this, times the share of all CPUs that others keep busy */
    double none;   /* what `none` keeps */
};

static double step_ms(const struct law *law, const struct arm *arm, unsigned worker)
{
    const unsigned n = arm->planned_workers;
    const bool own = placement_infos[arm->placement].disjoint;
    const double cpus = own ? bitset_count(&arm->plan.workers[worker].cpus) : 16.0 / n;
    const double ms_alone = law->serial_ms + law->parallel_ms / cpus;
    const double busy = (n - 1) * (law->serial_ms + law->parallel_ms) / ms_alone / 16;
    double ms = ms_alone * (1 + law->shared * busy);
    if (arm->placement == PLACE_NONE)
        ms /= law->none;
    return ms;
}

static void add_round(const struct law *law, struct result *result, unsigned round)
{
    for (size_t i = 0; i < result->narms; i++) {
        struct arm *arm = &result->arms[i];
        if (arm->idle || arm->plan.status != PLAN_OK)
            continue;
        struct observation *of = fixture_add_even_round(result, i, round, step_ms(law, arm, 0), 5);
        for (unsigned w = 1; w < arm->planned_workers; w++) {
            const double ms = step_ms(law, arm, w);
            fixture_set_steps(&of->workers[w], (const double[]){ms, ms, ms, ms, ms}, 5);
        }
    }
    result->rounds_done = round + 1;
}

/* The profile, and what follows it. */
static void measure(const struct law *law, struct predict *predict, struct topo *topo,
                    struct result *result)
{
    static const struct topo_options options = {.xml = "package:1 core:16 pu:1"};
    static const enum placement placements[] = {PLACE_NONE, PLACE_SIZED, PLACE_PARTITION};
    static const int64_t params[2] = {64, 8};
    static const unsigned workers[] = {1, 2, 3, 4, 6, 8};
    const bool optional[3] = {false};
    struct err err = {0};
    const struct arms_request request = {.bench = &fixture_bench,
                                         .params = params,
                                         .placements = placements,
                                         .nplacements = 3,
                                         .optional = optional,
                                         .workers = workers,
                                         .nworkers = 6};
    assert_int_equal(topo_load(&options, topo, &err), 0);
    fixture_result_init(result);
    result->purpose = PURPOSE_PREDICT;
    result->rounds_done = 0;
    if (predict_arrange(predict, topo, &request, result, &err))
        fail_msg("%s", err.msg);
    result->rounds_planned = 1;
    for (unsigned round = 0, made = 0; round < result->rounds_planned; round++) {
        add_round(law, result, round);
        ANALYSED(analysis, result);
        made += predict_next(predict, &analysis, result);
        assert_int_equal(made, predict->is_made);
        assert_true(round < 20);
    }
}

static const struct predict_cell *find(const struct prediction *of, enum placement placement,
                                       unsigned workers)
{
    for (size_t i = 0; i < of->n; i++)
        if (of->cell[i].arm->placement == placement && of->cell[i].arm->planned_workers == workers)
            return &of->cell[i];
    fail_msg("no cell of %u workers", workers);
    return NULL;
}

TEST(predict_measures_one_and_two_workers_and_knows_the_rest)
{
    static const struct law laws[] = {
        {.serial_ms = 2, .parallel_ms = 40, .shared = 0, .none = 0.95},
        {.serial_ms = 10, .parallel_ms = 10, .shared = 0.2, .none = 0.95},
        {.serial_ms = 0.5, .parallel_ms = 60, .shared = 0.6, .none = 0.95},
    };
    for (size_t i = 0; i < sizeof(laws) / sizeof(laws[0]); i++) {
        AUTO(topo) topo;
        ENDED_BY(fixture_result_free) struct result result;
        struct predict predict = {.max_time_s = 90, .verify_rounds = 2};
        struct prediction of;
        AUTO(findings) findings = {0};
        measure(&laws[i], &predict, &topo, &result);
        assert_int_equal(result.rounds_done, 5 + 2);
        ANALYSED(analysis, &result);
        assert_true(predict_read(&analysis, &of));
        assert_int_equal(of.n, 1 + 5 * 3);
        assert_int_equal(of.verified, 4 * 3);
        assert_int_equal(of.bounds, 0);
        assert_near(of.drift, 1);
        if (of.errors.median > 0.05 || of.errors.worst > 0.15 || of.inside < 11)
            fail_msg("law %zu: median %.3f, worst %.3f, inside %zu", i, of.errors.median,
                     of.errors.worst, of.inside);
        assert_true(of.errors.median < of.line.median);
        assert_int_not_equal(of.cell[of.fewest].arm->placement, PLACE_NONE);
        predict_judge(&analysis, &findings);
        assert_string_equal(findings.all[0].id, "predict");
        assert_has(findings.all[0].command, "contend place --workers ");
    }
}

TEST(predict_gives_a_bound_where_threads_wait_for_others_without_a_cpu)
{
    static const struct law law = {.serial_ms = 2, .parallel_ms = 40, .none = 0.3};
    AUTO(topo) topo;
    ENDED_BY(fixture_result_free) struct result result;
    struct predict predict = {.max_time_s = 90, .verify_rounds = 1};
    struct prediction of;
    measure(&law, &predict, &topo, &result);
    ANALYSED(analysis, &result);
    assert_true(predict_read(&analysis, &of));
    assert_int_equal(of.bounds, 4);
    assert_int_equal(of.bounds_held, 4);
    const struct predict_cell *cell = find(&of, PLACE_NONE, 8);
    assert_true(cell->is_bound && cell->limit == PREDICT_BY_WAITING);
    assert_near(cell->low, 0);
    assert_true(isnan(cell->error) && cell->rate > cell->measured);
    assert_false(find(&of, PLACE_SIZED, 8)->is_bound);
    assert_int_equal(of.cell[of.best].is_bound, false);

    json_auto_t *json = prediction_to_json(&analysis);
    assert_int_equal(json_integer_value(json_object_get(json, "bounds_held")), 4);
    assert_int_equal(json_array_size(json_object_get(json, "cells")), of.n);
}

TEST(predict_says_what_the_machine_itself_changed)
{
    static const struct law law = {.serial_ms = 2, .parallel_ms = 40, .none = 0.9};
    AUTO(topo) topo;
    ENDED_BY(fixture_result_free) struct result result;
    struct predict predict = {.max_time_s = 90, .verify_rounds = 1};
    struct prediction of;
    AUTO(findings) findings = {0};
    const char *said = "";
    measure(&law, &predict, &topo, &result);
    for (size_t i = 0; i < result.narms; i++)
        if (arm_is_fresh(&result.arms[i])) {
            struct worker_result *worker = &result.arms[i].observations[0].workers[0];
            fixture_set_steps(worker, (const double[]){9, 9, 9, 9, 9}, 5); /* 4.5 before */
        }
    ANALYSED(analysis, &result);
    assert_true(predict_read(&analysis, &of));
    assert_near(of.drift, 0.5);
    assert_near(of.one, 100 / 4.5e-3);
    predict_judge(&analysis, &findings);
    for (size_t i = 0; i < findings.n; i++)
        said = strcmp(findings.all[i].id, "predict_drift") ? said : findings.all[i].sentence;
    assert_has(said, "one worker alone did 0.50x what it did before");
}

/* What the profile has measured is what it says, whatever comes after it. */
TEST(predict_does_not_learn_from_what_it_predicted)
{
    static const struct law law = {.serial_ms = 2, .parallel_ms = 40, .none = 0.9};
    AUTO(topo) topo;
    ENDED_BY(fixture_result_free) struct result result;
    struct predict predict = {.max_time_s = 90, .verify_rounds = 0};
    struct prediction before, after;
    measure(&law, &predict, &topo, &result);
    ANALYSED(analysis, &result);
    assert_true(predict_read(&analysis, &before));
    assert_int_equal(before.verified, 0);
    const struct predict_cell *cell = find(&before, PLACE_PARTITION, 8);
    const size_t arm = (size_t)(cell->arm - result.arms);
    assert_true(isnan(cell->measured) && !cell->is_profile);
    (void)fixture_add_even_round(&result, arm, result.rounds_done++, 400, 5);
    ANALYSED(again, &result);
    assert_true(predict_read(&again, &after));
    assert_near(find(&after, PLACE_PARTITION, 8)->rate, cell->rate);
    assert_int_equal(after.verified, 1);
    assert_true(after.errors.median > 1 && after.inside == 0);
}

TEST(predict_needs_one_worker_and_two)
{
    static const struct law law = {.serial_ms = 2, .parallel_ms = 40, .none = 0.9};
    AUTO(topo) topo;
    ENDED_BY(fixture_result_free) struct result result;
    struct predict predict = {.max_time_s = 90};
    struct prediction of;
    AUTO(findings) findings = {0};
    measure(&law, &predict, &topo, &result);
    for (size_t i = 0; i < result.narms; i++)
        for (size_t o = 0; o < result.arms[i].nobservations && result.arms[i].planned_workers == 1;
             o++)
            result.arms[i].observations[o].status = STATUS_SKIPPED;
    ANALYSED(analysis, &result);
    assert_false(predict_read(&analysis, &of));
    predict_judge(&analysis, &findings);
    assert_string_equal(findings.all[0].id, "predict_none");
    predict.is_made = false;
    assert_false(predict_next(&predict, &analysis, &result));
    assert_int_equal(result.rounds_planned, result.rounds_done);
}
