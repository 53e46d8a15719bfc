/* Bounds on a number: read, judged by a row's interval, and reported. */
#include <errno.h>

#include "harness/verdict/recommend.h"
#include "tests/lib/fixture_findings.h"
#include "tests/lib/fixture_result.h"
#include "tests/lib/unit.h"

TEST(slo_reads_a_bound)
{
    static const struct {
        const char *text, *metric;
        bool at_least, is_time;
        double value;
    } cases[] = {
        {"p99<=20", "p99", false, false, 20},        {"p99<=20ms", "p99", false, true, 0.02},
        {"rps>=5e3", "rps", true, false, 5000},      {"lag_2>=-1.5", "lag_2", true, false, -1.5},
        {"t<=250\u00b5s", "t", false, true, 250e-6}, {"t<=0", "t", false, false, 0},
    };
    static const char *const bad[] = {
        "",           "p99",      "p99<20",   "p99=20",  "p99<=",  "<=20",     "p99<=x",
        "p99<=20 ms", "p99<=inf", "p99<=nan", "p99<=5x", "p99=<5", "p99<=\n5", "p99<>5"};
    struct slo slo;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        assert_int_equal(slo_parse(cases[i].text, false, &slo, NULL), 0);
        assert_string_equal(slo.metric, cases[i].metric);
        assert_int_equal(slo.at_least, cases[i].at_least);
        assert_int_equal(slo.is_time, cases[i].is_time);
        assert_near(slo.value + 1, cases[i].value + 1);
    }
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct err err = {0};
        assert_int_equal(slo_parse(bad[i], false, &slo, &err), -EINVAL);
        assert_has(err.msg, "option '--slo'");
    }
}

TEST(slo_reads_a_bound_relative_to_alone)
{
    static const char *const good[] = {"server_p99 10%", "server:p99 10%", "server:p99  10%"};
    static const char *const bad[] = {"",          "server_p99", "server_p99 x",   "server_p99 0%",
                                      "p99<=20ms", "p99 10",     "server_p99 10x", "p99 10% 5",
                                      "p99 -1%",   " 10%",       "p99 10ms",       "p99 1e9%"};
    struct slo slo;
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        assert_int_equal(slo_parse(good[i], true, &slo, NULL), 0);
        assert_string_equal(slo.metric, "server_p99");
        assert_true(slo.of_alone && !slo.is_time);
        assert_near(slo.value, 0.1);
    }
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct err err = {0};
        if (slo_parse(bad[i], true, &slo, &err) != -EINVAL || !strstr(err.msg, "'--protect'"))
            fail_msg("'%s' is taken: %s", bad[i], err.msg);
    }
}

TEST(slo_judges_a_row_by_its_whole_interval)
{
    static const struct {
        const char *bound, *unit;
        double median, low, high;
        enum slo_answer want;
    } cases[] = {
        {"m<=20", "", 18, 17, 20, SLO_HOLDS},
        {"m<=20", "", 18, 17, 20.1, SLO_UNCLEAR},
        {"m<=20", "", 22, 20, 24, SLO_UNCLEAR},
        {"m<=20", "", 22, 20.1, 24, SLO_BROKEN},
        {"m<=20", "", 20, NAN, NAN, SLO_HOLDS}, /* one round */
        {"m<=20", "", 21, NAN, NAN, SLO_BROKEN},
        {"m>=20", "", 22, 20, 24, SLO_HOLDS},
        {"m>=20", "", 22, 19, 24, SLO_UNCLEAR},
        {"m>=20", "", 18, 17, 19, SLO_BROKEN},
        {"m<=0", "", 0, 0, 0, SLO_HOLDS},
        {"m<=20ms", "s", 0.018, 0.017, 0.02, SLO_HOLDS},
        {"m<=20ms", "s", 0.022, 0.021, 0.024, SLO_BROKEN},
        {"m<=20ms", "ms", 18, 17, 20, SLO_OTHER_UNIT},
        {"m<=20ms", "", 18, 17, 20, SLO_OTHER_UNIT},
        {"m<=20ms", "requests/s", 18, 17, 20, SLO_OTHER_UNIT},
        {"m<=20", "s", 0.018, 0.017, 0.02, SLO_OTHER_UNIT},
        {"m<=20", "", NAN, NAN, NAN, SLO_NOT_MEASURED},
    };
    struct slo slo;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct row row = {
            .median = cases[i].median, .ci_low = cases[i].low, .ci_high = cases[i].high};
        put_text(row.unit, "%s", cases[i].unit);
        assert_int_equal(slo_parse(cases[i].bound, false, &slo, NULL), 0);
        if (slo_judge(&slo, &row) != cases[i].want)
            fail_msg("case %zu: %d", i, slo_judge(&slo, &row));
        row.status = STATUS_FAILED;
        assert_int_equal(slo_judge(&slo, &row), SLO_NOT_MEASURED);
    }
    assert_int_equal(slo_judge(&slo, NULL), SLO_NOT_MEASURED);
}

static void add(enum placement placement, double one, double two)
{
    size_t arm = fixture_add_arm(&by_hand.result, placement, 2, false);
    (void)fixture_add_even_round(&by_hand.result, arm, 0, one, 2);
    (void)fixture_add_even_round(&by_hand.result, arm, 1, two, 2);
}

/* The finding about that bound on step times of 10, 9 to 13 and 30 ms. */
static const struct finding *found(const char *bound, struct findings *findings)
{
    by_hand_again();
    add(PLACE_SIZED, 10, 10);
    add(PLACE_PARTITION, 9, 13);
    add(PLACE_NONE, 30, 30);
    by_hand.result.slo = fixture_slo(bound, false);
    assert_int_equal(analysis_make(&by_hand.result, &by_hand.analysis, NULL), 0);
    slo_find(&by_hand.analysis, findings);
    return fixture_finding(findings, "slo");
}

TEST_OF_RESULT(slo_reports_what_holds_it_or_the_nearest)
{
    static const struct {
        const char *bound, *said;
        enum finding_severity severity;
    } cases[] = {
        {"step_time<=12ms",
         "step_time<=12ms holds under sized (10.0 ms to 10.0 ms); does not under none (30.0 ms to "
         "30.0 ms); is unclear, as the interval includes it, under partition (9.00 ms to 13.0 ms).",
         FINDING_NOTE},
        {"step_time<=1s", "step_time<=1s holds under sized (", FINDING_NOTE},
        {"step_time<=1ms", "; nearest is sized (10.0 ms to 10.0 ms).", FINDING_DOUBT},
        {"step_time>=1s", "; nearest is none (30.0 ms", FINDING_DOUBT},
        {"step_time<=12", "only one of both has a unit of time, under sized", FINDING_DOUBT},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        AUTO(findings) findings = {0};
        const struct finding *finding = found(cases[i].bound, &findings);
        assert_has(finding->sentence, cases[i].said);
        assert_int_equal(finding->severity, cases[i].severity);
    }
    AUTO(findings) none = {0};
    assert_null(found(NULL, &none));
    assert_null(found("p99<=3", &none)); /* nothing has such a row */
}
