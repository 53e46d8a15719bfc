/* The one recommendation, from rounds made by hand; a run and a tune must recommend the same. */
#include "harness/verdict/advice.h"
#include "tests/lib/fixture_result.h"
#include "tests/lib/unit.h"

static struct recommendation recommendation;

/* Step time in ms for each round; 0 = the arm lacks the round. */
static size_t add(enum placement placement, double one, double two, double three)
{
    const double step_ms[] = {one, two, three};
    size_t arm = fixture_add_arm(&by_hand.result, placement, 2, false);
    for (unsigned w = 0; w < 2 && placement == PLACE_SIZED; w++)
        by_hand.result.arms[arm].plan.workers[w].threads = FIXTURE_CPUS / 2;
    for (unsigned round = 0; round < 3; round++)
        if (step_ms[round] > 0)
            (void)fixture_add_even_round(&by_hand.result, arm, round, step_ms[round], 2);
    return arm;
}

static size_t add_even(enum placement placement, double step_ms)
{
    return add(placement, step_ms, step_ms, step_ms);
}

static void mark(size_t arm, unsigned round, enum status status)
{
    by_hand.result.arms[arm].observations[round].status = status;
}

static void disturb(size_t arm, double foreign)
{
    for (unsigned round = 0; round < 3; round++) {
        mark(arm, round, STATUS_NOISY);
        by_hand.result.arms[arm].observations[round].foreign_cpu = foreign;
    }
}

/* The recommended placement; PLACEMENTS = none. */
static enum placement recommended(void)
{
    analysis_free(&by_hand.analysis);
    assert_int_equal(analysis_make(&by_hand.result, &by_hand.analysis, NULL), 0);
    recommendation = recommend_make(&by_hand.analysis, by_hand.result.arms);
    return recommendation.arm < 0 ? PLACEMENTS : by_hand.result.arms[recommendation.arm].placement;
}

TEST_OF_RESULT(recommend_leaves_a_default_that_is_best)
{
    (void)add_even(PLACE_NONE, 10);
    (void)add_even(PLACE_SIZED, 12);
    (void)add_even(PLACE_PARTITION, 9.6); /* 4% better in each round */
    assert_int_equal(recommended(), PLACE_NONE);
    assert_false(recommend_applies(&recommendation));
    assert_near(recommendation.gain.ratio, 1);
}

/* The simpler of two equal placements, with its own gain, though the other is faster. */
TEST_OF_RESULT(recommend_takes_the_simplest_of_equals)
{
    (void)add_even(PLACE_NONE, 100);
    (void)add(PLACE_PARTITION, 10, 12, 10);
    (void)add(PLACE_SIZED, 12.5, 11, 12.5); /* 0.8 of the best rate, but not in each round */
    assert_int_equal(recommended(), PLACE_SIZED);
    assert_near(recommendation.gain.ratio, 8);
    assert_int_equal(by_hand.result.arms[recommendation.best].placement, PLACE_PARTITION);
    assert_near(recommendation.best_gain.ratio, 10);
    (void)add(PLACE_PASSIVE, 12.5, 11, 12.5); /* sets only one variable */
    assert_int_equal(recommended(), PLACE_PASSIVE);
}

TEST_OF_RESULT(recommend_takes_the_simple_one_within_the_tolerance)
{
    (void)add_even(PLACE_NONE, 100);
    (void)add_even(PLACE_GPU_LOCAL, 10);
    (void)add_even(PLACE_PARTITION, 10.4); /* 4% worse in each round */
    assert_int_equal(recommended(), PLACE_PARTITION);
    assert_near(recommendation.gain.ratio, 100 / 10.4);
    by_hand.result.within = 0.03;
    assert_int_equal(recommended(), PLACE_GPU_LOCAL);
}

