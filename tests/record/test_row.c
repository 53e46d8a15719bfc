/* Rows: derived metrics, intervals, statuses and reasons, the loss that adds up, JSON. */
#include "harness/engine/worker/command_bench.h"
#include "harness/record/row.h"

#include "harness/record/analysis.h"
#include "harness/record/metric.h"
#include "harness/show/json/result_json.h"
#include "tests/lib/fixture_result.h"
#include "tests/lib/unit.h"

static void make(void)
{
    analysis_free(&by_hand.analysis);
    assert_int_equal(analysis_make(&by_hand.result, &by_hand.analysis, NULL), 0);
}

static const struct row *find_of(const char *placement, unsigned workers, unsigned planned_workers,
                                 const char *metric)
{
    for (size_t i = 0; i < by_hand.result.narms; i++) {
        const struct arm *arm = &by_hand.result.arms[i];
        if (arm->workers == workers && arm->planned_workers == planned_workers &&
            !strcmp(placement_infos[arm->placement].name, placement))
            return rows_find(&by_hand.analysis.rows, arm, metric);
    }
    return NULL;
}

static const struct row *find(const char *placement, unsigned workers, const char *metric)
{
    return find_of(placement, workers, 2, metric);
}

static void add_rounds(size_t arm, const double step_ms[3])
{
    for (unsigned round = 0; round < 3; round++)
        (void)fixture_add_even_round(&by_hand.result, arm, round, step_ms[round], 2);
}

/* Three arms of 2 workers, none, partition and their baselines, in rounds of known values. */
static void add_run(void)
{
    size_t single = fixture_add_arm(&by_hand.result, PLACE_NONE, 2, true);
    size_t slice = fixture_add_arm(&by_hand.result, PLACE_PARTITION, 2, true);
    size_t none = fixture_add_arm(&by_hand.result, PLACE_NONE, 2, false);
    size_t partition = fixture_add_arm(&by_hand.result, PLACE_PARTITION, 2, false);
    add_rounds(single, (double[]){5, 5, 5});
    add_rounds(slice, (double[]){10, 10, 20});
    add_rounds(none, (double[]){100, 200, 100});
    add_rounds(partition, (double[]){10, 16, 25});
}

TEST_OF_RESULT(row_derived_by_hand)
{
    add_run();
    make();
    /* partition: X_N = 2 * 100 / step, X_slice = 100 / (10, 10, 20 ms): 1, 10/16, 20/25. */
    const struct row *row = find("partition", 2, "efficiency");
    assert_near(row->median, 0.8);
    assert_near(row->ci_low, 0.625);
    assert_near(row->ci_high, 1);
    assert_near(row->min, 0.625);
    assert_near(row->max, 1);
    assert_true(isnan(row->p95) && isnan(row->p99));
    assert_int_equal(row->rounds, 3);
    assert_int_equal(row->samples, 3);
    assert_string_equal(row->unit, "ratio");
    assert_string_equal(row->better, "higher");
    assert_near(find("partition", 2, "slowdown_vs_alone")->median, 1.25); /* 1, 1.6, 1.25 */
    assert_near(find("partition", 2, "gain_vs_single")->median, 2 * 5 / 16.0);
    /* none: the same X_slice as partition's, but its own placement alone. */
    assert_near(find("none", 2, "efficiency")->median, 0.1); /* .1, .05, .2 */
    assert_near(find("none", 2, "slowdown_vs_alone")->median, 20);
    assert_near(find("none", 2, "gain_vs_single")->median, 0.1);
    /* partition's 200 / (10, 16, 25 ms) to none's 200 / (100, 200, 100 ms): 10, 12.5, 4. */
    row = find("none", 2, "throughput_vs_best");
    assert_near(row->median, 10);
    assert_near(row->ci_low, 4);
    assert_near(row->ci_high, 12.5);
    assert_string_equal(row->better, "lower");
    assert_near(find("partition", 2, "throughput_vs_best")->ci_high, 1);
    assert_null(find("none", 1, "throughput_vs_best"));
    assert_near(find("none", 2, "worst_worker")->median, 1);
    assert_null(find("none", 1, "worst_worker"));
    assert_near(find("none", 2, "throughput")->median, 2000);
    assert_string_equal(find("none", 2, "throughput")->unit, "items/s");
    assert_string_equal(find("none", 2, "throughput")->params, "rows=64;cols=8;slots=2");
    assert_string_equal(find("none", 2, "throughput")->device, "sim");
    assert_null(find("none", 1, "efficiency"));
    assert_null(find_of("none", 2, 4, "throughput"));
}

