/* Points of a scan: the order of measuring, and the order of their values. */
#include "bench/common/points.h"
#include "tests/lib/unit.h"

enum { N = 30, MEASURED = 0, CONCLUDED, OTHER };

static struct value_log values;

struct seen {
    size_t measured[N], nmeasured, nconcluded;
    size_t fails_at; /* number of the measured point that fails; N = none */
};

/* Point 0 emits no value, 1 one, 2 two, 3 none again. */
static int measure(struct bench_ctx *ctx, size_t point)
{
    struct seen *seen = ctx->state;
    assert_int_equal(seen->nconcluded, 0);
    seen->measured[seen->nmeasured++] = point;
    for (size_t i = 0; i < point % 3; i++)
        bench_emit(ctx, MEASURED, (double)point, DIMS({1, (double)point}, {2, (double)i}));
    return point == seen->fails_at ? -EIO : 0;
}

/* Each second point emits the first value of the point after it. */
static void conclude(struct bench_ctx *ctx, size_t point)
{
    struct seen *seen = ctx->state;
    assert_int_equal(point, seen->nconcluded++);
    if (point % 2)
        bench_emit(ctx, CONCLUDED,
                   points_value(ctx, MEASURED, DIMS({1, (double)point + 1}, {2, 0})),
                   DIMS({1, (double)point}));
}

/* `seed` is the worker's own seed, which must not matter. */
static struct seen run(uint64_t seed, uint64_t round_seed)
{
    struct seen seen = {.fails_at = N};
    struct bench_ctx ctx = {
        .seed = seed, .round_seed = round_seed, .state = &seen, .values = &values};
    values.n = 0;
    bench_emit(&ctx, OTHER, 1, NO_DIMS);
    assert_int_equal(points_run(&ctx, N, measure, conclude), 0);
    assert_int_equal(seen.nmeasured, N);
    assert_int_equal(seen.nconcluded, N);
    bench_emit(&ctx, OTHER, 2, NO_DIMS);
    return seen;
}

TEST(points_are_measured_in_an_order_of_the_round)
{
    struct seen first = run(1, 100), second = run(1, 101), again = run(2, 100);
    assert_memory_not_equal(first.measured, second.measured, sizeof(first.measured));
    assert_memory_equal(first.measured, again.measured, sizeof(first.measured));
}

static void assert_next(uint32_t *at, unsigned metric, double value)
{
    assert_int_equal(values.value[*at].metric, metric);
    assert_true(values.value[(*at)++].value == value);
}

TEST(points_have_their_values_in_their_own_order)
{
    for (uint64_t round_seed = 0; round_seed < 20; round_seed++) {
        struct seen seen = run(1, round_seed);
        unsigned times[N] = {0};
        uint32_t at = 0;
        assert_next(&at, OTHER, 1);
        for (size_t point = 0; point < N; point++) {
            times[seen.measured[point]]++;
            for (size_t i = 0; i < point % 3; i++)
                assert_next(&at, MEASURED, (double)point);
            if (point % 2 && (point + 1) % 3 && point + 1 < N)
                assert_next(&at, CONCLUDED, (double)point + 1);
        }
        assert_next(&at, OTHER, 2);
        assert_int_equal(at, values.n);
        for (size_t i = 0; i < N; i++)
            assert_int_equal(times[i], 1);
    }
}

TEST(points_end_at_the_first_error)
{
    struct seen all = run(1, 9), seen = {.fails_at = all.measured[4]};
    struct bench_ctx ctx = {.round_seed = 9, .state = &seen, .values = &values};
    assert_int_equal(points_run(&ctx, N, measure, conclude), -EIO);
    assert_int_equal(seen.nmeasured, 5);
    assert_int_equal(seen.nconcluded, 0);
}

TEST(points_share_the_budget)
{
    const struct bench_ctx ctx = {.budget_s = 2};
    assert_int_equal(points_share_ns(&ctx, 4, 1000), 500000000);
    assert_int_equal(points_share_ns(&ctx, 4, 600000000), 600000000);
    assert_int_equal(points_share_ns(&ctx, 0, 1000), 2000000000);
}

/* Bins are exact below 64 ns, and 1/32 of an octave wide above. */
TEST(times_of_any_length)
{
    struct times times = {0};
    assert_true(isnan(times_percentile(&times, 0.5)));
    for (uint64_t ns = 1; ns <= 50; ns++)
        times_add(&times, ns);
    assert_true(times_percentile(&times, 0.5) == 25);
    assert_true(times_percentile(&times, 0.99) == 50);
    for (unsigned bit = 0; bit < 64; bit++)
        for (int below = 0; below < 2; below++) {
            uint64_t ns = (UINT64_C(1) << bit) - (uint64_t)below;
            struct times one = {0};
            times_add(&one, ns);
            assert_true(fabs(times_percentile(&one, 1) - (double)ns) <= (double)ns / 63);
        }
}

TEST(times_in_the_tail)
{
    struct times times = {0};
    for (int i = 0; i < 99; i++)
        times_add(&times, 1000);
    times_add(&times, 1000000);
    assert_true(times_percentile(&times, 0.99) < 1017);
    assert_true(times_percentile(&times, 0.995) > 980000);
}
