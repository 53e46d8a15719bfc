/* Student's t compared with values of R 4.3 (pt, qt). */
#include "harness/lib/stats.h"
#include "tests/lib/unit.h"

static const struct known {
    double tail, df, t;
} known[] = {
    {0.025, 10, 2.228138852}, {0.005, 8, 3.355387331},  {0.0005, 4, 8.610301581},
    {0.05, 1, 6.313751515},   {0.001, 3, 10.21453185},  {0.025, 1000, 1.962339081},
    {0.005, 2, 9.924843201},  {0.025, 30, 2.042272456},
};

TEST(student_quantile_is_that_of_tables)
{
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
        assert_true(fabs(student_quantile(known[i].tail, known[i].df) / known[i].t - 1) < 1e-7);
}

TEST(student_tail_is_its_inverse)
{
    for (double df = 0.7; df < 200; df *= 1.9)
        for (double tail = 0.4; tail > 1e-9; tail /= 7)
            assert_true(fabs(student_tail(student_quantile(tail, df), df) / tail - 1) < 1e-6);
    assert_true(student_tail(0, 5) == 0.5);
    assert_true(fabs(student_tail(-2.228138852, 10) - 0.975) < 1e-7);
}
