/* The choice among algorithms of made-up speed: the fastest, in time even if all are slow. */
#include "kernels/matmul/gpu_matmul_choose.h"
#include "tests/lib/unit.h"

enum { MOST = 8 };

struct fake {
    double product_s[MOST]; /* < 0: does not work */
    double load_s;          /* loading time of the code, before the first product */
    unsigned products[MOST], calls;
    double spent_s;
};

static double multiply(void *arg, int algorithm, unsigned count)
{
    struct fake *fake = arg;
    double load_s = fake->products[algorithm] ? 0 : fake->load_s;
    fake->calls++;
    if (fake->product_s[algorithm] < 0)
        return -1;
    fake->products[algorithm] += count;
    fake->spent_s += load_s + count * fake->product_s[algorithm];
    return load_s + count * fake->product_s[algorithm];
}

static int choose(struct fake *fake, int n, double *seconds)
{
    struct matmul_trials trials = {.multiply = multiply, .arg = fake};
    fake->spent_s = 0;
    int best = matmul_choose(&trials, n, seconds);
    double first_s = fake->product_s[0];
    if (first_s < 0.1) /* unless a slow one was tried once, including its load */
        assert_true(first_s < 0 ? trials.first_s < 0 : fabs(trials.first_s / first_s - 1) < 0.001);
    if (fake->spent_s > 0)
        assert_true(trials.spent_s > 0.999 * fake->spent_s &&
                    trials.spent_s < 1.001 * fake->spent_s);
    return best;
}

TEST(matmul_choose_the_fastest)
{
    struct fake fake = {.product_s = {0.002, -1, 0.001, 0.003}, .load_s = 0.3};
    double seconds = 0;
    assert_int_equal(choose(&fake, 4, &seconds), 2);
    assert_true(seconds > 0.000999 && seconds < 0.001001); /* excludes the loading time */
    for (int i = 0; i < 4; i++)
        assert_int_equal(fake.products[i],
                         i == 1 ? 0 : 6); /* two passes, of one and of two products */
}

TEST(matmul_choose_keeps_the_first_of_equals)
{
    struct fake fake = {.product_s = {0.001, 0.000995, 0.00098}};
    double seconds;
    assert_int_equal(choose(&fake, 2, &seconds), 0);
    assert_int_equal(choose(&fake, 3, &seconds), 2);
}

/* 30 s a product: one trial. 2 s a product: four trials, then the time is over. */
TEST(matmul_choose_in_time)
{
    struct fake slowest = {.product_s = {30, 1, 1, 1}};
    double seconds;
    assert_int_equal(choose(&slowest, 4, &seconds), 0);
    assert_int_equal(slowest.calls, 1);
    struct fake slow = {.product_s = {2.2, 2.1, 2, 2.3, 1.5, 1.5, 1.5, 1.5}};
    assert_int_equal(choose(&slow, 8, &seconds), 2);
    assert_true(seconds > 1.999 && seconds < 2.001);
    assert_int_equal(slow.calls, 4);
}

/* A library that loads its code slowly is not a slow algorithm. */
TEST(matmul_choose_after_slow_loading)
{
    struct fake fake = {.product_s = {0.001, 0.002}, .load_s = 1.5};
    double seconds;
    assert_int_equal(choose(&fake, 2, &seconds), 0);
    assert_true(seconds < 0.0011);
}

/* The search for an algorithm that works may exceed the time. */
TEST(matmul_choose_what_works)
{
    struct fake none = {.product_s = {-1, -1}}, last = {.product_s = {-1, -1, 20}};
    double seconds = 7;
    assert_int_equal(choose(&none, 2, &seconds), -1);
    assert_true(seconds > 6.9);
    assert_int_equal(none.calls, 2);
    assert_int_equal(choose(&last, 3, &seconds), 2);
}
