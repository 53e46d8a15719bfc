/* Verdicts between runs: which verdict, about what, and why. */
#include "harness/verdict/runs/compare.h"

#include "harness/lib/text.h"
#include "tests/lib/fixture_result.h"
#include "tests/lib/fixture_sim.h"
#include "tests/lib/unit.h"

enum { RUNS = 5, EARLIER = 15 };

/* Nearly equal runs of an arm, so that medians decide the verdicts; tests change rows. */
static const struct sim calm = {.arms = 1, .rounds = 5, .run_sd = 0.002, .round_sd = 0.001};

struct two {
    struct sim_run made[2][RUNS];
    const struct analysis *runs[2][RUNS];
    struct pairing_runs sides[PAIRING_SIDES];
    struct compare_options options;
    struct comparisons comparisons;
};

static void two_init(struct two *two, size_t runs, double slower)
{
    uint64_t seed = 5;
    *two = (struct two){.options = {.threshold = 0.05}};
    for (int side = 0; side < 2; side++) {
        for (size_t i = 0; i < runs; i++) {
            sim_run_make(&calm, &seed, (unsigned)i, (unsigned)side, slower, &two->made[side][i]);
            two->runs[side][i] = &two->made[side][i].analysis;
        }
        two->sides[side] = (struct pairing_runs){side ? "new" : "base", runs, two->runs[side]};
    }
}

static void two_free(struct two *two)
{
    comparisons_free(&two->comparisons);
    for (int side = 0; side < 2; side++)
        for (size_t i = 0; i < two->sides[side].n; i++)
            sim_run_free(&two->made[side][i]);
}

#define TWO(name, ...)                                                                             \
    AUTO(two) name;                                                                                \
    two_init(&name, __VA_ARGS__)

static void compare(struct two *two)
{
    assert_int_equal(compare_make(two->sides, &two->options, &two->comparisons, NULL), 0);
}

/* The row of a metric: 0 throughput, 1 step_time. */
static struct row *row_of(struct two *two, int side, size_t run, size_t metric)
{
    return &two->made[side][run].analysis.rows.row[metric];
}

static const struct comparison *first(const struct two *two)
{
    assert_true(two->comparisons.n > 0);
    return &two->comparisons.all[0];
}

TEST(compare_finds_what_changed_and_which_way)
{
    static const struct expected {
        double slower;
        enum finding_outcome outcome;
    } all[] = {
        {1.2, OUTCOME_SLOWER}, {1 / 1.2, OUTCOME_FASTER}, {1, OUTCOME_SAME}, {1.02, OUTCOME_SAME}};
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
        TWO(two, RUNS, all[i].slower);
        compare(&two);
        assert_int_equal(two.comparisons.n, 2);
        for (size_t k = 0; k < 2; k++) {
            const struct comparison *one = &two.comparisons.all[k];
            assert_int_equal(one->evidence.outcome, all[i].outcome);
            assert_true(one->gating && one->base_runs == RUNS && one->other_runs == RUNS);
            assert_true(one->evidence.low < one->evidence.ratio &&
                        one->evidence.ratio < one->evidence.high);
        }
        assert_true(fabs(two.comparisons.all[1].evidence.ratio / all[i].slower - 1) < 0.01);
    }
}

TEST(compare_of_single_runs_needs_a_large_difference)
{
    TWO(two, 1, 1.15);
    compare(&two);
    assert_int_equal(first(&two)->evidence.outcome, OUTCOME_UNCLEAR);
    assert_has(first(&two)->reason, "'contend ab'");
    assert_has(first(&two)->reason, "runs a side");
    two_free(&two);
    two_init(&two, 1, 1 / 97.0);
    compare(&two);
    assert_int_equal(first(&two)->evidence.outcome, OUTCOME_FASTER);
}

TEST(compare_takes_the_spread_from_the_history)
{
    AUTO(two) two;
    struct sim_run earlier[EARLIER];
    const struct analysis *runs[EARLIER];
    uint64_t seed = 8;
    two_init(&two, 1, 1.15);
    for (unsigned i = 0; i < EARLIER; i++) {
        sim_run_make(&calm, &seed, i, 0, 1, &earlier[i]);
        runs[i] = &earlier[i].analysis;
    }
    two.sides[PAIRING_HISTORY] = (struct pairing_runs){"history", EARLIER, runs};
    compare(&two);
    assert_int_equal(first(&two)->evidence.outcome, OUTCOME_SLOWER);
    assert_has(first(&two)->reason, "15 of the history");
    for (unsigned i = 0; i < EARLIER; i++)
        sim_run_free(&earlier[i]);
}

