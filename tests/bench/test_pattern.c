/* What patterns of data parallelism send, compared with counts and bytes worked out by hand. */
#include "bench/feed/train.h"
#include "tests/lib/unit.h"

#define MIB ((uint64_t)1 << 20)

struct sum {
    size_t calls;
    uint64_t bytes;
};

static struct sum sum_of(const struct pattern_calls *calls, enum collective_op op)
{
    struct sum sum = {0, 0};
    for (size_t i = 0; i < calls->n; i++)
        if (calls->call[i].op == op) {
            sum.calls++;
            sum.bytes += calls->call[i].bytes;
        }
    return sum;
}

static double sent_of(const struct pattern_calls *calls, unsigned ranks)
{
    double sent = 0;
    for (size_t i = 0; i < calls->n; i++)
        sent += pattern_sent(&calls->call[i], ranks);
    return sent;
}

static struct pattern_calls make(enum pattern pattern, uint64_t gradient, unsigned ranks)
{
    const struct pattern_params params = {
        .pattern = pattern, .gradient = gradient, .bucket = 25 * MIB, .layers = 16};
    struct pattern_calls calls;
    assert_int_equal(pattern_make(&params, ranks, &calls, NULL), 0);
    return calls;
}

TEST(pattern_whole_is_one_all_reduce)
{
    ENDED_BY(pattern_free) struct pattern_calls calls = make(PATTERN_WHOLE, 64 * MIB, 4);
    assert_int_equal(calls.n, 1);
    assert_int_equal(calls.call[0].op, COLLECTIVE_ALLREDUCE);
    assert_int_equal(calls.call[0].count, 16 * MIB);
    assert_true(sent_of(&calls, 4) == 96.0 * MIB);
}

TEST(pattern_ddp_has_buckets_of_25_mib)
{
    static const enum pattern patterns[] = {PATTERN_DDP, PATTERN_ACCUMULATE};
    for (size_t i = 0; i < 2; i++) {
        ENDED_BY(pattern_free) struct pattern_calls calls = make(patterns[i], 64 * MIB, 2);
        assert_int_equal(calls.n, 3);
        assert_int_equal(calls.call[0].bytes, 25 * MIB);
        assert_int_equal(calls.call[2].bytes, 14 * MIB);
        assert_int_equal(sum_of(&calls, COLLECTIVE_ALLREDUCE).bytes, 64 * MIB);
    }
}

/* All patterns except FSDP send the same total: all-reduce = reduce-scatter + all-gather. */
TEST(pattern_zero_scatters_gradients_then_gathers_parameters)
{
    ENDED_BY(pattern_free) struct pattern_calls calls = make(PATTERN_ZERO, 64 * MIB, 4);
    assert_int_equal(calls.n, 6);
    assert_int_equal(calls.call[2].op, COLLECTIVE_REDUCESCATTER);
    assert_int_equal(calls.call[3].op, COLLECTIVE_ALLGATHER);
    assert_int_equal(calls.call[0].count * 4, 25 * MIB / sizeof(float));
    assert_true(sent_of(&calls, 4) == 96.0 * MIB);
}

TEST(pattern_fsdp_gathers_twice_and_scatters_once_a_layer)
{
    ENDED_BY(pattern_free) struct pattern_calls calls = make(PATTERN_FSDP, 64 * MIB, 4);
    assert_int_equal(sum_of(&calls, COLLECTIVE_ALLGATHER).calls, 32);
    assert_int_equal(sum_of(&calls, COLLECTIVE_ALLGATHER).bytes, 128 * MIB);
    assert_int_equal(sum_of(&calls, COLLECTIVE_REDUCESCATTER).calls, 16);
    assert_int_equal(sum_of(&calls, COLLECTIVE_REDUCESCATTER).bytes, 64 * MIB);
    assert_int_equal(calls.call[15].op, COLLECTIVE_ALLGATHER);
    assert_int_equal(calls.call[16].op, COLLECTIVE_ALLGATHER);
    assert_int_equal(calls.call[17].op, COLLECTIVE_REDUCESCATTER);
    assert_true(sent_of(&calls, 4) == 144.0 * MIB);
}

/* 17 elements in 16 layers among 3 ranks: one of two elements, fifteen of one, padded to three. */
TEST(pattern_makes_parts_up_to_the_ranks)
{
    ENDED_BY(pattern_free) struct pattern_calls calls = make(PATTERN_FSDP, 68, 3);
    for (size_t i = 0; i < calls.n; i++) {
        assert_int_equal(calls.call[i].count, 1);
        assert_int_equal(calls.call[i].bytes, 12);
    }
    pattern_free(&calls);
    calls = make(PATTERN_WHOLE, 68, 3);
    assert_int_equal(calls.call[0].bytes, 68);
}

TEST(pattern_refuses_too_many_buckets)
{
    const struct pattern_params params = {
        .pattern = PATTERN_DDP, .gradient = 1ull << 36, .bucket = 4, .layers = 1};
    ENDED_BY(pattern_free) struct pattern_calls calls;
    assert_int_equal(pattern_make(&params, 2, &calls, NULL), -E2BIG);
    assert_null(calls.call);
}
