/* Arms of two variants, made by hand: how they are paired, the text about them, and their
 * column. */
#include "harness/verdict/comparison.h"

#include "harness/lib/stats.h"
#include "harness/verdict/verdict.h"
#include "tests/lib/fixture_result.h"
#include "tests/lib/unit.h"

static struct fixture {
    struct result result;
    struct variants variants;
    struct analysis analysis;
    struct comparisons comparisons;
} f;

static int set_up(void **state)
{
    f = (struct fixture){0};
    fixture_result_init(&f.result);
    f.variants = (struct variants){.n = 2, .threshold = 0.02, .clock_s = 50e-9};
    put_text(f.variants.all[0].name, "a");
    put_text(f.variants.all[1].name, "b");
    f.result.variants = &f.variants;
    return 0;
}

static int tear_down(void **state)
{
    comparisons_free(&f.comparisons);
    analysis_free(&f.analysis);
    fixture_result_free(&f.result);
    return 0;
}

static size_t add_arm(enum placement placement, size_t variant)
{
    size_t arm = fixture_add_arm(&f.result, placement, 2, false);
    f.result.arms[arm].variant = &f.variants.all[variant];
    return arm;
}

/* Adds rounds in which the second arm takes `factor` as long, with 4% of noise and a common
 * drift. */
static void add_rounds(size_t base, size_t other, unsigned rounds, double factor)
{
    uint64_t seed = 5;
    f.result.rounds_planned = f.result.rounds_done = rounds;
    for (unsigned round = 0; round < rounds; round++) {
        double ms = 10 + 0.05 * round;
        double noise[2];
        for (int i = 0; i < 2; i++)
            noise[i] = 1 + 0.08 * (random_share(&seed) - 0.5);
        (void)fixture_add_even_round(&f.result, base, round, ms * noise[0], 3);
        fixture_add_even_round(&f.result, other, round, ms * factor * noise[1], 3)->order =
            round % 2 ? 1 : 0;
        f.result.arms[base].observations[round].order = round % 2 ? 0 : 1;
    }
}

static void compare(void)
{
    assert_int_equal(analysis_make(&f.result, &f.analysis, NULL), 0);
    assert_int_equal(ab_compare(&f.analysis, &f.comparisons, NULL), 0);
}

static const struct comparison *find(const char *arm, const char *metric)
{
    for (size_t i = 0; i < f.comparisons.n; i++)
        if (strstr(f.comparisons.all[i].arm, arm) && !strcmp(f.comparisons.all[i].metric, metric))
            return &f.comparisons.all[i];
    fail_msg("no %s of %s", metric, arm);
    return NULL;
}

TEST_WITHIN(ab_finds_what_is_slower, set_up, tear_down)
{
    size_t base = add_arm(PLACE_PARTITION, 0), other = add_arm(PLACE_PARTITION, 1);
    add_rounds(base, other, 80, 1.05);
    compare();
    const struct comparison *rate = find("partition, 2 workers", "throughput");
    const struct comparison *step = find("partition, 2 workers", "step_time");
    assert_int_equal(rate->evidence.outcome, OUTCOME_SLOWER);
    assert_int_equal(step->evidence.outcome, OUTCOME_SLOWER);
    assert_true(rate->gating && step->gating);
    assert_int_equal(rate->evidence.rounds, 80);
    assert_true(fabs(step->evidence.ratio - 1.05) < 0.01 &&
                fabs(rate->evidence.ratio - 1 / 1.05) < 0.01);
    assert_true(step->evidence.low < 1.05 && step->evidence.high > 1.05 && step->evidence.low > 1);
    assert_near(rate->evidence.level, 0.99);
    assert_string_equal(rate->base, "a");
    assert_string_equal(rate->other, "b");
    assert_string_equal(rate->params, "rows=64;cols=8;slots=2");
    assert_true(ab_is_clear(&f.comparisons));
}

TEST_WITHIN(ab_names_the_dose, set_up, tear_down)
{
    size_t base = add_arm(PLACE_PARTITION, 0), other = add_arm(PLACE_PARTITION, 1);
    add_rounds(base, other, 6, 1.05);
    fixture_add_dose(&f.result, base, (struct dose){DOSE_CPU, 0.2}, 0.2);
    fixture_add_dose(&f.result, other, (struct dose){DOSE_CPU, 0.2}, 0.2);
    compare();
    const struct comparison *rate = find("partition, 2 workers, sim, dose cpu=20%", "throughput");
    assert_string_equal(rate->params, "rows=64;cols=8;slots=2;dose=cpu:20%");
}

