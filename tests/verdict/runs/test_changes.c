/*
 * Simulated runs with known changes of level: how often they are found, and how often changes are
 * found where there are none. Each rate uses a fixed seed, so it is the same everywhere.
 */
#include "harness/verdict/runs/changes.h"

#include "tests/lib/fixture_sim.h"
#include "tests/lib/trials.h"
#include "tests/lib/unit.h"

enum { RUNS_MOST = 128, FULL = 1000 };

/* Error for one figure in a history with ten figures. */
static const double error = 0.01 / 10;
static const double cv = 0.03;

static uint64_t state_of_chance;
static unsigned nseries; /* number of series for each rate */

/* The rate that so few series may show if the true rate is `share`. */
static double most(double share)
{
    return nseries == FULL ? share : trials_most(nseries, share) / (double)nseries;
}

/* Noise of run i of n, around 0, with a standard deviation of 1. */
typedef double noise_maker(size_t i, size_t n);

static double plain(size_t i, size_t n)
{
    (void)i, (void)n;
    return sim_normal(&state_of_chance);
}

static double heavy(size_t i, size_t n) /* Student's t of 3 degrees of freedom */
{
    (void)i, (void)n;
    double a = sim_normal(&state_of_chance), b = sim_normal(&state_of_chance),
           c = sim_normal(&state_of_chance);
    return sim_normal(&state_of_chance) / sqrt((a * a + b * b + c * c) / 3);
}

static double skewed(size_t i, size_t n)
{
    (void)i, (void)n;
    return exp(sim_normal(&state_of_chance));
}

static double two_modes(size_t i, size_t n) /* about three of ten runs are slow */
{
    (void)i, (void)n;
    return 0.3 * sim_normal(&state_of_chance) + (sim_uniform(&state_of_chance) < 0.3 ? 6 : 0);
}

static double correlated(size_t i, size_t n)
{
    static double before;
    (void)n;
    before = (i ? 0.3 * before : 0) + sim_normal(&state_of_chance);
    return before;
}

static double with_spike(size_t i, size_t n)
{
    static size_t where;
    where = i ? where : (size_t)(sim_uniform(&state_of_chance) * (double)n);
    return sim_normal(&state_of_chance) + (i == where ? 20 : 0);
}

static double with_spike_at_end(size_t i, size_t n)
{
    return with_spike(i, n) + (i + 1 == n ? 20 : 0);
}

static struct changes find(const double *values, size_t n, double of_chance)
{
    double limited[RUNS_MOST];
    struct changes changes;
    changes_limit(values, n, limited);
    changes_find(limited, n, of_chance, &changes);
    return changes;
}

/* Finds the changes of one series: noise, and a step to `ratio` from run `at` on. */
static struct changes simulate(noise_maker *noise, size_t n, size_t at, double ratio)
{
    double values[RUNS_MOST];
    for (size_t i = 0; i < n; i++)
        values[i] = cv * noise(i, n) + (i >= at ? log(ratio) : 0);
    return find(values, n, error);
}

static double alarm_rate(noise_maker *noise, size_t n)
{
    unsigned alarms = 0;
    state_of_chance = 20260101;
    for (unsigned i = 0; i < nseries; i++) {
        struct changes changes = simulate(noise, n, 0, 1);
        alarms += changes.n > 0;
    }
    return alarms / (double)nseries;
}

TEST(changes_none_where_nothing_changes)
{
    static const size_t lengths[] = {8, 20, 100};
    for (size_t i = 0; i < 3; i++) {
        assert_true(alarm_rate(plain, lengths[i]) <= most(0.005));
        assert_true(alarm_rate(heavy, lengths[i]) <= most(0.005));
        assert_true(alarm_rate(skewed, lengths[i]) <= most(0.015));
        assert_true(alarm_rate(two_modes, lengths[i]) <= most(0.025));
        assert_true(alarm_rate(correlated, lengths[i]) <= most(0.03));
    }
}

