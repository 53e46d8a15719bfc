/* One machine by bounds, twice: what was off once, twice, and the second time alone. */
#include "harness/validate/fleet/say.h"

#include <math.h>

#include "harness/validate/rules/rules.h"
#include "tests/lib/fixture_fleet.h"
#include "tests/lib/unit.h"

enum { FIGURES = 3, LOOKS = 2 };

/* A figure of 100 each, of which 90 to 110 passes; NaN: it is not there. */
struct looked {
    struct bounds bounds;
    struct fleet_look looks[LOOKS];
    struct findings findings;
};

static void look(struct looked *looked, const double first[FIGURES], const double second[FIGURES])
{
    const double *values[LOOKS] = {first, second};
    struct err err = {0};
    *looked = (struct looked){0};
    for (unsigned i = 0; i < FIGURES; i++) {
        char key[FLEET_KEY_MAX];
        const struct bound bound = {.key = fixture_fleet_key(i, key),
                                    .unit = "GB/s",
                                    .higher = true,
                                    .required = true,
                                    .reference = 100,
                                    .lower = 90,
                                    .upper = 110,
                                    .spread = NAN};
        assert_int_equal(bounds_add(&looked->bounds, &bound, &err), 0);
    }
    for (unsigned l = 0; l < LOOKS; l++) {
        for (unsigned i = 0; i < FIGURES; i++)
            if (!isnan(values[l][i]))
                fixture_fleet_add(&looked->looks[l].fleet, "m", i + 1, i, values[l][i]);
        assert_int_equal(fleet_arrange(&looked->looks[l].fleet, &err), 0);
        assert_int_equal(fleet_judge(&looked->looks[l].fleet, &looked->bounds, NULL,
                                     &looked->looks[l].judgement, &err),
                         0);
    }
    struct findings again = {0};
    assert_int_equal(
        fleet_look_findings(&looked->looks[0], NULL, &looked->bounds, &looked->findings, &err), 0);
    assert_int_equal(
        fleet_look_findings(&looked->looks[1], &looked->looks[0], &looked->bounds, &again, &err),
        0);
    assert_int_equal(rules_second_look(&looked->findings, &again, RULES_RUNS, &err), 0);
    findings_free(&again);
}

static void forget(struct looked *looked)
{
    for (unsigned l = 0; l < LOOKS; l++) {
        fleet_judgement_free(&looked->looks[l].judgement);
        fleet_free(&looked->looks[l].fleet);
    }
    findings_free(&looked->findings);
    bounds_free(&looked->bounds);
}

TEST(what_is_off_twice_fails)
{
    struct looked looked;
    look(&looked, (const double[]){50, 100, 100}, (const double[]){60, 100, 100});
    assert_int_equal(looked.findings.n, 1);
    const struct finding *finding = &looked.findings.all[0];
    assert_int_equal(finding->outcome, OUTCOME_FAIL);
    assert_string_equal(finding->evidence,
                        "first look FAIL (50 GB/s), second FAIL (60 GB/s); 50 GB/s; 100 is usual, "
                        "90 to 110 passes");
    forget(&looked);
}

TEST(what_is_off_once_warns)
{
    struct looked looked;
    look(&looked, (const double[]){100, 50, 100}, (const double[]){100, 99, 100});
    assert_int_equal(looked.findings.n, 1);
    assert_int_equal(looked.findings.all[0].outcome, OUTCOME_WARN);
    assert_int_equal(looked.findings.all[0].severity, FINDING_DOUBT);
    assert_non_null(strstr(looked.findings.all[0].evidence,
                           "first look FAIL (50 GB/s), second PASS (99 GB/s); "));
    forget(&looked);
}

/* On the good side it is odd, and warns both times. */
TEST(what_is_too_good_warns)
{
    struct looked looked;
    look(&looked, (const double[]){200, 100, 100}, (const double[]){201, 100, 100});
    assert_int_equal(looked.findings.n, 1);
    assert_int_equal(looked.findings.all[0].outcome, OUTCOME_WARN);
    assert_non_null(strstr(looked.findings.all[0].evidence,
                           "first look WARN (200 GB/s), second WARN (201 GB/s)"));
    forget(&looked);
}

TEST(what_the_second_look_alone_saw_warns)
{
    struct looked looked;
    look(&looked, (const double[]){50, 100, 100}, (const double[]){50, 100, 40});
    assert_int_equal(looked.findings.n, 2);
    assert_int_equal(looked.findings.all[0].outcome, OUTCOME_FAIL);
    assert_int_equal(looked.findings.all[1].outcome, OUTCOME_WARN);
    assert_string_equal(looked.findings.all[1].evidence, "on the second look alone");
    assert_true(looked.findings.all[1].value < 41);
    forget(&looked);
}

/* A second look that gave nothing does not refute the first one. */
TEST(what_is_lost_on_the_second_look_still_fails)
{
    struct looked looked;
    look(&looked, (const double[]){50, 100, 100}, (const double[]){NAN, 100, 100});
    assert_int_equal(looked.findings.n, 2);
    assert_int_equal(looked.findings.all[0].outcome, OUTCOME_FAIL);
    assert_non_null(strstr(looked.findings.all[0].evidence, "second FAIL (1 figures)"));
    assert_non_null(strstr(looked.findings.all[1].sentence, "lacks "));
    assert_int_equal(looked.findings.all[1].outcome, OUTCOME_WARN);
    forget(&looked);
}