/* 1.50 and 1.575 ns: a difference of 5%, but less than a timer resolves. */
TEST_WITHIN(ab_has_the_floors_of_compare, set_up, tear_down)
{
    size_t base = add_arm(PLACE_PARTITION, 0), other = add_arm(PLACE_PARTITION, 1);
    add_rounds(base, other, 80, 1.05);
    assert_int_equal(analysis_make(&f.result, &f.analysis, NULL), 0);
    for (size_t i = 0; i < f.analysis.values.n; i++) {
        struct round_value *value = &f.analysis.values.value[i];
        if (strcmp(value->metric, "step_time") != 0)
            continue;
        value->value *= 150; /* around 10 ms */
        value->unit = "ns";
    }
    assert_int_equal(ab_compare(&f.analysis, &f.comparisons, NULL), 0);
    assert_int_equal(find("partition", "throughput")->evidence.outcome, OUTCOME_SLOWER);
    const struct comparison *step = find("partition", "step_time");
    assert_int_equal(step->evidence.outcome, OUTCOME_SAME);
    assert_string_equal(step->reason, "The difference is below 0.200 ns, too small to count.");
}

TEST_WITHIN(ab_finds_what_is_faster, set_up, tear_down)
{
    size_t base = add_arm(PLACE_PARTITION, 0), other = add_arm(PLACE_PARTITION, 1);
    add_rounds(base, other, 60, 0.9);
    compare();
    assert_int_equal(find("partition", "throughput")->evidence.outcome, OUTCOME_FASTER);
    assert_int_equal(find("partition", "step_time")->evidence.outcome, OUTCOME_FASTER);
}

TEST_WITHIN(ab_says_same_only_where_it_is_shown, set_up, tear_down)
{
    size_t base = add_arm(PLACE_PARTITION, 0), other = add_arm(PLACE_PARTITION, 1);
    add_rounds(base, other, 300, 1);
    compare();
    assert_int_equal(find("partition", "throughput")->evidence.outcome, OUTCOME_SAME);
    assert_has(find("partition", "throughput")->reason, "2% or more");
    comparisons_free(&f.comparisons);
    analysis_free(&f.analysis);
    f.variants.threshold = 0.001;
    compare();
    assert_int_equal(find("partition", "throughput")->evidence.outcome, OUTCOME_UNCLEAR);
    assert_false(ab_is_clear(&f.comparisons));
}

/* An arm that failed in some rounds is neither equal nor faster because of its other rounds. */
TEST_WITHIN(ab_does_not_leave_failed_rounds_out, set_up, tear_down)
{
    static const double factors[] = {1, 0.8, 1.3};
    for (size_t i = 0; i < 3; i++) {
        (void)tear_down(state);
        (void)set_up(state);
        size_t base = add_arm(PLACE_PARTITION, 0), other = add_arm(PLACE_PARTITION, 1);
        add_rounds(base, other, 300, factors[i]);
        struct observation *failed = &f.result.arms[other].observations[7];
        failed->status = STATUS_FAILED;
        put_text(failed->reason, "a wrong result");
        compare();
        const struct comparison *rate = find("partition", "throughput");
        assert_int_equal(rate->evidence.outcome, i == 2 ? OUTCOME_SLOWER : OUTCOME_MISSING);
        assert_int_equal(rate->evidence.rounds, 299);
        if (i < 2)
            assert_has(rate->reason, "b did not end well in all rounds: 1 of 300");
    }
}

/* If all steps are cut at the limit, no equality follows. */
TEST_WITHIN(ab_of_bounds_shows_no_same, set_up, tear_down)
{
    size_t base = add_arm(PLACE_PARTITION, 0), other = add_arm(PLACE_PARTITION, 1);
    add_rounds(base, other, 300, 1);
    for (unsigned round = 0; round < 300; round++) {
        fixture_censor(&f.result.arms[base].observations[round], 0);
        fixture_censor(&f.result.arms[other].observations[round], 0);
    }
    compare();
    const struct comparison *step = find("partition", "step_time");
    assert_int_equal(step->evidence.outcome, OUTCOME_UNCLEAR);
    assert_has(step->reason, "did not end within the limit");
}

/* An arm that did not end in some rounds is not faster because of its other rounds; the other arm
 * is. */