TEST(compare_has_a_floor_in_the_unit)
{
    TWO(two, RUNS, 1.2);
    for (int side = 0; side < 2; side++)
        for (size_t i = 0; i < RUNS; i++)
            row_of(&two, side, i, 1)->median *= 1e-6; /* 1.0 and 1.2 us */
    compare(&two);
    assert_int_equal(first(&two)->evidence.outcome, OUTCOME_SLOWER);
    assert_int_equal(two.comparisons.all[1].evidence.outcome, OUTCOME_SAME);
}

TEST(compare_widens_where_it_was_noisy)
{
    struct two calm_one, noisy;
    two_init(&calm_one, RUNS, 1.07);
    two_init(&noisy, RUNS, 1.07);
    row_of(&noisy, 1, 2, 0)->status = STATUS_NOISY;
    compare(&calm_one);
    compare(&noisy);
    assert_int_equal(first(&calm_one)->evidence.outcome, OUTCOME_SLOWER);
    assert_true(first(&noisy)->evidence.high - first(&noisy)->evidence.low >
                1.5 * (first(&calm_one)->evidence.high - first(&calm_one)->evidence.low));
    assert_has(first(&noisy)->reason, "disturbed");
    two_free(&calm_one);
    two_free(&noisy);
}

/* Runs that vary by 4%; the sides differ by `slower`. */
static void spread_out(struct two *two, double slower)
{
    static const double parts[RUNS] = {0, 0.04, -0.04, 0.05, -0.05};
    two_init(two, RUNS, slower);
    for (int side = 0; side < 2; side++)
        for (size_t i = 0; i < RUNS; i++) {
            row_of(two, side, i, 0)->median *= 1 + parts[i];
            row_of(two, side, i, 1)->median /= 1 + parts[i];
        }
    compare(two);
}

/* The advised number of runs exceeds the present one; none is advised if none would decide. */
TEST(compare_asks_for_more_runs_than_there_are)
{
    static const double all[] = {1, 1.03, 1.049, 1.07};
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
        AUTO(two) two;
        unsigned asked = 0;
        spread_out(&two, all[i]);
        assert_int_equal(first(&two)->evidence.outcome, OUTCOME_UNCLEAR);
        const char * or = strstr(first(&two)->reason, "Decide it by 'contend ab', or by ");
        if (or)
            assert_int_equal(sscanf(or, "Decide it by 'contend ab', or by %u runs a side", &asked),
                             1);
        assert_true(! or || asked > RUNS);
        assert_int_equal(or != NULL, all[i] == 1 || all[i] == 1.07);
    }
}

/* The spread of equal runs is given in the direction of the change, so that both are comparable. */
TEST(compare_tells_both_changes_alike)
{
    unsigned beyond = 0, within = 0;
    for (double change = -0.2; change < 0.2; change += 0.002) {
        AUTO(two) two;
        double changed, equal;
        spread_out(&two, exp(change));
        const char *reason = first(&two)->reason;
        bool is_beyond = strstr(reason, "more than equal") || strstr(reason, "beyond");
        const char *paren = strchr(reason, '(');
        if (paren && (is_beyond || strstr(reason, "within the range of equal runs"))) {
            assert_int_equal(sscanf(reason, "%lf%%", &changed), 1);
            assert_int_equal(sscanf(paren, "(%lf%%", &equal), 1);
            assert_true(is_beyond ? fabs(changed) >= equal - 0.1 : fabs(changed) <= equal + 0.1);
            beyond += is_beyond;
            within += !is_beyond;
        }
    }
    assert_true(beyond > 10 && within > 10);
}

/* A censored step time is a lower bound: "slower" is certain, "faster" is not. */
TEST(compare_takes_censored_rows_as_bounds)
{
    static const struct expected {
        int side; /* the censored side */
        double slower;
        enum finding_outcome outcome;
    } all[] = {{1, 2, OUTCOME_SLOWER},
               {0, 2, OUTCOME_UNCLEAR},
               {1, 0.5, OUTCOME_UNCLEAR},
               {0, 0.5, OUTCOME_FASTER},
               {1, 1, OUTCOME_UNCLEAR}};
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
        TWO(two, RUNS, all[i].slower);
        row_of(&two, all[i].side, 0, 0)->status = STATUS_CENSORED;
        compare(&two);
        assert_int_equal(first(&two)->evidence.outcome, all[i].outcome);
    }
}