TEST_OF_RESULT(row_step_time_percentiles_over_samples)
{
    size_t arm = fixture_add_arm(&by_hand.result, PLACE_NONE, 1, false);
    (void)fixture_add_round(&by_hand.result, arm, 0, (double[]){1, 2, 3, 4, 5}, 5);
    (void)fixture_add_round(&by_hand.result, arm, 1, (double[]){6, 7, 8, 9, 10}, 5);
    make();
    const struct row *row = find_of("none", 1, 1, "step_time");
    assert_near(row->median, 0.0055); /* of the rounds' medians, 3 and 8 ms */
    assert_near(row->ci_low, 0.003);
    assert_near(row->ci_high, 0.008);
    assert_near(row->p95, 0.00955); /* of 1..10 ms, as in test_stats */
    assert_near(row->p99, 0.00991);
    assert_near(row->min, 0.001);
    assert_near(row->max, 0.010);
    assert_int_equal(row->rounds, 2);
    assert_int_equal(row->samples, 10);
}

TEST_OF_RESULT(row_drops_unpaired_rounds)
{
    add_run();
    by_hand.result.arms[1].observations[1].round = 7; /* the slice's baseline lacks round 1 */
    make();
    const struct row *row = find("none", 2, "efficiency");
    assert_int_equal(row->rounds, 2);
    assert_near(row->median, 0.15); /* of .1 and .2 */
    assert_int_equal(find("none", 2, "throughput")->rounds, 3);
    assert_int_equal(row->status, STATUS_OK);
}

/* Shares differ by round and arm, so the parts add up only if all come from one round. */
static void add_uneven_shares(void)
{
    for (size_t a = 0; a < by_hand.result.narms; a++)
        for (size_t r = 0; r < by_hand.result.arms[a].nobservations; r++) {
            struct observation *round = &by_hand.result.arms[a].observations[r];
            for (unsigned w = 0; w < round->nworkers; w++) {
                double oncpu = 0.3 + 0.1 * (double)((a + r + w) % 4);
                double queue = 0.05 * (double)((2 * r + a) % 5);
                fixture_set_shares(&round->workers[w], oncpu, queue, 1 - oncpu - queue);
                round->workers[w].usage.instructions *= 1 + 0.3 * (double)((a * r + w) % 3);
            }
        }
}

TEST_OF_RESULT(row_loss_parts_add_up)
{
    add_run();
    add_uneven_shares();
    make();
    static const char *const placements[] = {"none", "partition"};
    /* Loss in the rounds: none 90, 190, 80; partition 0, 6, 5 ms. */
    static const double median[] = {0.090, 0.005};
    for (int i = 0; i < 2; i++) {
        const char *name = placements[i];
        double whole = find(name, 2, "loss_per_step")->median;
        double oncpu = find(name, 2, "loss_oncpu_per_step")->median;
        double parts = oncpu + find(name, 2, "loss_runqueue_per_step")->median +
                       find(name, 2, "loss_blocked_per_step")->median;
        double counters = find(name, 2, "loss_oncpu_instructions_per_step")->median +
                          find(name, 2, "loss_oncpu_stalls_per_step")->median;
        assert_near(whole, median[i]);
        assert_true(fabs(parts - whole) < 1e-12);
        assert_true(fabs(counters - oncpu) < 1e-12);
    }
}

TEST_OF_RESULT(row_loss_takes_the_lower_median_round)
{
    add_run();
    by_hand.result.arms[2].observations[0].status = STATUS_FAILED;
    make(); /* rounds left for none: 190 and 80 ms */
    assert_near(find("none", 2, "loss_per_step")->median, 0.080);
    assert_int_equal(find("none", 2, "loss_per_step")->rounds, 2);
    assert_near(find("none", 2, "loss_runqueue_per_step")->median, 0.3 * 0.080);
}

/* Twice the instructions at 1.5 times the cost each: 100 us become 300, and 100 us of the loss are
 * more work. */
TEST_OF_RESULT(row_loss_splits_by_instructions)
{
    size_t slice = fixture_add_arm(&by_hand.result, PLACE_PARTITION, 2, true);
    size_t none = fixture_add_arm(&by_hand.result, PLACE_NONE, 2, false);
    struct observation *base = fixture_add_even_round(&by_hand.result, slice, 0, 0.1, 1);
    fixture_set_shares(&base->workers[0], 1, 0, 0);
    base->workers[0].usage.team_threads = 2; /* 500 instructions a step and thread */
    base->workers[0].usage.instructions = 1000;
    struct observation *round = fixture_add_even_round(&by_hand.result, none, 0, 0.3, 1);
    for (unsigned w = 0; w < 2; w++) {
        fixture_set_shares(&round->workers[w], 1, 0, 0);
        round->workers[w].usage.team_threads = 8; /* 1000 a step and thread */
        round->workers[w].usage.instructions = 8000;
    }
    make();
    assert_near(find("none", 2, "loss_oncpu_per_step")->median, 200e-6);
    assert_near(find("none", 2, "loss_oncpu_instructions_per_step")->median, 100e-6);
    assert_near(find("none", 2, "loss_oncpu_stalls_per_step")->median, 100e-6);
    assert_near(find("none", 2, "instructions_per_step")->median, 8000);
}