/* As good as the best after three rounds, but not better than the default either. */
TEST_OF_RESULT(recommend_wants_a_gain_of_its_own)
{
    (void)add(PLACE_NONE, 20, 20, 20);
    (void)add(PLACE_PARTITION, 10, 10, 18);
    (void)add(PLACE_PASSIVE, 21, 19, 17);
    assert_int_equal(recommended(), PLACE_PARTITION);
}

TEST_OF_RESULT(recommend_takes_no_evidence_from_what_failed)
{
    (void)add_even(PLACE_NONE, 100);
    size_t best = add_even(PLACE_PARTITION, 10);
    (void)add_even(PLACE_CORES, 20);
    mark(best, 1, STATUS_FAILED);
    assert_int_equal(recommended(), PLACE_CORES);
    assert_near(recommendation.gain.ratio, 5);
    mark(best, 1, STATUS_CENSORED); /* a bound: it may be slower */
    assert_int_equal(recommended(), PLACE_CORES);
}

/* A slow default has one round; if that round was disturbed, it does not show the gain. */
TEST_OF_RESULT(recommend_takes_no_gain_from_a_disturbed_round)
{
    (void)add(PLACE_NONE, 100, 0, 0);
    (void)add_even(PLACE_SIZED, 11);
    size_t best = add_even(PLACE_PARTITION, 10);
    assert_int_equal(recommended(), PLACE_PARTITION);
    mark(best, 0, STATUS_NOISY);
    assert_int_equal(recommended(), PLACE_SIZED);
    assert_false(recommendation.disturbed);
}

TEST_OF_RESULT(recommend_takes_what_load_explains_off_few_rounds)
{
    size_t none = add_even(PLACE_NONE, 100);
    size_t best = add(PLACE_PARTITION, 10, 10, 50);
    (void)add_even(PLACE_CORES, 20);
    mark(best, 2, STATUS_NOISY); /* it counts, too */
    assert_int_equal(recommended(), PLACE_PARTITION);
    assert_int_equal(recommendation.gain.rounds, 3);
    assert_int_equal(recommendation.gain.disturbed, 1);
    assert_true(fixture_near(recommendation.gain.low, 2, 1e-6));
    for (unsigned round = 0; round < 2; round++)
        mark(best, round, STATUS_NOISY);
    disturb(best, 0.2); /* explains 1.56x */
    assert_int_equal(recommended(), PLACE_PARTITION);
    disturb(best, 0.4); /* 2.8x */
    assert_int_equal(recommended(), PLACE_CORES);
    disturb(none, 0.4);
    assert_int_equal(recommended(), PLACE_CORES);
    disturb(none, 0.6); /* 6.25x */
    assert_int_equal(recommended(), PLACEMENTS);
    assert_true(recommendation.disturbed);
}

/* Not the fastest, which breaks the bound; nor what may break it. */
TEST_OF_RESULT(recommend_takes_the_fastest_that_holds_a_bound)
{
    (void)add_even(PLACE_NONE, 100);
    (void)add_even(PLACE_PARTITION, 10);
    (void)add(PLACE_CORES, 11, 13, 11);
    (void)add_even(PLACE_SIZED, 20);
    by_hand.result.slo = fixture_slo("step_time>=12ms", false);
    assert_int_equal(recommended(), PLACE_SIZED);
    assert_int_equal(by_hand.result.arms[recommendation.best].placement, PLACE_SIZED);
    assert_near(recommendation.gain.ratio, 5);
    assert_false(recommendation.must_leave);
    by_hand.result.slo = fixture_slo("step_time>=1s", false);
    assert_int_equal(recommended(), PLACEMENTS);
    assert_int_equal(recommendation.best, -1);
}