TEST(compare_lists_what_one_side_lacks)
{
    TWO(two, 1, 1);
    struct row *row = row_of(&two, 1, 0, 0);
    row->metric = VALUE_STATUS;
    row->status = STATUS_FAILED;
    put_text(row->reason, "worker 1 was killed");
    two.made[1][0].analysis.rows.n = 1;
    compare(&two);
    assert_int_equal(comparisons_count(&two.comparisons, OUTCOME_MISSING), 2);
    assert_has(first(&two)->reason, "failed in new: worker 1 was killed");
    assert_true(isnan(first(&two)->evidence.ratio));
}

/* The arm failed in that run of the new side: without values, or in some of its rounds. */
static void fail_run(struct two *two, size_t run, bool whole)
{
    for (size_t metric = 0; metric < (whole ? 1 : 2); metric++) {
        struct row *row = row_of(two, 1, run, metric);
        row->metric = whole ? VALUE_STATUS : row->metric;
        row->status = STATUS_FAILED;
        put_text(row->reason, "worker 1 was killed");
    }
    if (whole)
        two->made[1][run].analysis.rows.n = 1;
}

TEST(compare_does_not_leave_failed_runs_out)
{
    static const double slower[] = {1, 1 / 1.2, 1.5};
    for (int i = 0; i < 6; i++) {
        TWO(two, RUNS, slower[i / 2]);
        fail_run(&two, 1, i % 2);
        fail_run(&two, 3, i % 2);
        compare(&two);
        for (size_t k = 0; k < 2; k++) {
            const struct comparison *one = &two.comparisons.all[k];
            assert_int_equal(one->evidence.outcome, i / 2 == 2 ? OUTCOME_SLOWER : OUTCOME_MISSING);
            assert_has(one->reason, "failed in 2 of 5 runs of new: worker 1 was");
        }
    }
}

TEST(compare_refuses_all_verdicts)
{
    TWO(two, RUNS, 2);
    two.options.refused = "another machine";
    compare(&two);
    assert_int_equal(comparisons_count(&two.comparisons, OUTCOME_MISSING), 2);
    assert_string_equal(first(&two)->reason, "another machine");
    assert_false(comparisons_decided(&two.comparisons));
}

TEST(compare_judges_only_what_gates)
{
    TWO(two, RUNS, 2);
    for (int side = 0; side < 2; side++)
        for (size_t i = 0; i < RUNS; i++)
            row_of(&two, side, i, 0)->metric = "helper_cpu";
    compare(&two);
    assert_false(first(&two)->gating);
    assert_int_equal(first(&two)->evidence.outcome, OUTCOME_NONE);
    assert_int_equal(two.comparisons.all[1].evidence.outcome, OUTCOME_SLOWER);
}

/* The other metric of the same steps shows no change. */
TEST(compare_believes_a_metric_only_with_its_mate)
{
    TWO(two, RUNS, 1);
    for (size_t i = 0; i < RUNS; i++) {
        row_of(&two, 1, i, 0)->median *= 1 / 1.2; /* lower throughput .. */
        row_of(&two, 1, i, 1)->median *= 1 / 1.2; /* .. by shorter steps */
    }
    compare(&two);
    assert_int_equal(first(&two)->evidence.outcome, OUTCOME_UNCLEAR);
    assert_has(first(&two)->reason, "is beyond the range of equal runs");
    assert_has(first(&two)->reason, "together with step_time of the same steps");
    assert_lacks(first(&two)->reason, "runs a side");
}

/* A rate that fell by a fifth, mostly since its clock fell by a sixth. */
TEST(compare_says_what_is_left_in_clock_cycles)
{
    static const struct bench_metric metrics[] = {
        {"rate", "TFLOP/s", "higher", .gating = true, .clock = "clock"},
        {"clock", "MHz", "higher"},
        {.name = NULL},
    };
    static const struct bench bench = {
        .name = "matmul", .ops_unit = "", .metrics = metrics, .scan = fixture_no_scan};
    TWO(two, RUNS, 1);
    for (int side = 0; side < 2; side++)
        for (size_t i = 0; i < RUNS; i++) {
            two.made[side][i].result.arms[0].bench = &bench;
            for (size_t metric = 0; metric < 2; metric++) {
                struct row *row = row_of(&two, side, i, metric);
                row->metric = metrics[metric].name;
                put_text(row->unit, "%s", metrics[metric].unit);
                row->better = "higher";
                row->median = (metric ? 1800 : 600) / (side ? metric ? 1.2 : 1.25 : 1.0);
            }
        }
    compare(&two);
    assert_int_equal(first(&two)->evidence.outcome, OUTCOME_SLOWER);
    assert_has(first(&two)->reason, "Its clock: -16.7%; in clock cycles: -4.0%.");
}

