/*
 * How often whole comparisons are wrong, and how often they find a real change, on simulated runs
 * of which the truth is known. Seeds are fixed.
 */
#include "harness/verdict/runs/compare.h"

#include "tests/lib/fixture_sim.h"
#include "tests/lib/trials.h"
#include "tests/lib/unit.h"

enum { RUNS_MOST = 20, ALL_ARMS = 100 };

/*
 * Medians of runs vary by 3% in all: 2.5% between runs, the rest from four correlated rounds. All
 * arms of a run share half of the variance between runs.
 */
static const struct sim usual = {
    .arms = 5, .rounds = 4, .run_sd = 0.025, .common = 0.5, .round_sd = 0.02, .rho = 0.5};

struct trial {
    const struct sim *sim;
    unsigned runs, history; /* for each side */
    unsigned slowed;        /* number of slower arms .. */
    double slower;          /* .. and their factor */
    double round_s;         /* 0 = the usual length */
};

/* Shares of n comparisons: with any FASTER or SLOWER, and with any SLOWER. */
struct rates {
    double changed, slower;
};

/* Adds the outcome of one comparison. */
static void try_once(const struct trial *trial, uint64_t *seed, bool *changed, bool *slower)
{
    struct sim_run made[PAIRING_SIDES][RUNS_MOST];
    const struct analysis *runs[PAIRING_SIDES][RUNS_MOST];
    const struct compare_options options = {.threshold = 0.05, .round_s = trial->round_s};
    struct pairing_runs sides[PAIRING_SIDES] = {{"base", trial->runs, runs[0]},
                                                {"new", trial->runs, runs[1]},
                                                {"history", trial->history, runs[2]}};
    AUTO(comparisons) comparisons;
    unsigned number = 0;
    for (int side = 0; side < PAIRING_SIDES; side++)
        for (size_t i = 0; i < sides[side].n; i++, number++) {
            sim_run_make(trial->sim, seed, number, side == PAIRING_OTHER ? trial->slowed : 0,
                         trial->slower, &made[side][i]);
            runs[side][i] = &made[side][i].analysis;
        }
    assert_int_equal(compare_make(sides, &options, &comparisons, NULL), 0);
    *slower = comparisons_count(&comparisons, OUTCOME_SLOWER) > 0;
    *changed = *slower || comparisons_count(&comparisons, OUTCOME_FASTER) > 0;
    for (int side = 0; side < PAIRING_SIDES; side++)
        for (size_t i = 0; i < sides[side].n; i++)
            sim_run_free(&made[side][i]);
}

static struct rates try(const struct trial *trial, unsigned n)
{
    unsigned changed = 0, slower = 0;
    uint64_t seed = 20261122;
    for (unsigned i = 0; i < n; i++) {
        bool was_changed, was_slower;
        try_once(trial, &seed, &was_changed, &was_slower);
        changed += was_changed;
        slower += was_slower;
    }
    return (struct rates){changed / (double)n, slower / (double)n};
}

/* Expects at most 1%; in few trials, at most what chance makes of 1%. */
static void expect_quiet(const struct sim *sim, unsigned runs, unsigned history)
{
    const struct trial trial = {.sim = sim, .runs = runs, .history = history, .slower = 1};
    unsigned full = sim->mode > 0 ? 2000 : 1000, n = trials(full, 100);
    struct rates rates = try(&trial, n);
    if (rates.changed > (n == full ? 0.01 : trials_most(n, 0.01) / (double)n))
        fail_msg("%u runs a side, %u of the history: %.1f%% of equal ones are called changed", runs,
                 history, 100 * rates.changed);
}

TEST(compare_is_quiet_on_equal_runs)
{
    expect_quiet(&usual, 1, 0);
    expect_quiet(&usual, 2, 0);
    expect_quiet(&usual, 3, 0);
    expect_quiet(&usual, 5, 0);
    expect_quiet(&usual, 1, 15);
}

TEST(compare_is_quiet_where_arms_move_together)
{
    struct sim sim = usual;
    sim.common = 1;
    expect_quiet(&sim, 1, 0);
    expect_quiet(&sim, 5, 0);
}

TEST(compare_is_quiet_with_heavy_tails)
{
    struct sim sim = usual;
    sim.heavy = 0.1;
    expect_quiet(&sim, 1, 0);
    expect_quiet(&sim, 3, 0);
    expect_quiet(&sim, 5, 0);
}

TEST(compare_is_quiet_with_two_modes)
{
    struct sim sim = usual;
    sim.mode = 0.15;
    sim.mode_share = 0.3;
    expect_quiet(&sim, 1, 0);
    expect_quiet(&sim, 3, 0);
    expect_quiet(&sim, 5, 0);
}

TEST(compare_is_quiet_with_drift_and_dependent_rounds)
{
    struct sim sim = usual;
    sim.drift = 0.001;
    sim.rho = 0.9;
    expect_quiet(&sim, 1, 0);
    expect_quiet(&sim, 5, 0);
}

/* Runs that vary three times as much as usual: quiet at once, and also with enough runs to see the
 * spread. */
TEST(compare_is_quiet_on_a_restless_machine)
{
    struct sim sim = usual;
    sim.run_sd = 0.08;
    expect_quiet(&sim, 1, 0);
    expect_quiet(&sim, 3, 0);
}

/* Two runs a side say least about their own spread. Cases: runs that vary far more than usual while
 * their rounds do not show it, and the short runs of a CI job on a machine with two modes. */
TEST(compare_of_two_runs_is_quiet_on_any_machine)
{
    struct sim sim = usual;
    sim.rounds = 2;
    sim.rho = 0.9;
    for (size_t i = 0; i < 2; i++) {
        sim.run_sd = i ? 0.3 : 0.15;
        expect_quiet(&sim, 2, 0);
    }
    sim.run_sd = 0.025;
    sim.mode = 0.4;
    sim.mode_share = 0.5;
    const struct trial hurried = {.sim = &sim, .runs = 2, .slower = 1, .round_s = 0.05};
    assert_true(try(&hurried, trials(1000, 100)).changed <= 0.01);
}

/* An injected slowdown is in every arm. In a single arm, or in one of many, less is found. */
TEST(compare_finds_10_percent_with_five_runs)
{
    struct sim one = usual;
    one.arms = 1;
    const struct trial all = {.sim = &usual, .runs = 5, .slowed = ALL_ARMS, .slower = 1.1};
    const struct trial single = {.sim = &one, .runs = 5, .slowed = ALL_ARMS, .slower = 1.1};
    assert_true(try(&all, trials(1000, 100)).slower >= 0.95);
    assert_true(try(&single, trials(1000, 100)).slower >= 0.9);
}

/* The spread from 15 earlier runs adds what five runs a side of one arm lack. */
TEST(compare_finds_10_percent_of_one_arm_by_a_history)
{
    struct sim one = usual;
    one.arms = 1;
    const struct trial trial = {
        .sim = &one, .runs = 5, .history = 15, .slowed = ALL_ARMS, .slower = 1.1};
    assert_true(try(&trial, trials(1000, 100)).slower >= 0.95);
    expect_quiet(&one, 5, 15);
}

TEST(compare_finds_twice_with_one_run)
{
    const struct trial twice = {.sim = &usual, .runs = 1, .slowed = ALL_ARMS, .slower = 2};
    const struct trial a_tenth = {.sim = &usual, .runs = 1, .slowed = ALL_ARMS, .slower = 1.1};
    assert_true(try(&twice, trials(300, 100)).slower == 1);
    assert_true(try(&a_tenth, trials(300, 100)).changed == 0);
}