TEST(changes_spikes_are_none)
{
    static const size_t lengths[] = {8, 20, 100};
    for (size_t i = 0; i < 3; i++) {
        assert_true(alarm_rate(with_spike, lengths[i]) <= most(0.005));
        assert_true(alarm_rate(with_spike_at_end, lengths[i]) <= most(0.015));
    }
}

/* How often the step is the only change found, at most two runs off. */
static double hit_rate(noise_maker *noise, size_t before, size_t after, double ratio)
{
    unsigned hits = 0;
    state_of_chance = 20260102;
    for (unsigned i = 0; i < nseries; i++) {
        struct changes changes = simulate(noise, before + after, before, ratio);
        long off = changes.n == 1 ? labs((long)changes.change[0].at - (long)before) : 99;
        hits += off <= 2 && (changes.change[0].evidence.ratio > 1) == (ratio > 1);
    }
    return hits / (double)nseries;
}

TEST(changes_finds_steps)
{
    assert_true(1 - hit_rate(plain, 20, 20, 1.10) <= most(0.15));
    assert_true(1 - hit_rate(plain, 20, 20, 0.90) <= most(0.15));
    assert_true(1 - hit_rate(plain, 48, 48, 1.05) <= most(0.40));
    assert_true(1 - hit_rate(plain, 24, 6, 1.10) <= most(0.35));
    assert_true(1 - hit_rate(plain, 24, 6, 1.30) <= most(0.03));
    assert_true(1 - hit_rate(plain, 6, 6, 1.40) <= most(0.40));
    assert_true(1 - hit_rate(with_spike, 20, 20, 1.10) <= most(0.20));
}

/* The interval contains the truth, less often than in 95%, since the same runs also chose the
 * place. */
TEST(changes_interval_holds_the_step)
{
    unsigned holds = 0, found = 0;
    state_of_chance = 20260103;
    for (unsigned i = 0; i < nseries; i++) {
        struct changes changes = simulate(plain, 60, 30, 1.10);
        found += changes.n == 1;
        holds += changes.n == 1 && changes.change[0].evidence.low <= 1.10 &&
                 changes.change[0].evidence.high >= 1.10;
    }
    assert_true(found > nseries * 9 / 10);
    assert_true(holds > found * 85 / 100);
}

TEST(changes_finds_one_that_was_taken_back)
{
    unsigned found = 0;
    state_of_chance = 20260104;
    for (unsigned s = 0; s < nseries; s++) {
        double values[40];
        for (size_t i = 0; i < 40; i++)
            values[i] = cv * sim_normal(&state_of_chance) + (i >= 14 && i < 26 ? log(1.2) : 0);
        struct changes changes = find(values, 40, error);
        found += changes.n == 2 && changes.change[0].evidence.ratio > 1 &&
                 changes.change[1].evidence.ratio < 1;
    }
    assert_true(found >= nseries * 80 / 100);
}

/* The example of the header. */
TEST(changes_example)
{
    static const double runs[] = {100, 101, 99, 100, 101, 99, 100, 120, 121, 119, 120};
    double values[11];
    for (size_t i = 0; i < 11; i++)
        values[i] = log(runs[i]);
    struct changes changes = find(values, 11, 0.01);
    assert_int_equal(changes.n, 1);
    assert_int_equal(changes.change[0].at, 7);
    assert_true(fabs(changes.change[0].evidence.ratio - 1.2) < 0.005);
    assert_int_equal(find(values, CHANGES_RUNS - 1, 0.01).n, 0); /* too few runs */
}

/* Equal figures, as of a fake clock, have no spread; one that differs is a single spike. */
TEST(changes_equal_runs)
{
    double values[20] = {0};
    assert_int_equal(find(values, 20, error).n, 0);
    values[19] = 1;
    assert_int_equal(find(values, 20, error).n, 0);
    for (size_t i = 10; i < 20; i++)
        values[i] = 1;
    struct changes changes = find(values, 20, error);
    assert_int_equal(changes.n, 1);
    assert_int_equal(changes.change[0].at, 10);
}

BEFORE_TESTS
{
    nseries = trials(FULL, 60);
    return 0;
}
