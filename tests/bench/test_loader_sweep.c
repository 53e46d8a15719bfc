/* bench/loader/feeding.c: which numbers of loaders are measured, and the conclusions. */
#include "bench/loader/feeding.h"
#include "tests/lib/unit.h"

static void assert_counts(const unsigned *counts, unsigned n, const unsigned *wanted)
{
    for (unsigned i = 0; i < n; i++)
        assert_int_equal(counts[i], wanted[i]);
}

/* A quarter of a second for each count, six seconds in all. */
TEST(sweep_measures_fewer_counts_where_there_is_no_room)
{
    unsigned counts[SWEEP_COUNTS_MOST];
    assert_int_equal(sweep_counts(4, 5, 0.25, 6, counts), 3);
    assert_counts(counts, 3, (const unsigned[]){1, 2, 4});
    assert_int_equal(sweep_counts(64, 1, 0.25, 6, counts), 7);
    assert_int_equal(counts[6], 64);
    assert_int_equal(sweep_counts(64, 5, 0.25, 6, counts), 4);
    assert_counts(counts, 4, (const unsigned[]){1, 4, 16, 64});
    assert_int_equal(sweep_counts(64, 5, 0.25, 20, counts), 7);
    assert_int_equal(sweep_counts(64, 5, 0.25, 0, counts), 2);
    assert_counts(counts, 2, (const unsigned[]){1, 16});
    assert_int_equal(sweep_counts(1, 5, 0.25, 0, counts), 1);
}

static struct point point_of(unsigned loaders, double batches, double starved_s)
{
    const struct feeding_result result = {.seconds = 1, .batches = batches, .starved_s = starved_s};
    struct point point = {.loaders = loaders};
    sweep_join(&point, &result, 1);
    return point;
}

TEST(sweep_says_how_many_are_needed)
{
    const struct point points[] = {point_of(1, 50, 0.5), point_of(2, 100, 0.02),
                                   point_of(4, 80, 0)};
    const struct sweep_verdict verdict = sweep_judge(points, 3);
    assert_int_equal(verdict.n, 3);
    assert_int_equal(verdict.needed, 1);
    assert_true(fabs(verdict.scaling - 2) < 1e-9);
    assert_true(fabs(verdict.more - 0.8) < 1e-9);
    const struct sweep_verdict starved = sweep_judge(points, 1);
    assert_int_equal(starved.needed, starved.n);
    assert_true(isnan(starved.scaling) && isnan(starved.more));
}

/* A point that came too late or failed ends the conclusions. */
TEST(sweep_judges_what_was_measured)
{
    struct point points[] = {point_of(1, 50, 0.5), point_of(2, 90, 0.1), point_of(4, 0, 0),
                             point_of(8, 100, 0)};
    assert_false(sweep_has_values(&points[2]));
    struct sweep_verdict verdict = sweep_judge(points, 4);
    assert_int_equal(verdict.n, 2);
    assert_int_equal(verdict.needed, 2);
    assert_true(fabs(verdict.more - 1.8) < 1e-9);
    (void)err_set(&points[0].result.err, -ENOTSUP, "not there");
    assert_int_equal(sweep_judge(points, 4).n, 0);
}

TEST(sweep_joins_workers)
{
    const struct feeding_result results[] = {
        {.seconds = 2, .batches = 20, .starved_s = 1, .first_s = 0.1},
        {.seconds = 2, .batches = 40, .starved_s = 0, .first_s = 0.3}};
    struct point point = {.loaders = 2};
    sweep_join(&point, results, 2);
    assert_true(fabs(point.result.batches - 30) < 1e-9);
    assert_true(fabs(point.result.first_s - 0.2) < 1e-9);
    assert_true(fabs(sweep_starvation(&point) - 0.25) < 1e-9);
    assert_true(sweep_has_values(&point));
}
