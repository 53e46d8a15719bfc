/* Points of a scan: in which order they are measured and emitted. */
#include "bench/common/points.h"
#include "tests/lib/unit.h"

#include <errno.h>

enum { N = 30 };

struct seen {
    size_t measured[N], emitted[N], nmeasured, nemitted;
    size_t fails_at; /* the measured point that fails; N = none */
};

static int measure(struct bench_ctx *ctx, size_t point)
{
    struct seen *seen = ctx->state;
    assert_int_equal(seen->nemitted, 0);
    seen->measured[seen->nmeasured++] = point;
    return point == seen->fails_at ? -EIO : 0;
}

static void emit(struct bench_ctx *ctx, size_t point)
{
    struct seen *seen = ctx->state;
    seen->emitted[seen->nemitted++] = point;
}

/* `seed` is that of the worker, which must not matter. */
static struct seen run(uint64_t seed, uint64_t round_seed)
{
    struct seen seen = {.fails_at = N};
    struct bench_ctx ctx = {.seed = seed, .round_seed = round_seed, .state = &seen};
    assert_int_equal(points_run(&ctx, N, measure, emit), 0);
    assert_int_equal(seen.nmeasured, N);
    assert_int_equal(seen.nemitted, N);
    return seen;
}

TEST(points_are_measured_in_an_order_of_the_round)
{
    struct seen first = run(1, 100), second = run(1, 101), again = run(2, 100);
    assert_memory_not_equal(first.measured, second.measured, sizeof(first.measured));
    assert_memory_equal(first.measured, again.measured, sizeof(first.measured));
    assert_memory_not_equal(first.measured, first.emitted, sizeof(first.measured));
}

TEST(points_are_each_measured_and_emitted_in_their_own_order)
{
    for (uint64_t round_seed = 0; round_seed < 20; round_seed++) {
        struct seen seen = run(1, round_seed);
        unsigned times[N] = {0};
        for (size_t i = 0; i < N; i++) {
            times[seen.measured[i]]++;
            assert_int_equal(seen.emitted[i], i);
        }
        for (size_t i = 0; i < N; i++)
            assert_int_equal(times[i], 1);
    }
}

TEST(points_end_at_the_first_error)
{
    struct seen all = run(1, 9), seen = {.fails_at = all.measured[4]};
    struct bench_ctx ctx = {.round_seed = 9, .state = &seen};
    assert_int_equal(points_run(&ctx, N, measure, emit), -EIO);
    assert_int_equal(seen.nmeasured, 5);
    assert_int_equal(seen.nemitted, 0);
}
