/* The arithmetic of collectives: factors, sizes, iterations, and the numbers that are checked. */
#include "bench/collective/collective_scan.h"
#include "kernels/collective/collective_lag.h"
#include "kernels/collective/collective_value.h"
#include "tests/lib/unit.h"

TEST(bus_factors)
{
    static const struct {
        unsigned ranks;
        float allreduce, parts;
    } cases[] = {{2, 1, 0.5F}, {3, 4 / 3.0F, 2 / 3.0F}, {4, 1.5F, 0.75F}, {8, 1.75F, 0.875F}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        unsigned n = cases[i].ranks;
        assert_float_equal(collective_bus_factor(COLLECTIVE_ALLREDUCE, n), cases[i].allreduce,
                           1e-6F);
        assert_float_equal(collective_bus_factor(COLLECTIVE_ALLGATHER, n), cases[i].parts, 1e-6F);
        assert_float_equal(collective_bus_factor(COLLECTIVE_REDUCESCATTER, n), cases[i].parts,
                           1e-6F);
        assert_float_equal(collective_bus_factor(COLLECTIVE_ALLTOALL, n), cases[i].parts, 1e-6F);
        assert_float_equal(collective_bus_factor(COLLECTIVE_BROADCAST, n), 1, 1e-6F);
        assert_float_equal(collective_bus_factor(COLLECTIVE_REDUCE, n), 1, 1e-6F);
        assert_float_equal(collective_bus_factor(COLLECTIVE_SENDRECV, n), 1, 1e-6F);
        assert_float_equal(collective_bus_factor(COLLECTIVE_GATHER, n), cases[i].parts, 1e-6F);
        assert_float_equal(collective_bus_factor(COLLECTIVE_SCATTER, n), cases[i].parts, 1e-6F);
    }
}

TEST(sizes_are_rounded_as_in_nccl_tests)
{
    static const struct {
        enum collective_op op;
        enum collective_type type;
        unsigned ranks;
        uint64_t size;
        size_t count, bytes; /* 0 = does not fit */
    } cases[] = {
        {COLLECTIVE_ALLREDUCE, COLLECTIVE_FLOAT, 4, 8, 2, 8},
        {COLLECTIVE_ALLREDUCE, COLLECTIVE_FLOAT, 4, 11, 2, 8},
        {COLLECTIVE_ALLREDUCE, COLLECTIVE_DOUBLE, 4, 7, 0, 0},
        {COLLECTIVE_BROADCAST, COLLECTIVE_INT8, 3, 1, 1, 1},
        {COLLECTIVE_SENDRECV, COLLECTIVE_BFLOAT16, 3, 33, 16, 32},
        {COLLECTIVE_ALLGATHER, COLLECTIVE_FLOAT, 4, 64, 4, 64},
        {COLLECTIVE_ALLGATHER, COLLECTIVE_FLOAT, 4, 63, 0, 0},
        {COLLECTIVE_REDUCESCATTER, COLLECTIVE_FLOAT, 3, 1024, 84, 1008},
        {COLLECTIVE_ALLTOALL, COLLECTIVE_INT8, 3, 100, 32, 96},
        {COLLECTIVE_ALLTOALL, COLLECTIVE_DOUBLE, 5, 128 << 20, 3355442, 134217680},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct collective_call call = {.op = cases[i].op, .type = cases[i].type};
        bool fits = collective_fit(&call, cases[i].size, cases[i].ranks);
        assert_int_equal(fits, cases[i].count > 0);
        assert_int_equal(call.count, cases[i].count);
        assert_int_equal(call.bytes, cases[i].bytes);
    }
}

TEST(range_counts_its_sizes)
{
    const struct collective_range common = {8, 128 << 20, 4}, one = {5, 5, 2};
    const struct collective_range between = {8, 31, 2}, huge = {1, 8ull << 30, 1 << 20};
    assert_int_equal(collective_range_count(&common), 13);
    assert_int_equal(collective_range_count(&one), 1);
    assert_int_equal(collective_range_count(&between), 2);
    assert_int_equal(collective_range_count(&huge), 2);
}

TEST(iterations_fill_the_share)
{
    assert_int_equal(collective_iters(1, 0.1, 10, 1, 1000), 100);
    assert_int_equal(collective_iters(1, 30, 1, 1, 1000), 1);       /* at least one */
    assert_int_equal(collective_iters(1, 1e-6F, 1, 1, 1000), 1000); /* at most the limit */
    assert_int_equal(collective_iters(1, 0.1, 10, 16, 1000), 96);   /* whole batches */
    assert_int_equal(collective_iters(1, 30, 16, 16, 1000), 16);
    assert_int_equal(collective_iters(1, 0, 1, 1, 1000), 1000); /* faster than the clock resolves */
    assert_int_equal(collective_iters(1, 1e-6F, 1, 16, 512), 512);
}

