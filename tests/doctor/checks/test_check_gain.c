/* The gain of fewer threads: what is promised is less than what came. */
#include "harness/doctor/checks/check.h"
#include "tests/lib/unit.h"

/* Two teams of two threads on two CPUs, as the others left them. */
static double promise(double share, unsigned samples, double others)
{
    const double ran = 2 - others;
    return check_gain_of_fewer(&(struct check_spin){.share = share,
                                                    .samples = samples,
                                                    .ran = ran,
                                                    .wanted = 4,
                                                    .threads = 2,
                                                    .room = 2,
                                                    .others = others})
        .times;
}

/* Measured on a quiet machine: spinning of 86, 92 and 98% gained 7.9x, 7.9x and 16x. */
TEST(a_promise_is_kept_on_a_quiet_machine)
{
    static const struct {
        double share, gained;
    } cases[] = {{0.86, 7.9}, {0.92, 7.9}, {0.98, 16}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const double times = promise(cases[i].share, 2000, 0);
        assert_true(times <= cases[i].gained);
        assert_true(times >= cases[i].gained / 2);
    }
}

/* "At least 8x" was 6.1x, 6.5x and 4.4x beside other load. */
TEST(others_that_are_there_lower_the_promise)
{
    assert_true(promise(0.95, 2000, 0) > 7);
    assert_true(promise(0.95, 2000, 0.5) < 6.5);
    assert_true(promise(0.95, 2000, 1) < 5.5);
    /* 1/3 of a CPU beside four spinning threads is what a thread gets that wants 0.8 of one. */
    assert_true(fabs(promise(0.95, 2000, 1.0 / 3) - 2 * 2 / 2.8 / (5.0 / 3 * 0.125)) < 0.01);
}

TEST(few_samples_promise_less)
{
    const double many = promise(0.8, 20000, 0), few = promise(0.8, 60, 0);
    assert_true(few < many);
    assert_float_equal(many, 1 / 0.25, 0.1);
    assert_true(fabs(few - 1 / (0.25 + 1.645 * sqrt(0.8 * 0.2 / 60))) < 0.01);
}

/* No samples, or a gain below 1.1x, is no promise. */
TEST(what_is_not_known_is_not_promised)
{
    assert_true(isnan(promise(NAN, 0, 0)));
    assert_true(isnan(promise(0.1, 2000, 0)));
}

/* A quota leaves fewer threads the same CPU time. */
TEST(a_quota_has_no_others)
{
    assert_float_equal(
        check_gain_of_fewer(&(struct check_spin){.share = 0.55, .samples = 1000000}).times, 1 / 0.5,
        0.01);
}