/* A default that breaks it is left, also for something slower. */
TEST_OF_RESULT(recommend_leaves_a_default_that_breaks_a_bound)
{
    (void)add_even(PLACE_NONE, 10);
    (void)add_even(PLACE_PARTITION, 9);
    (void)add_even(PLACE_SIZED, 20);
    by_hand.result.slo = fixture_slo("step_time>=12ms", false);
    assert_int_equal(recommended(), PLACE_SIZED);
    assert_true(recommendation.must_leave && recommend_applies(&recommendation));
    assert_near(recommendation.gain.ratio, 0.5);
    const struct finding advice = advice_make(&by_hand.analysis, by_hand.result.arms);
    assert_has(advice.sentence, "It is the fastest that holds --slo, which the default does not.");
    assert_has(advice.command, "--placement sized");
}

enum { ROUNDS = 9 };

/* A default and a placement with these gains, in rounds that were all disturbed but those of the
 * placement from `spared` on. */
static enum placement recommended_disturbed(const double gains[ROUNDS], unsigned spared)
{
    by_hand_again();
    by_hand.result.rounds_done = ROUNDS;
    const size_t arms[] = {fixture_add_arm(&by_hand.result, PLACE_NONE, 2, false),
                           fixture_add_arm(&by_hand.result, PLACE_PARTITION, 2, false)};
    for (unsigned round = 0; round < ROUNDS; round++)
        for (unsigned i = 0; i < 2; i++) {
            struct observation *of = fixture_add_even_round(&by_hand.result, arms[i], round,
                                                            i ? 100 / gains[round] : 100, 2);
            of->order = (i + round) % 2;
            of->foreign_cpu = 0.44;
            of->status = i && round >= spared ? STATUS_OK : STATUS_NOISY;
        }
    return recommended();
}

TEST_OF_RESULT(recommend_takes_the_bound_of_disturbed_rounds)
{
    static const double agree[ROUNDS] = {2.6, 2.9, 3.8, 2.7, 3.1, 4.0, 2.8, 3.3, 3.0};
    static const double differ[ROUNDS] = {2.6, 2.9, 0.8, 2.7, 3.1, 0.9, 2.8, 3.3, 3.0};
    assert_int_equal(recommended_disturbed(agree, ROUNDS), PLACE_PARTITION);
    assert_true(fixture_near(recommendation.gain.low, 2.6, 1e-6));
    assert_int_equal(recommendation.gain.at_least, ROUNDS);
    const char *gain = advice_format_gain(&by_hand.analysis, &recommendation);
    assert_string_equal(
        gain, "at least 2.6x the default in 9 of 9 rounds, while others used 44% of the CPUs");
    assert_int_equal(recommended_disturbed(differ, ROUNDS), PLACEMENTS);
    assert_true(recommendation.disturbed);
}

/* Load slowed only the default in most rounds: the gain may be the load's. */
TEST_OF_RESULT(recommend_takes_no_gain_from_load_on_the_default_alone)
{
    static const double gains[ROUNDS] = {2.6, 2.9, 3.8, 2.7, 3.1, 4.0, 2.8, 3.3, 3.0};
    assert_int_equal(recommended_disturbed(gains, 5), PLACE_PARTITION);
    assert_int_equal(recommendation.gain.one_sided, 4);
    assert_int_equal(recommended_disturbed(gains, 4), PLACEMENTS);
}

TEST_OF_RESULT(recommend_judges_one_round_by_its_ratio)
{
    by_hand.result.rounds_done = 1;
    (void)add(PLACE_NONE, 20, 0, 0);
    (void)add(PLACE_SIZED, 11, 0, 0); /* 10% worse */
    (void)add(PLACE_PARTITION, 10, 0, 0);
    assert_int_equal(recommended(), PLACE_PARTITION);
    assert_near(recommendation.gain.ratio, 2);
    assert_true(isnan(recommendation.gain.low));
}