TEST_OF_RESULT(row_says_what_the_kernel_hides)
{
    add_run();
    for (size_t a = 0; a < by_hand.result.narms; a++)
        for (size_t r = 0; r < 3; r++) {
            struct observation *round = &by_hand.result.arms[a].observations[r];
            round->steal = NAN;
            for (unsigned w = 0; w < round->nworkers; w++) {
                fixture_set_shares(&round->workers[w], 0.5, NAN, 0.5);
                round->workers[w].usage.instructions = NAN;
            }
        }
    make();
    const struct row *row = find("none", 2, "runqueue_wait_per_step");
    assert_int_equal(row->status, STATUS_SKIPPED);
    assert_string_equal(row->reason, "the kernel offers no schedstat; blocked holds the wait");
    assert_true(isnan(row->median));
    assert_int_equal(row->rounds, 0);
    assert_int_equal(find("none", 2, "steal")->status, STATUS_SKIPPED);
    assert_null(find("none", 2, "instructions_per_step"));
    assert_null(find("none", 2, "cache_misses_per_step"));
    assert_null(find("none", 2, "gpu_clock"));
    assert_null(find("none", 2, "loss_runqueue_per_step"));
    assert_null(find("none", 2, "loss_oncpu_stalls_per_step"));
    assert_near(find("none", 2, "loss_per_step")->median,
                find("none", 2, "loss_oncpu_per_step")->median +
                    find("none", 2, "loss_blocked_per_step")->median);
}

TEST_OF_RESULT(row_without_baseline_says_so)
{
    size_t arm = fixture_add_arm(&by_hand.result, PLACE_NONE, 2, false);
    add_rounds(arm, (double[]){10, 10, 10});
    make();
    const struct row *row = find("none", 2, "efficiency");
    assert_int_equal(row->status, STATUS_SKIPPED);
    assert_string_equal(row->reason,
                        "no finished round of its baseline, one worker alone with its share of the "
                        "CPUs: a placement with CPUs of its own has it (-P ...,partition)");
    assert_null(find("none", 2, "loss_per_step"));
    assert_int_equal(find("none", 2, "step_time")->status, STATUS_OK);
}

TEST_OF_RESULT(row_failed_arm)
{
    add_run();
    for (size_t r = 0; r < 3; r++) {
        struct observation *round = &by_hand.result.arms[2].observations[r];
        round->status = STATUS_HUNG;
        put_text(round->reason, "worker %zu: stuck in setup", r);
    }
    make();
    const struct row *row = find("none", 2, VALUE_STATUS);
    assert_int_equal(row->status, STATUS_HUNG);
    assert_string_equal(row->reason, "worker 0: stuck in setup");
    assert_true(isnan(row->median));
    assert_int_equal(row->samples, 0);
    assert_null(find("none", 2, "throughput"));
    assert_int_equal(find("partition", 2, "efficiency")->status, STATUS_OK);
}

TEST_OF_RESULT(row_is_as_good_as_its_baseline)
{
    add_run();
    fixture_censor(&by_hand.result.arms[0].observations[1], 0);
    struct observation *noisy = &by_hand.result.arms[3].observations[2];
    noisy->status = STATUS_NOISY;
    put_text(noisy->reason, "steal 12%%");
    make();
    const struct row *row = find("none", 2, "gain_vs_single");
    assert_int_equal(row->status, STATUS_CENSORED);
    assert_string_equal(row->reason,
                        "its baseline: 1 of 3 rounds: more than 5.00 ms: some steps did not end "
                        "within the limit; times are lower bounds, rates upper bounds");
    assert_int_equal(find("none", 2, "efficiency")->status, STATUS_OK);
    assert_int_equal(find("none", 2, "throughput")->status, STATUS_OK);
    row = find("partition", 2, "throughput");
    assert_int_equal(row->status, STATUS_NOISY);
    assert_string_equal(row->reason, "1 of 3 rounds: steal 12%");
}

TEST_OF_RESULT(row_shared_baseline)
{
    add_run();
    size_t same = fixture_add_arm(&by_hand.result, PLACE_SAME, 2, true);
    by_hand.result.arms[same].same_as = 1;
    size_t four = fixture_add_arm(&by_hand.result, PLACE_NONE, 4, true);
    by_hand.result.arms[four].same_as = 0;
    make();
    const struct row *row = find("same", 1, "throughput");
    assert_near(row->median, find("partition", 1, "throughput")->median);
    assert_string_equal(row->reason, "same plan as partition, measured once");
    assert_int_equal(row->status, STATUS_OK);
    row = find_of("none", 1, 4, "throughput");
    assert_string_equal(row->reason, "same plan as none of 2 workers, measured once");
    assert_string_equal(row->params, "rows=64;cols=8;slots=4");
}