/* True if the terms of any rank differ from those of rank 0. */
static bool ranks_differ(const struct collective_call *call, unsigned ranks, uint64_t i)
{
    for (unsigned rank = 1; rank < ranks; rank++)
        if (collective_term(call, rank, ranks, i, 3) != collective_term(call, 0, ranks, i, 3))
            return true;
    return false;
}

/* Reductions must be exact in the narrowest types, and differ between ranks and positions. */
static void assert_exact_and_different(struct collective_call call, unsigned ranks)
{
    unsigned differ = 0;
    double highest = 0;
    for (uint64_t i = 0; i < 500; i++) {
        double all = collective_reduced(&call, ranks, i, 3);
        highest = all > highest ? all : highest;
        differ += ranks_differ(&call, ranks, i);
    }
    assert_true(highest >= 1 && highest <= collective_most(call.type));
    assert_true(differ > 150);
}

TEST(values_are_exact_and_differ)
{
    static const unsigned ranks[] = {2, 3, 7, 8, 64, 120, 121, 500, 1024};
    static const enum collective_type types[] = {COLLECTIVE_INT8, COLLECTIVE_F8E4M3,
                                                 COLLECTIVE_F8E5M2};
    for (size_t k = 0; k < sizeof(ranks) / sizeof(ranks[0]); k++)
        for (size_t t = 0; t < sizeof(types) / sizeof(types[0]); t++)
            for (enum collective_redop redop = 0; redop < COLLECTIVE_AVG; redop++)
                assert_exact_and_different(
                    (struct collective_call){.type = types[t], .redop = redop}, ranks[k]);
    unsigned same_index = 0, same_repetition = 0;
    for (uint64_t i = 0; i < 1000; i++) {
        same_index += collective_value(1, i, 0, 120) == collective_value(1, i + 1, 0, 120);
        same_repetition += collective_value(1, i, 0, 120) == collective_value(1, i, 1, 120);
    }
    assert_true(same_index < 50 && same_repetition < 50);
}

TEST(averages_may_be_rounded_where_they_must)
{
    struct collective_call call = {.type = COLLECTIVE_HALF, .redop = COLLECTIVE_AVG};
    const double off = 20.0 / 1024;
    assert_false(collective_is_wrong(&call, 4, 20, 20));
    assert_true(collective_is_wrong(&call, 4, 20 + off, 20)); /* quarters are exact */
    assert_false(collective_is_wrong(&call, 3, 20 - 2 * off, 20));
    assert_true(collective_is_wrong(&call, 3, 20 + 4 * off, 20));
    assert_true(collective_is_wrong(&call, 3, (double)NAN, 20));
    call.redop = COLLECTIVE_SUM;
    assert_true(collective_is_wrong(&call, 3, 20 + off, 20));
    call = (struct collective_call){.type = COLLECTIVE_UINT8, .redop = COLLECTIVE_AVG};
    assert_true(collective_is_wrong(&call, 3, 21, 20));
    for (uint64_t i = 0; i < 100; i++) {
        double average = collective_reduced(&call, 3, i, 1);
        assert_true(average == floor(average));
    }
}

/* Two clock readings of 10 us each, a second apart; the device's clock is 0.1% fast. */
static const struct collective_clock_pair clock_pairs[2] = {
    {5000000000u, 5000010000u, 0},
    {6000000000u, 6000010000u, 1001000},
};

/* For an operation whose device begins to wait at 0.5 s and ends `busy_us` later. */
static double lag_us(double launched_us, double busy_us)
{
    const double begin_us = 500500;
    return collective_lag_us(clock_pairs, (uint64_t)(5500005000.0 + 1e3 * launched_us), begin_us,
                             begin_us + busy_us);
}

TEST(launch_behind_the_begin_is_a_lag)
{
    assert_float_equal(lag_us(2000, 2030), 1980, 0.1F);
    assert_float_equal(lag_us(2000, 1995), 1980,
                       0.1F); /* 5 us before the launch: an error of the clocks */
    assert_float_equal(lag_us(2000, 90000), 1980, 0.1F);
    assert_float_equal(lag_us(24, 15), 4, 0.1F);
    assert_float_equal(lag_us(20.5, 30), 0.5F, 0.1F); /* continuous at the threshold */
}

TEST(what_is_no_lag)
{
    assert_float_equal(lag_us(-3000, 30), 0, 0); /* queued in time */
    assert_float_equal(lag_us(8, 30), 0, 0);     /* no longer than launches take */
    assert_float_equal(lag_us(2000, 30), 0, 0);  /* done before the call returned */
    struct collective_clock_pair vague[2] = {clock_pairs[0], clock_pairs[1]};
    vague[1].after_ns += 3000000;
    assert_float_equal(collective_lag_us(vague, 5502000000u, 500500, 502600), 0, 0);
    vague[1] = vague[0]; /* no time between the readings */
    assert_float_equal(collective_lag_us(vague, 5000105000u, 0, 200), 80, 0.1F);
}
