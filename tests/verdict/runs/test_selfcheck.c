/* selfcheck: what is counted of whole comparisons, and when a count contradicts what is promised.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "harness/verdict/runs/selfcheck.h"

static struct err err;

/* So many of each outcome, each of 10, 11 ... rounds, a second a round. */
static void add(struct selfcheck *check, enum selfcheck_kind kind, enum finding_outcome outcome,
                unsigned n)
{
    check->limit_s[kind] = selfcheck_kinds[kind].limit_s;
    for (unsigned i = 0; i < n; i++) {
        struct selfcheck_trial trial = {.kind = kind,
                                        .number = i + 1,
                                        .outcome = outcome,
                                        .rounds = 10 + i,
                                        .took_s = 10.0 + i};
        (void)snprintf(trial.said, sizeof(trial.said), "killed by %u", i);
        assert_int_equal(selfcheck_add(check, &trial, &err), 0);
    }
}

static enum finding_outcome outcome_of(const struct selfcheck *check, enum selfcheck_kind kind)
{
    struct selfcheck_count count;
    assert_int_equal(selfcheck_count(check, kind, &count, &err), 0);
    return count.outcome;
}

static void add_gating(struct comparisons *comparisons, enum finding_outcome outcome, bool gates)
{
    struct comparison one = {.metric = "step_time", .outcome = outcome, .gates = gates};
    assert_int_equal(comparisons_add(comparisons, &one, &err), 0);
}

static void test_selfcheck_outcome_of_a_whole_comparison(void **state)
{
    (void)state;
    struct comparisons comparisons = {0};
    assert_int_equal(selfcheck_outcome(&comparisons), OUTCOME_MISSING);
    add_gating(&comparisons, OUTCOME_FASTER, false); /* which counts for nothing */
    assert_int_equal(selfcheck_outcome(&comparisons), OUTCOME_MISSING);
    const enum finding_outcome rising[] = {OUTCOME_SAME, OUTCOME_UNCLEAR, OUTCOME_MISSING,
                                           OUTCOME_SLOWER, OUTCOME_FASTER};
    for (size_t i = 0; i < sizeof(rising) / sizeof(rising[0]); i++) {
        add_gating(&comparisons, rising[i], true);
        assert_int_equal(selfcheck_outcome(&comparisons), rising[i]);
    }
    comparisons_free(&comparisons);
}

static void test_selfcheck_counts_a_kind(void **state)
{
    (void)state;
    struct selfcheck check = {0};
    struct selfcheck_count count;
    add(&check, SELFCHECK_AA, OUTCOME_SLOWER, 2); /* of another kind */
    add(&check, SELFCHECK_5, OUTCOME_SLOWER, 5);  /* 10 to 14 rounds */
    add(&check, SELFCHECK_5, OUTCOME_UNCLEAR, 3);
    add(&check, SELFCHECK_5, OUTCOME_FASTER, 1);
    add(&check, SELFCHECK_5, OUTCOME_ERROR, 1);
    add(&check, SELFCHECK_5, OUTCOME_MISSING, 1);
    assert_int_equal(selfcheck_count(&check, SELFCHECK_5, &count, &err), 0);
    assert_int_equal(count.trials, 9);
    assert_int_equal(count.hits, 5);
    assert_int_equal(count.wrong, 1);
    assert_int_equal(count.errors, 2);
    assert_true(count.rounds == 12 && count.rounds_worst == 14);
    assert_true(count.took_s == 12 && count.took_worst_s == 14);
    /* R: binom.test(5, 9)$conf.int */
    assert_true(fabs(count.share.low - 0.2120085) < 1e-5);
    assert_true(fabs(count.share.high - 0.8630043) < 1e-5);

    assert_int_equal(selfcheck_count(&check, SELFCHECK_10, &count, &err), 0);
    assert_int_equal(count.trials, 0);
    assert_true(isnan(count.rounds) && isnan(count.share.low));
    selfcheck_free(&check);
}