TEST_OF_RESULT(row_columns_match_the_header)
{
    char columns[400] = "";
    for (const struct row_column *column = row_columns; column->name; column++) {
        strcat(columns, column == row_columns ? "" : ",");
        strcat(columns, column->name);
    }
    assert_string_equal(columns, ROW_COLUMNS);
}

TEST_OF_RESULT(row_json)
{
    (void)fixture_add_skipped(&by_hand.result, PLACE_LLC, 2, "a \"quoted\" \xc3");
    size_t arm = fixture_add_arm(&by_hand.result, PLACE_NONE, 2, false);
    (void)fixture_add_even_round(&by_hand.result, arm, 0, 10, 2);
    make();
    json_t *rows = rows_to_json(&by_hand.analysis);
    assert_int_equal(json_array_size(rows), by_hand.analysis.rows.n);
    json_t *skipped = json_array_get(rows, 0), *measured = json_array_get(rows, 1);
    assert_true(json_is_null(json_object_get(skipped, "median")));
    assert_string_equal(json_string_value(json_object_get(skipped, "status")), "skipped");
    assert_string_equal(json_string_value(json_object_get(skipped, "reason")), "a \"quoted\" ?");
    assert_string_equal(json_string_value(json_object_get(measured, "metric")), "throughput");
    assert_near(json_real_value(json_object_get(measured, "median")), 20000);
    assert_true(json_is_null(json_object_get(measured, "ci_low")));
    assert_int_equal(json_integer_value(json_object_get(measured, "workers")), 2);
    const char *key;
    json_t *value;
    const struct row_column *column = row_columns;
    assert_true(json_is_true(json_object_get(measured, "recommended")) == 0);
    assert_near(json_real_value(json_object_get(measured, "speed_up")), 1);
    json_object_foreach(measured, key, value)
    {
        assert_string_equal(key, column->name ? column->name : "recommended");
        if (!(column++)->name)
            break;
    }
    json_decref(rows);
}

TEST_OF_RESULT(row_names_the_dose)
{
    add_run();
    for (size_t i = 0; i < by_hand.result.narms; i++)
        if (by_hand.result.arms[i].placement == PLACE_PARTITION &&
            !by_hand.result.arms[i].is_baseline)
            fixture_add_dose(&by_hand.result, i, (struct dose){DOSE_CPU, 0.2}, 0.21);
    make();
    const struct row *row = find("partition", 2, METRIC_DOSE);
    assert_near(row->median, 0.21);
    assert_string_equal(row->unit, "ratio");
    assert_string_equal(row->params, "rows=64;cols=8;slots=2;dose=cpu:20%");
    assert_string_equal(row_key(row->params), "");
    assert_false(row_is_gating(row));
    row = find("partition", 1, "throughput");
    assert_string_equal(row->params, "rows=64;cols=8;slots=2;dose=none");
    assert_null(find("partition", 1, METRIC_DOSE));
    assert_null(find("partition", 2, "background_rate"));
}

/* The run time of a command that is judged by its metric is no result. */
TEST(row_gates_by_the_metric_that_the_user_named)
{
    static const char *const general[] = {"throughput", "step_time", "background_rate"};
    const struct bench *run = command_bench_find("command"),
                       *metric = command_bench_find("command_metric"),
                       *cost = command_bench_find("command_cost"),
                       *lines = command_bench_find("command_lines");
    for (size_t i = 0; i < 3; i++) {
        assert_true(metric_is_gating(run, general[i], &NO_DIMS));
        assert_true(metric_is_gating(lines, general[i], &NO_DIMS));
        assert_int_equal(metric_is_gating(metric, general[i], &NO_DIMS), i == 0);
        assert_int_equal(metric_is_gating(cost, general[i], &NO_DIMS), i == 0);
    }
}

/* A scan has no steps, and so no throughput. */
TEST_OF_RESULT(row_names_the_dose_of_a_scan)
{
    struct bench scan = fixture_bench;
    scan.scan = fixture_no_scan;
    add_run();
    for (size_t i = 0; i < by_hand.result.narms; i++) {
        by_hand.result.arms[i].bench = &scan;
        if (by_hand.result.arms[i].placement == PLACE_PARTITION &&
            !by_hand.result.arms[i].is_baseline)
            fixture_add_dose(&by_hand.result, i, (struct dose){DOSE_CPU, 0.2}, 0.21);
    }
    make();
    assert_near(find("partition", 2, METRIC_DOSE)->median, 0.21);
    assert_null(find("partition", 2, "throughput"));
    assert_null(find("partition", 1, METRIC_DOSE));
}