/* Without `none`, with nothing else, and if none of its rounds ended. */
TEST_OF_RESULT(recommend_does_with_the_arms_that_there_are)
{
    (void)add_even(PLACE_PARTITION, 10.2);
    (void)fixture_add_skipped(&by_hand.result, PLACE_NUMA, 2, "one node");
    assert_int_equal(recommended(), PLACEMENTS);
    (void)add_even(PLACE_SIZED, 10);
    assert_int_equal(recommended(), PLACE_SIZED);
    assert_false(recommendation.is_default);
    (void)add_even(PLACE_SAME, 100);
    assert_int_equal(recommended(), PLACE_SIZED);
    assert_near(recommendation.gain.ratio, 10);

    size_t none = add_even(PLACE_NONE, 1000);
    for (unsigned round = 0; round < 3; round++)
        mark(none, round, STATUS_HUNG);
    assert_int_equal(recommended(), PLACE_SIZED);
    assert_true(recommendation.reference_failed && recommend_applies(&recommendation));
    assert_true(isnan(recommendation.gain.ratio));

    by_hand_again();
    (void)add_even(PLACE_NONE, 10);
    assert_int_equal(recommended(), PLACEMENTS);
}

/* The same rounds in a run, and as the fresh rounds of a tune whose search found something else. */
TEST_OF_RESULT(recommend_of_a_tune_is_that_of_a_run)
{
    static const enum placement placements[] = {PLACE_NONE, PLACE_SIZED, PLACE_PARTITION};
    static const double step_ms[] = {100, 10.3, 10}, searched_ms[] = {100, 50, 10};
    static struct variant variants[6];
    for (size_t i = 0; i < 3; i++)
        (void)add_even(placements[i], step_ms[i]);
    assert_int_equal(recommended(), PLACE_SIZED);
    double gain = recommendation.gain.ratio;
    for (size_t i = 0; i < 3; i++)
        (void)add_even(placements[i], searched_ms[i]);
    for (size_t i = 0; i < 6; i++) {
        variants[i].is_fresh = i < 3;
        variant_put_name(&variants[i], placements[i % 3], 0);
        by_hand.result.arms[i].variant = &variants[i];
    }
    by_hand.result.purpose = PURPOSE_TUNE;
    assert_int_equal(recommended(), PLACE_SIZED);
    assert_near(recommendation.gain.ratio, gain);
    assert_true(recommendation.arm < 3);
}

/* Of a variant with that name in a file, which is written again as it was read. */
static unsigned effort(enum placement placement, const char *name, unsigned workers)
{
    struct variant variant = {0};
    variant_take_name(&variant, placement, name);
    variant_put_name(&variant, placement, workers);
    assert_string_equal(variant.name, name);
    return recommend_effort(placement, &variant);
}

TEST_OF_RESULT(recommend_effort_has_the_order_of_the_manual)
{
    static const struct {
        enum placement placement;
        const char *name;
    } order[] = {{PLACE_PASSIVE, "passive"},
                 {PLACE_SIZED, "sized"},
                 {PLACE_SIZED, "sized+8t"},
                 {PLACE_PARTITION, "partition"},
                 {PLACE_LLC, "fresh.llc"},
                 {PLACE_GPU_LOCAL, "gpu-local"},
                 {PLACE_PASSIVE, "passive+r1"},
                 {PLACE_SIZED, "sized+passive"},
                 {PLACE_SIZED, "sized+8t+passive"},
                 {PLACE_PARTITION, "partition+8t"},
                 {PLACE_GPU_LOCAL, "fresh.gpu-local-4"},
                 {PLACE_PASSIVE, "passive+r1-4"},
                 {PLACE_PARTITION, "partition+8t+r2"}};
    for (size_t i = 1; i < sizeof(order) / sizeof(order[0]); i++)
        assert_true(effort(order[i - 1].placement, order[i - 1].name, 0) <
                    effort(order[i].placement, order[i].name, 0));
    assert_int_equal(effort(PLACE_NONE, "none+2w", 2), 0);
    assert_int_equal(recommend_effort(PLACE_REMOTE, NULL), 0);
    assert_int_equal(effort(PLACE_SIZED, "sized+2w", 2), recommend_effort(PLACE_SIZED, NULL));
}