/* Turns the run's second arm into a control that took `seconds` in each round. */
static void add_control(struct sim_run *run, double seconds)
{
    struct row *row = &run->analysis.rows.row[2];
    run->result.arms[1].is_control = true;
    run->analysis.rows.n = 3; /* two rows of the first arm, one of the control */
    row->role = "canary";
    row->metric = "canary_integer";
    put_text(row->unit, "s");
    row->better = "lower";
    row->median = row->ci_low = row->ci_high = seconds;
}

TEST(compare_does_not_count_what_the_machine_moved)
{
    static const double moved[] = {1, 1.1};
    struct sim with_two = calm;
    with_two.arms = 2;
    for (int m = 0; m < 2; m++) {
        AUTO(two) two;
        uint64_t seed = 5;
        two_init(&two, 0, 1);
        for (int side = 0; side < 2; side++)
            for (unsigned i = 0; i < RUNS; i++) {
                struct sim_run *run = &two.made[side][i];
                sim_run_make(&with_two, &seed, i, 2, side ? 1.1 : 1, run);
                add_control(run, side ? moved[m] : 1);
                two.runs[side][i] = &run->analysis;
                two.sides[side].n = i + 1;
            }
        compare(&two);
        assert_int_equal(first(&two)->evidence.outcome, m ? OUTCOME_UNCLEAR : OUTCOME_SLOWER);
        assert_int_equal(strstr(first(&two)->reason, "machine itself changed") != NULL, m);
        assert_int_equal(strstr(first(&two)->reason, "is within the range of equal runs") != NULL,
                         false);
        assert_int_equal(strstr(first(&two)->reason, "is beyond the range of equal runs") &&
                             strstr(first(&two)->reason, "but by less than the machine"),
                         m);
    }
}

/* A row without a pair says in what the other side's differs: the placement, or options. */
TEST(compare_says_what_keeps_rows_apart)
{
    TWO(two, 1, 1);
    for (size_t metric = 0; metric < 2; metric++)
        row_of(&two, 1, 0, metric)->placement = "sized";
    const char *placement = row_of(&two, 0, 0, 0)->placement;
    compare(&two);
    assert_int_equal(two.comparisons.n, 4);
    for (size_t i = 0; i < 4; i++) {
        const struct comparison *one = &two.comparisons.all[i];
        assert_int_equal(one->evidence.outcome, OUTCOME_MISSING);
        assert_has(one->reason, placement);
        assert_has(one->reason, "sized in new");
    }
    assert_true(two.comparisons.apart_by_placement && two.comparisons.apart[0]);
    assert_false(comparisons_paired(&two.comparisons));
    comparisons_free(&two.comparisons);

    two.sides[PAIRING_BASE].placement = placement;
    two.sides[PAIRING_OTHER].placement = "sized";
    compare(&two);
    assert_int_equal(two.comparisons.n, 2);
    assert_true(comparisons_paired(&two.comparisons) && !two.comparisons.apart[0]);
    comparisons_free(&two.comparisons);

    two.sides[PAIRING_BASE].placement = two.sides[PAIRING_OTHER].placement = NULL;
    for (size_t metric = 0; metric < 2; metric++) {
        row_of(&two, 1, 0, metric)->placement = placement;
        text_set(row_of(&two, 0, 0, metric)->params, "rows=64;slots=2");
        text_set(row_of(&two, 1, 0, metric)->params, "rows=128;slots=4");
    }
    compare(&two);
    assert_int_equal(two.comparisons.n, 4);
    assert_has(first(&two)->reason, "rows is 64 in base, 128 in new");
    assert_has(first(&two)->reason, "workers is 2 in base, 4 in new");
    assert_false(two.comparisons.apart_by_placement);
    assert_true(two.comparisons.apart[0]);
}
