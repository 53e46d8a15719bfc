/* The arithmetic of throttled time, compared with a small model of the kernel. */
#include "bench/dose/dose_throttle.h"

#include "harness/lib/sys/cgroup.h"
#include "tests/lib/unit.h"

static const double period_s = GROUPS_PERIOD_US * 1e-6;

/* A group that wants `demand` CPUs is stopped when its quota is used up, on that many run queues,
 * at least one. A quota set in mid-period is granted anew for the rest of it, on average 1.5 times
 * in all. */
struct model {
    struct throttle throttle;
    struct throttle_counts counts;
};

/* Runs that many periods; returns the mean dose held. */
static double run(struct model *model, double demand, unsigned periods)
{
    double held = 0;
    for (unsigned i = 0; i < periods; i++) {
        double quota = model->throttle.quota * (model->throttle.is_new ? 1.5 : 1);
        double stopped = fmax(0, 1 - quota / demand) * fmax(demand, 1) * period_s;
        model->counts.periods++;
        model->counts.throttled_s += stopped;
        held += throttle_held(model->throttle.quota, stopped, period_s);
        (void)throttle_correct(&model->throttle, model->counts);
    }
    return held / periods;
}

TEST(throttle_counts_what_would_have_run)
{
    assert_true(fabs(throttle_held(1.8, 0.02, 0.1) - 0.1) < 1e-9); /* two CPUs, each for 10 ms */
    assert_true(fabs(throttle_held(0.9, 0.01, 0.1) - 0.1) < 1e-9); /* one of the two */
    assert_true(fabs(throttle_held(0.45, 0.01, 0.1) - 0.1) <
                1e-9); /* one CPU that waits half of its time */
    assert_true(throttle_held(2, 0, 0.1) == 0);
    assert_true(throttle_held(2, NAN, 0.1) == 0);
}

TEST(throttle_holds_any_level_of_any_demand)
{
    static const double levels[] = {0.02, 0.1, 0.4, 0.8}, demands[] = {0.3, 1, 2, 7.5};
    for (unsigned l = 0; l < 4; l++)
        for (unsigned d = 0; d < 4; d++) {
            struct model model = {.counts = {0}};
            throttle_begin(&model.throttle, levels[l], 8);
            (void)run(&model, demands[d], 60);
            double held = run(&model, demands[d], 50);
            if (!(fabs(held - levels[l]) < 0.02))
                fail_msg("%g of %g CPUs: held %g", levels[l], demands[d], held);
        }
}

TEST(throttle_follows_a_demand_that_doubles_or_halves)
{
    static const double levels[] = {0.05, 0.1, 0.2, 0.4};
    for (unsigned l = 0; l < 4; l++) {
        struct model model = {.counts = {0}};
        throttle_begin(&model.throttle, levels[l], 4);
        (void)run(&model, 1, 40);
        (void)run(&model, 2, 25);
        double doubled = run(&model, 2, 15);
        (void)run(&model, 1, 30);
        double halved = run(&model, 1, 20);
        if (!(fabs(doubled - levels[l]) < 0.02 && fabs(halved - levels[l]) < 0.02))
            fail_msg("%g: held %g when it had doubled, %g when halved", levels[l], doubled, halved);
    }
}

TEST(throttle_keeps_its_quota_while_nobody_runs)
{
    struct model model = {.counts = {0}};
    throttle_begin(&model.throttle, 0.2, 4);
    (void)run(&model, 2, 40);
    double quota = model.throttle.quota;
    for (unsigned i = 0; i < 50; i++)
        assert_false(throttle_correct(&model.throttle, model.counts));
    assert_true(model.throttle.quota == quota);
    assert_true(fabs(quota - 1.6) < 0.1);
}

TEST(throttle_sets_a_quota_seldom_and_within_bounds)
{
    struct model model = {.counts = {0}};
    unsigned set = 0;
    throttle_begin(&model.throttle, 0.2, 4);
    for (unsigned i = 0; i < 200; i++) {
        double quota = model.throttle.quota;
        (void)run(&model, i < 100 ? 2 : 0.01, 1);
        set += i < 100 && model.throttle.quota != quota;
        assert_true(model.throttle.quota > 0.01 && model.throttle.quota <= 4);
    }
    assert_true(set > 1 && set < 25);
}