static void test_selfcheck_fails_where_false_alarms_are_shown(void **state)
{
    (void)state;
    /* Two of 20 exclude 1%: R: binom.test(2, 20)$conf.int begins at 1.2%; of 30 at 0.8%. */
    const struct {
        unsigned alarms, quiet;
        enum finding_outcome expected;
    } cases[] = {{2, 18, OUTCOME_FAIL}, {2, 28, OUTCOME_PASS},   {0, 6, OUTCOME_PASS},
                 {1, 5, OUTCOME_PASS},  {0, 5, OUTCOME_UNCLEAR}, {1, 0, OUTCOME_FAIL}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        for (int kind = SELFCHECK_AA; kind <= SELFCHECK_COMPARE; kind++) {
            struct selfcheck check = {0};
            add(&check, (enum selfcheck_kind)kind, OUTCOME_FASTER, cases[i].alarms);
            add(&check, (enum selfcheck_kind)kind, OUTCOME_UNCLEAR, cases[i].quiet);
            assert_int_equal(outcome_of(&check, (enum selfcheck_kind)kind), cases[i].expected);
            selfcheck_free(&check);
        }
}

static void test_selfcheck_fails_where_detection_is_shown_to_be_worse(void **state)
{
    (void)state;
    /* R: binom.test(4, 7)$conf.int ends at 90.1%, of 5 of 7 at 96.3%. */
    const struct {
        enum selfcheck_kind kind;
        unsigned found, missed;
        enum finding_outcome expected;
    } cases[] = {{SELFCHECK_5, 4, 3, OUTCOME_FAIL},     {SELFCHECK_5, 5, 2, OUTCOME_PASS},
                 {SELFCHECK_10, 5, 2, OUTCOME_FAIL},    {SELFCHECK_10, 7, 0, OUTCOME_PASS},
                 {SELFCHECK_10, 5, 0, OUTCOME_UNCLEAR}, {SELFCHECK_2, 0, 7, OUTCOME_NONE}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct selfcheck check = {0};
        add(&check, cases[i].kind, OUTCOME_SLOWER, cases[i].found);
        add(&check, cases[i].kind, OUTCOME_UNCLEAR, cases[i].missed);
        assert_int_equal(outcome_of(&check, cases[i].kind), cases[i].expected);
        selfcheck_free(&check);
    }
}

static void test_selfcheck_promises_nothing_within_less_time(void **state)
{
    (void)state;
    struct selfcheck check = {0};
    add(&check, SELFCHECK_5, OUTCOME_UNCLEAR, 7);
    check.limit_s[SELFCHECK_5] = 20;
    assert_int_equal(outcome_of(&check, SELFCHECK_5), OUTCOME_UNCLEAR);
    add(&check, SELFCHECK_5, OUTCOME_FASTER, 2); /* but a wrong verdict is one after any time */
    check.limit_s[SELFCHECK_5] = 20;
    assert_int_equal(outcome_of(&check, SELFCHECK_5), OUTCOME_FAIL);
    selfcheck_free(&check);
}

static void test_selfcheck_never_passes_what_did_not_end_well(void **state)
{
    (void)state;
    struct selfcheck check = {0};
    struct findings findings = {0};
    add(&check, SELFCHECK_10, OUTCOME_SLOWER, 60);
    add(&check, SELFCHECK_10, OUTCOME_ERROR, 1);
    assert_int_equal(selfcheck_judge(&check, &findings, &err), 0);
    assert_int_equal(findings.n, 1);
    assert_string_equal(findings.all[0].id, "selfcheck_10");
    assert_int_equal(findings.all[0].outcome, OUTCOME_ERROR);
    assert_int_equal(findings.all[0].severity, FINDING_BAD);
    assert_non_null(strstr(findings.all[0].sentence, "60 of 60 slowdowns of 10% were found"));
    assert_non_null(strstr(findings.all[0].sentence, "1 did not end well, such as: killed by 0"));
    findings_free(&findings);
    selfcheck_free(&check);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_selfcheck_outcome_of_a_whole_comparison),
        cmocka_unit_test(test_selfcheck_counts_a_kind),
        cmocka_unit_test(test_selfcheck_fails_where_false_alarms_are_shown),
        cmocka_unit_test(test_selfcheck_fails_where_detection_is_shown_to_be_worse),
        cmocka_unit_test(test_selfcheck_promises_nothing_within_less_time),
        cmocka_unit_test(test_selfcheck_never_passes_what_did_not_end_well),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
