/* Conclusions from the comparison of an incident's variants. */
#include "harness/verdict/incidents.h"

#include "harness/lib/text.h"
#include "tests/lib/unit.h"

static const struct incident incident = {
    .variants = {"sick=threads:4", "sick=env:A=1", "cured=threads:2", "other", NULL},
    .metric = "time"};

static struct incident_outcome judged(const struct incident *of, const char *other,
                                      const char *metric, enum finding_outcome result)
{
    struct incident_outcome outcome = {.incident = of};
    struct comparison one = comparison_of("sick", other, metric, "us", "lower");
    struct comparisons comparisons = {.n = 1, .all = &one};
    one.evidence.ratio = result == OUTCOME_SLOWER ? 2 : result == OUTCOME_FASTER ? 0.5 : 1;
    one.evidence.low = result == OUTCOME_SLOWER ? 1.25 : result == OUTCOME_FASTER ? 0.25 : 0.99;
    one.evidence.high = result == OUTCOME_SLOWER ? 4 : result == OUTCOME_FASTER ? 0.8 : 1.01;
    if (result == OUTCOME_UNCLEAR) { /* neither a gain of 1.2 nor "no gain" is excluded */
        one.evidence.low = 0.8;
        one.evidence.high = 1.1;
    }
    one.evidence.rounds = 10;
    one.evidence.outcome = result;
    text_set(one.reason, "because");
    incident_judge(&comparisons, &(struct rows){0}, &outcome);
    return outcome;
}

TEST(incident_is_judged_by_its_second_name)
{
    struct incident_outcome one = judged(&incident, "cured", "time", OUTCOME_FASTER);
    assert_int_equal(one.end, INCIDENT_SHOWN);
    assert_float_equal(one.speed_up, 2, 0);
    assert_float_equal(one.low, 1.25, 1e-12);
    assert_float_equal(one.high, 4, 0);
    assert_string_equal(one.reason, "");
    assert_int_equal(judged(&incident, "other", "time", OUTCOME_FASTER).end, INCIDENT_FAILED);
    assert_int_equal(judged(&incident, "cured", "rate", OUTCOME_FASTER).end, INCIDENT_FAILED);
    one = judged(&incident, "cured", "rate", OUTCOME_MISSING);
    assert_int_equal(one.end, INCIDENT_SKIPPED);
    assert_string_equal(one.reason, "because");
}

/* The reason of the row without a value says more than that of the comparison. */
TEST(incident_without_values_says_why)
{
    struct variant sick = {.name = "sick"}, cured = {.name = "cured"};
    struct arm arms[] = {{.variant = &sick}, {.variant = &cured}};
    struct row row[] = {{.arm = &arms[0], .metric = "rate"},
                        {.arm = &arms[1], .metric = "rate", .median = NAN}};
    struct comparison one = comparison_of("sick", "cured", "rate", "1/s", "higher");
    const struct comparisons comparisons = {.n = 1, .all = &one};
    struct incident_outcome outcome = {.incident = &incident};
    one.evidence.outcome = OUTCOME_MISSING;
    text_set(one.reason, "because");
    text_set(row[0].reason, "noisy");
    text_set(row[1].reason, "it fell behind");
    incident_judge(&comparisons, &(struct rows){.n = 2, .row = row}, &outcome);
    assert_int_equal(outcome.end, INCIDENT_SKIPPED);
    assert_string_equal(outcome.reason, "it fell behind");
}

TEST(incident_that_is_not_cured_says_why)
{
    assert_int_equal(judged(&incident, "cured", "time", OUTCOME_SAME).end, INCIDENT_NOT);
    assert_int_equal(judged(&incident, "cured", "time", OUTCOME_SLOWER).end, INCIDENT_NOT);
    assert_int_equal(judged(&incident, "cured", "time", OUTCOME_MISSING).end, INCIDENT_SKIPPED);
    struct incident_outcome one = judged(&incident, "cured", "time", OUTCOME_UNCLEAR);
    assert_int_equal(one.end, INCIDENT_UNCLEAR);
    assert_string_equal(one.reason, "because");
}

/* Other metrics that gate do not count. */
TEST(incident_is_shown_by_the_interval_of_its_metric)
{
    struct incident_outcome outcome = {.incident = &incident};
    struct comparison one = comparison_of("sick", "cured", "time", "us", "lower");
    const struct comparisons comparisons = {.n = 1, .all = &one};
    one.evidence.outcome = OUTCOME_UNCLEAR;
    one.evidence.ratio = 0.5;
    one.evidence.low = 0.25;
    one.evidence.high = 0.8;
    incident_judge(&comparisons, &(struct rows){0}, &outcome);
    assert_int_equal(outcome.end, INCIDENT_SHOWN);
}

TEST(incident_of_harm_is_shown_by_a_loss)
{
    struct incident harm = incident;
    harm.harms = true;
    assert_int_equal(judged(&harm, "cured", "time", OUTCOME_SLOWER).end, INCIDENT_SHOWN);
    assert_int_equal(judged(&harm, "cured", "time", OUTCOME_FASTER).end, INCIDENT_NOT);
}
