/* A comparison as a finding. */
#include "harness/verdict/comparison.h"

#include "tests/lib/fixture_comparison.h"
#include "tests/lib/unit.h"

TEST(comparison_slower_is_bad_and_keeps_its_numbers)
{
    struct finding finding;
    comparison_to_finding(&fixture_slower, &finding);
    assert_string_equal(finding.id, "change_throughput");
    assert_int_equal(finding.severity, FINDING_BAD);
    assert_int_equal(finding.outcome, OUTCOME_SLOWER);
    assert_string_equal(finding.subject, fixture_slower.arm);
    assert_string_equal(finding.sentence, fixture_slower.reason);
    assert_string_equal(finding.evidence, "base 200 items/s, new 150 items/s");
    assert_true(finding.value == 0.75 && finding.low == 0.7 && finding.high == 0.8);
}

TEST(comparison_unclear_is_a_doubt_only_where_it_gates)
{
    struct comparison comparison = fixture_slower;
    struct finding finding;
    comparison.evidence.outcome = OUTCOME_UNCLEAR;
    comparison_to_finding(&comparison, &finding);
    assert_int_equal(finding.severity, FINDING_DOUBT);
    comparison.gating = false;
    comparison_to_finding(&comparison, &finding);
    assert_int_equal(finding.severity, FINDING_NOTE);
}

TEST(comparison_of_one_side_has_no_evidence)
{
    struct comparison comparison = fixture_slower;
    struct finding finding;
    comparison.evidence.outcome = OUTCOME_MISSING;
    comparison.evidence.other = (double)NAN;
    comparison_to_finding(&comparison, &finding);
    assert_int_equal(finding.severity, FINDING_DOUBT);
    assert_string_equal(finding.evidence, "");
}

/* The finding about the comparison above together with `more`. */
static struct finding finding_with(const struct comparison *more)
{
    AUTO(comparisons) comparisons = {0};
    struct finding finding;
    assert_int_equal(comparisons_add(&comparisons, &fixture_slower, NULL), 0);
    if (more)
        assert_int_equal(comparisons_add(&comparisons, more, NULL), 0);
    comparisons_to_finding(&comparisons, &finding);
    return finding;
}

TEST(comparisons_are_reported_by_what_gates)
{
    struct comparison more = fixture_slower;
    more.evidence.ratio = 0.02;
    more.gating = false;
    struct finding finding = finding_with(&more);
    assert_int_equal(finding.severity, FINDING_BAD);
    assert_string_equal(finding.sentence,
                        "new is 25% slower than base (20% to 30%): throughput of pipeline, "
                        "partition, 2 workers. Metrics that gate: 1 SLOWER.");
    more.gating = true;
    more.evidence.low = 0.01;
    more.evidence.high = 0.8; /* its interval is in the same form, also below 2x */
    assert_has(finding_with(&more).sentence, "new is 50x slower than base (1.2x to 100x)");
    assert_has(finding_with(&more).sentence, "2 SLOWER.");
    more.evidence.outcome = OUTCOME_FASTER;
    (void)strcpy(more.better, "lower");
    assert_has(finding_with(&more).sentence, "new is 25% slower than base");
}

TEST(comparisons_without_a_verdict_are_a_doubt)
{
    struct comparison unclear = fixture_slower;
    AUTO(comparisons) comparisons = {0};
    struct finding finding;
    unclear.evidence.outcome = OUTCOME_UNCLEAR;
    comparisons_to_finding(&comparisons, &finding);
    assert_int_equal(finding.severity, FINDING_DOUBT);
    assert_string_equal(finding.sentence, "No metric that gates could be compared.");
    assert_int_equal(comparisons_add(&comparisons, &unclear, NULL), 0);
    comparisons_to_finding(&comparisons, &finding);
    assert_int_equal(finding.severity, FINDING_DOUBT);
    assert_string_equal(finding.sentence, "No verdict on 1 metric: 1 UNCLEAR.");
    assert_false(comparisons_decided(&comparisons));
    unclear.evidence.outcome = OUTCOME_MISSING;
    assert_int_equal(comparisons_add(&comparisons, &unclear, NULL), 0);
    comparisons_to_finding(&comparisons, &finding);
    assert_string_equal(finding.sentence, "No verdict on 2 metrics: 1 UNCLEAR, 1 MISSING.");
    comparisons.n = 1;
    comparisons.all[0].evidence.outcome = OUTCOME_SAME;
    comparisons_to_finding(&comparisons, &finding);
    assert_int_equal(finding.severity, FINDING_NOTE);
    assert_string_equal(finding.sentence, "Metrics that gate: 1 SAME.");
}

TEST(comparison_formats_no_change_as_none)
{
    assert_string_equal(comparison_format_ratio(1.0002), "+0.02%");
    assert_string_equal(comparison_format_ratio(0.99999), "-0.01%");
    assert_string_equal(comparison_format_ratio(1), "+0.0%");
    assert_string_equal(comparison_format_spread(0.0344), "3.5%");
    assert_string_equal(comparison_format_spread(-0.2231), "20.0%");
    assert_string_equal(comparison_format_spread(3.5667), "a factor of 35");
    assert_string_equal(comparison_format_spread(-0.9), "a factor of 2.5");
}