TEST_WITHIN(ab_of_bounds_shows_no_gain, set_up, tear_down)
{
    for (int cut_base = 0; cut_base < 2; cut_base++) {
        (void)tear_down(state);
        (void)set_up(state);
        size_t base = add_arm(PLACE_PARTITION, 0), other = add_arm(PLACE_PARTITION, 1);
        add_rounds(base, other, 100, 0.7);
        for (unsigned round = 0; round < 100; round += 9)
            fixture_censor(&f.result.arms[cut_base ? base : other].observations[round], 0);
        compare();
        const struct comparison *rate = find("partition", "throughput");
        assert_int_equal(rate->evidence.outcome, cut_base ? OUTCOME_FASTER : OUTCOME_UNCLEAR);
        assert_true(cut_base || strstr(rate->reason, "b has steps that did not end"));
    }
}

TEST_WITHIN(ab_says_how_many_rounds_more, set_up, tear_down)
{
    size_t base = add_arm(PLACE_PARTITION, 0), other = add_arm(PLACE_PARTITION, 1);
    add_rounds(base, other, 9, 1.05);
    compare();
    const struct comparison *rate = find("partition", "throughput");
    assert_int_equal(rate->evidence.outcome, OUTCOME_UNCLEAR);
    const char *about = strstr(rate->reason, "about ");
    assert_non_null(about);
    int more = 0;
    assert_int_equal(sscanf(about, "about %d more round", &more), 1);
    assert_in_range(more, 1, 60);
}

/* Arms of the same placement form a pair; parameters that the variants set are not in the column of
 * parameters. */
TEST_WITHIN(ab_pairs_arms_by_their_place, set_up, tear_down)
{
    size_t arms[] = {add_arm(PLACE_PARTITION, 0), add_arm(PLACE_SIZED, 0),
                     add_arm(PLACE_PARTITION, 1), add_arm(PLACE_SIZED, 1)};
    static const int64_t set[] = {32, 8}; /* rows, cols */
    f.result.arms[arms[2]].params = f.result.arms[arms[3]].params = set;
    add_rounds(arms[0], arms[2], 60, 1.3);
    add_rounds(arms[1], arms[3], 60, 0.7);
    compare();
    assert_int_equal(find("partition", "step_time")->evidence.outcome, OUTCOME_SLOWER);
    assert_int_equal(find("sized", "step_time")->evidence.outcome, OUTCOME_FASTER);
    assert_string_equal(find("sized", "step_time")->params, "cols=8;slots=2");
}

/* Six rounds suffice if all gating metrics changed, but not if one of four placements did. */
TEST_WITHIN(ab_of_one_among_many_needs_more, set_up, tear_down)
{
    for (unsigned slowed = 1; slowed <= 4; slowed += 3) {
        (void)tear_down(state);
        (void)set_up(state);
        size_t arms[8];
        for (unsigned i = 0; i < 8; i++)
            arms[i] = add_arm((enum placement)(i % 4), i / 4);
        for (unsigned i = 0; i < 4; i++)
            add_rounds(arms[i], arms[i + 4], 6, i < slowed ? 1.3 : 1);
        compare();
        const struct comparison *first = &f.comparisons.all[0];
        assert_int_equal(first->evidence.outcome, slowed == 4 ? OUTCOME_SLOWER : OUTCOME_UNCLEAR);
        assert_int_equal(strstr(first->reason, "not yet as one of 8") != NULL, slowed == 1);
        assert_true(first->evidence.high < 1);
    }
}

TEST_WITHIN(ab_misses_an_arm_that_failed, set_up, tear_down)
{
    size_t base = add_arm(PLACE_PARTITION, 0), other = add_arm(PLACE_PARTITION, 1);
    f.result.rounds_planned = f.result.rounds_done = 3;
    for (unsigned round = 0; round < 3; round++)
        (void)fixture_add_even_round(&f.result, base, round, 10, 3);
    (void)other;
    compare();
    const struct comparison *rate = find("partition", "throughput");
    assert_int_equal(rate->evidence.outcome, OUTCOME_MISSING);
    assert_true(rate->evidence.base > 0 && isnan(rate->evidence.other));
    assert_int_equal(comparisons_count(&f.comparisons, OUTCOME_MISSING), 2);
    assert_false(comparisons_decided(&f.comparisons));
}

