/* Ratios of arms in the same rounds. */
#include "harness/verdict/evidence.h"

#include "tests/lib/fixture_result.h"
#include "tests/lib/unit.h"

static struct evidence compare(const double *slow_ms, const double *fast_ms, unsigned rounds,
                               bool is_swapped)
{
    EMPTY_RESULT(result);
    size_t slow = fixture_add_arm(&result, PLACE_NONE, 2, false);
    size_t fast = fixture_add_arm(&result, PLACE_PARTITION, 2, false);
    for (unsigned round = 0; round < rounds; round++) {
        (void)fixture_add_even_round(&result, slow, round, slow_ms[round], 2);
        (void)fixture_add_even_round(&result, fast, round, fast_ms[round], 2);
    }
    (void)fixture_add_even_round(&result, slow, rounds, 1000, 2); /* no partner: left out */
    ANALYSED(analysis, &result);
    const struct evidence evidence = is_swapped ? evidence_of_rates(&analysis, (int)fast, slow)
                                                : evidence_of_rates(&analysis, (int)slow, fast);
    return evidence;
}

TEST(evidence_is_paired_by_round)
{
    static const double slow_ms[] = {20, 60, 300}, fast_ms[] = {10, 20, 150};
    const struct evidence evidence = compare(slow_ms, fast_ms, 3, false);
    assert_int_equal(evidence.rounds, 3);
    assert_near(evidence.ratio, 2); /* of 2, 3, 2; unpaired medians would give 3 */
    assert_near(evidence.low, 2);
    assert_near(evidence.high, 3);
    assert_near(evidence.level, 0); /* a range */
    assert_int_equal(evidence.outcome, OUTCOME_FASTER);
    const struct evidence reverse = compare(slow_ms, fast_ms, 3, true);
    assert_near(reverse.ratio, 1 / evidence.ratio);
    assert_int_equal(reverse.outcome, OUTCOME_UNCLEAR);
}

/* Twice and half are no change: the mean of both ratios would be 1.25. */
TEST(evidence_of_even_rounds_has_the_middle_of_their_logarithms)
{
    static const double slow_ms[] = {20, 20}, fast_ms[] = {10, 40};
    const struct evidence evidence = compare(slow_ms, fast_ms, 2, false);
    assert_near(evidence.ratio, 1);
    assert_near(compare(slow_ms, fast_ms, 2, true).ratio, 1);
    assert_int_equal(evidence.outcome, OUTCOME_UNCLEAR);
}

TEST(evidence_of_no_round_is_none)
{
    const struct evidence evidence = compare(NULL, NULL, 0, false);
    assert_int_equal(evidence.rounds, 0);
    assert_true(isnan(evidence.ratio) && isnan(evidence.low));
    assert_int_equal(evidence.outcome, OUTCOME_NONE);
}
