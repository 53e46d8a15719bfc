/* Doses as text: what parses, what is refused, and the text that is written back. */
#include "harness/lib/dose.h"

#include "tests/lib/unit.h"

TEST(dose_reads_levels_and_writes_them_back)
{
    static const struct {
        const char *text, *again;
        int kind;
        double level;
    } cases[] = {
        {"cpu=20%", "cpu=20%", DOSE_CPU, 0.2},
        {"cpu=0.125", "cpu=12.5%", DOSE_CPU, 0.125},
        {"cpu=0", "cpu=0%", DOSE_CPU, 0},
        {"bandwidth=80%", "bandwidth=0.8", DOSE_BANDWIDTH, 0.8},
        {"latency=1.5", "latency=1.5", DOSE_LATENCY, 1.5},
        {"cache=50%", "cache=0.5", DOSE_CACHE, 0.5},
        {"h2d=0.7", "h2d=0.7", DOSE_H2D, 0.7},
        {"throttle=10%", "throttle=10%", DOSE_THROTTLE, 0.1},
        {"throttle=0.125", "throttle=12.5%", DOSE_THROTTLE, 0.125},
        {"throttle=0", "throttle=0%", DOSE_THROTTLE, 0},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct dose dose;
        assert_int_equal(dose_parse(cases[i].text, &dose, NULL), 0);
        assert_int_equal(dose.kind, cases[i].kind);
        assert_true(dose.level == cases[i].level);
        assert_string_equal(dose_format(&dose), cases[i].again);
        assert_int_equal(dose_is_idle(&dose), !(cases[i].level > 0));
    }
}

TEST(dose_refuses_what_it_cannot_hold)
{
    static const char *const refused[] = {
        "",          "cpu",         "cpu=",         "cpu=x",       "cpu=95%",
        "cpu=-1%",   "cpu=nan",     "cp=20%",       "bandwidth=0", "bandwidth=1.1",
        "latency=0", "cpu=20%,40%", "cpu=20%x",     "=20%",        "latency=inf",
        "cache=1.1", "h2d=0.1",     "throttle=81%", "throttle=-1"};
    for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
        struct dose dose;
        struct err err = {0};
        assert_int_equal(dose_parse(refused[i], &dose, &err), -EINVAL);
        assert_true(err.msg[0]);
    }
}

TEST(dose_lists_have_one_kind)
{
    struct dose doses[3];
    assert_int_equal(dose_parse_list("cpu=0,10%,0.4", doses, 3, NULL), 3);
    assert_true(doses[0].level == 0 && doses[1].level == 0.1 && doses[2].level == 0.4);
    assert_int_equal(doses[2].kind, DOSE_CPU);
    assert_int_equal(dose_parse_list("cpu=0,5,20%", doses, 3, NULL), 3);
    assert_true(doses[0].level == 0 && doses[1].level == 0.05 && doses[2].level == 0.2);
    assert_int_equal(dose_parse_list("cpu=0,20,95%", doses, 3, NULL), -EINVAL);
    assert_int_equal(dose_parse_list("cpu=0,1%,2%,3%", doses, 3, NULL), -EINVAL);
    assert_int_equal(dose_parse_list("cpu=0,", doses, 3, NULL), -EINVAL);
}

TEST(dose_says_that_a_list_is_too_long)
{
    struct dose doses[2];
    struct err err = {0};
    assert_int_equal(dose_parse_list("cpu=5,10,20%", doses, 2, &err), -EINVAL);
    assert_string_equal(err.msg, "dose 'cpu=5,10,20%' has more than 2 levels");
    assert_int_equal(dose_parse_list("cpu=5,10%", doses, 2, &err), 2);
}
