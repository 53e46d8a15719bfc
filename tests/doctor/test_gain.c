/* Rates of blocks, gains of pairs, and the settings that commands name. */
#include "harness/doctor/gain.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "harness/doctor/cure.h"

static void assert_near(double value, double expected)
{
    if (!(fabs(value - expected) <= 1e-6 * fabs(expected)))
        fail_msg("%.9g, expected %.9g", value, expected);
}

/* Steps that do not end with the block count in part: 0.8 a second is 0.8, not 2/3 or 1. */
static void test_gain_growth_counts_parts_of_steps(void **state)
{
    const struct gain_sample samples[] = {{100, 0}, {100.4, 1}, {101.65, 2}, {102.9, 3}};
    (void)state;
    assert_near(gain_growth(samples, 4, 101, 104), 0.8);
    /* In bursts, as what is buffered comes: ten lines a second. */
    const struct gain_sample bursts[] = {{0, 0}, {2, 20}, {4, 40}};
    assert_near(gain_growth(bursts, 3, 1, 4), 10);
}

/* A job that stops is not as fast as it was before. */
static void test_gain_growth_sees_a_job_that_stops(void **state)
{
    const struct gain_sample samples[] = {{0, 0}, {0.9, 9}, {1.0, 10}, {1.1, 11}, {1.2, 12}};
    (void)state;
    assert_near(gain_growth(samples, 5, 1, 4), 1);
    assert_true(isnan(gain_growth(samples, 5, 1.1, 4)));
    assert_true(isnan(gain_growth(samples, 1, 1, 4)));
    assert_true(isnan(gain_growth(NULL, 0, 1, 4)));
}

static void test_gain_mean_leaves_out_what_spans_the_change(void **state)
{
    const struct gain_sample samples[] = {{0.5, 100}, {1.5, 50}, {2.5, 10}, {3.5, 20}, {4.5, 99}};
    (void)state;
    assert_near(gain_mean(samples, 5, 1, 4, false), 80.0 / 3);
    assert_near(gain_mean(samples, 5, 1, 4, true), 15);
    assert_true(isnan(gain_mean(samples, 5, 3, 4, true)));
}

/* Against scipy.stats.t.interval(0.95, n - 1, mean, sem) of the logarithms. */
static void test_gain_make_has_the_interval_of_pairs(void **state)
{
    const struct gain_pairs twice = {4, {10, 12, 9, 11}, {20.5, 23, 18.4, 21.8}};
    const struct gain_pairs same = {4, {10, 12, 9, 11}, {10.1, 11.9, 9.05, 10.9}};
    const struct gain_pairs noisy = {4, {10, 12, 9, 11}, {15, 10, 12, 9}};
    const struct gain_pairs slower = {3, {10, 12, 9}, {5, 6.1, 4.4}};
    const struct gain_pairs one = {1, {10}, {20}};
    const struct gain_pairs equal = {3, {5, 5, 5}, {5, 5, 5}};
    (void)state;
    struct gain gain = gain_make(&twice);
    assert_int_equal(gain.verdict, GAIN_PROVEN);
    assert_near(gain.ratio, 1.9974912854);
    assert_near(gain.low, 1.8997663330);
    assert_near(gain.high, 2.1002432595);
    assert_near(gain.before, 10.5);
    assert_near(gain.after, 20.925);
    assert_int_equal(gain_make(&same).verdict, GAIN_NONE);
    assert_int_equal(gain_make(&noisy).verdict, GAIN_UNCLEAR);
    assert_int_equal(gain_make(&slower).verdict, GAIN_NONE);
    assert_int_equal(gain_make(&one).verdict, GAIN_UNCLEAR);
    assert_true(isnan(gain_make(&one).ratio));
    assert_int_equal(gain_make(&equal).verdict, GAIN_NONE);
    assert_near(gain_make(&equal).high, 1);
}

static void test_cure_takes_variables_of_commands(void **state)
{
    static const struct {
        const char *commands[2], *cure;
    } cases[] = {
        {{"export OMP_NUM_THREADS=8 MKL_NUM_THREADS=8"},
         "export OMP_NUM_THREADS=8 MKL_NUM_THREADS=8"},
        {{"taskset -acp 0-3 12 && taskset -acp 4-7 13", "export OMP_NUM_THREADS=4"},
         "export OMP_NUM_THREADS=4"},
        {{"unset OMP_PROC_BIND GOMP_CPU_AFFINITY", "export OMP_NUM_THREADS=4"},
         "export OMP_NUM_THREADS=4 && unset OMP_PROC_BIND GOMP_CPU_AFFINITY"},
        {{"export A=1; export B=2 && unset C", "export A=3 D=x"}, "export A=1 B=2 D=x && unset C"},
        {{"taskset -acp 0 1", "sudo renice 5 2"}, ""},
        {{"export A=$(reboot) B=1", "echo 'export C=1'"}, ""},
        {{"export PATH", "export A='x y'"}, ""},
        {{"OMP_NUM_THREADS=8 MKL_NUM_THREADS=8 python3 train.py LR=1"},
         "export OMP_NUM_THREADS=8 MKL_NUM_THREADS=8"},
        {{"OMP_NUM_THREADS=8 taskset -c 0-7 python3 'A=1 x'"}, "export OMP_NUM_THREADS=8"},
        {{"mpirun -x OMP_NUM_THREADS=8 -n 2 ./train"}, "export OMP_NUM_THREADS=8"},
        {{"docker run -e A=8 -e B=9 ... IMAGE python3"}, "export A=8 B=9"},
        {{"kubectl set env deployment/NAME A=8 B=9"}, "export A=8 B=9"},
        {{"sudo mkdir -p /x && printf '[Service]\\nEnvironment=A=8\\nEnvironment=B=9\\n' | sudo "
          "tee y"},
         "export A=8 B=9"},
        {{"python3 train.py --pre-x A=1 X=2"}, ""},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct found found[2] = {{.check = NULL}};
        struct diagnosis diagnosis = {.n = 2, .all = found};
        struct cure cure;
        char text[512];
        for (int f = 0; f < 2 && cases[i].commands[f]; f++)
            (void)snprintf(found[f].finding.command, sizeof(found[f].finding.command), "%s",
                           cases[i].commands[f]);
        cure_make(&diagnosis, &cure);
        assert_string_equal(cure_format(&cure, text, sizeof(text)), cases[i].cure);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gain_growth_counts_parts_of_steps),
        cmocka_unit_test(test_gain_growth_sees_a_job_that_stops),
        cmocka_unit_test(test_gain_mean_leaves_out_what_spans_the_change),
        cmocka_unit_test(test_gain_make_has_the_interval_of_pairs),
        cmocka_unit_test(test_cure_takes_variables_of_commands),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