/* After other columns that distinguish arms, and before the key. */
TEST_WITHIN(ab_variant_is_a_parameter, set_up, tear_down)
{
    char params[ROW_PARAMS_MAX];
    size_t arm = add_arm(PLACE_PARTITION, 1);
    const struct dims at = dims_parse(f.result.arms[arm].bench, "size=8");
    row_put_params(&f.result, &f.result.arms[arm], NULL, &at, params);
    assert_string_equal(params, "rows=64;cols=8;slots=2;variant=b;size=8");
    assert_string_equal(row_key(params), "size=8");
}

/* The comparison is one sentence among the findings, and no placement is recommended. */
TEST_WITHIN(ab_is_in_the_verdict, set_up, tear_down)
{
    AUTO(verdict) verdict;
    struct topo topo = {0};
    size_t base = add_arm(PLACE_PARTITION, 0), other = add_arm(PLACE_PARTITION, 1);
    bool reported = false;
    add_rounds(base, other, 60, 1.2);
    assert_int_equal(verdict_make(&f.result, &topo, &verdict, NULL), 0);
    assert_int_equal(comparisons_count(&verdict.comparisons, OUTCOME_SLOWER), 2);
    for (size_t i = 0; i < verdict.findings.n; i++) {
        reported = reported || !strcmp(verdict.findings.all[i].id, "comparison");
        assert_lacks(verdict.findings.all[i].id, "placement");
    }
    assert_true(reported);
}

static void expect_advice(const char *advice)
{
    AUTO(verdict) verdict;
    struct topo topo = {0};
    assert_int_equal(verdict_make(&f.result, &topo, &verdict, NULL), 0);
    assert_string_equal(verdict.findings.all[0].id, "comparison");
    assert_has(verdict.findings.all[0].sentence, advice);
}

/* Without a verdict, the first finding has the option that leads to one. */
TEST_WITHIN(ab_advises_more_rounds, set_up, tear_down)
{
    size_t base = add_arm(PLACE_PARTITION, 0), other = add_arm(PLACE_PARTITION, 1);
    add_rounds(base, other, 3, 1);
    expect_advice("No verdict on 2 metrics: 2 UNCLEAR. Run it again for longer, with "
                  "--rounds 12.");
    f.result.rounds_s = 20;
    expect_advice(", with --max-time 60.");
    f.result.rounds_s = 180;
    expect_advice(", with --max-time 9m.");
    f.result.arms[other].observations[0].status = STATUS_CENSORED;
    expect_advice("2 UNCLEAR. Steps were cut off: run it again with a longer --limit.");
}

/* Rounds in which a difference is below 0 have no ratio; the others alone would say too much. */
TEST_WITHIN(ab_leaves_out_a_difference_that_is_not_resolved, set_up, tear_down)
{
    static const struct bench_metric metrics[] = {{"step_time", "s", "lower", .difference = true},
                                                  {.name = NULL}};
    struct bench bench = fixture_bench;
    bench.metrics = metrics;
    size_t base = add_arm(PLACE_PARTITION, 0), other = add_arm(PLACE_PARTITION, 1);
    add_rounds(base, other, 20, 1.5);
    f.result.arms[base].bench = f.result.arms[other].bench = &bench;
    for (int below = 0; below < 2; below++) {
        assert_int_equal(analysis_make(&f.result, &f.analysis, NULL), 0);
        for (size_t i = 0; i < f.analysis.values.n; i++) {
            struct round_value *value = &f.analysis.values.value[i];
            if (below && !strcmp(value->metric, "step_time") && value->round == 3)
                value->value = -1;
        }
        assert_int_equal(ab_compare(&f.analysis, &f.comparisons, NULL), 0);
        size_t n = 0;
        for (size_t i = 0; i < f.comparisons.n; i++)
            n += !strcmp(f.comparisons.all[i].metric, "step_time");
        assert_int_equal(n, !below);
        comparisons_free(&f.comparisons);
        analysis_free(&f.analysis);
    }
    f.analysis = (struct analysis){0};
    f.comparisons = (struct comparisons){0};
}

TEST_WITHIN(ab_says_where_variants_have_other_threads, set_up, tear_down)
{
    size_t base = add_arm(PLACE_PARTITION, 0), other = add_arm(PLACE_PARTITION, 1);
    add_rounds(base, other, 6, 1);
    f.result.arms[base].plan.workers[0].threads = 4;
    f.result.arms[other].plan.workers[0].threads = 1;
    compare();
    (void)find("partition, 4 threads against 1, 2 workers", "throughput");
}
