/* The scan of collectives over an engine in memory: arithmetic, agreement of ranks, checks. */
#include "bench/collective/collective_nccl.h"
#include "bench/collective/collective_scan.h"
#include "bench/registry.h"
#include "kernels/collective/collective_value.h"
#include "kernels/collective/nccl_api.h"
#include "tests/lib/fixture_collective.h"
#include "tests/lib/unit.h"

static struct fake_world world;

static void run_good(unsigned processes, const char *const *pairs)
{
    fake_world_init(&world, processes, pairs);
    fake_world_run(&world);
    for (unsigned p = 0; p < processes; p++) {
        if (world.outcome[p].probe || world.outcome[p].run || world.outcome[p].check)
            fail_msg("process %u of %u: %s", p, processes, world.outcome[p].err.msg);
    }
}

static void assert_close(double got, double want)
{
    if (!(fabs(got - want) <= 1e-6 * fabs(want) + 1e-12))
        fail_msg("%.9g, not %.9g", got, want);
}

/* The values that the check expects are those that the operations' definitions give. */
TEST(all_operations_of_any_number_of_ranks_are_right)
{
    static const unsigned ranks[] = {2, 3, 4, 5, 8};
    for (size_t i = 0; i < sizeof(ranks) / sizeof(ranks[0]); i++) {
        static const char *const pairs[] = {"op=all", "place=both", "end=32K", "root=1", NULL};
        run_good(ranks[i], pairs);
        /* 7 sizes; operations with one part per rank lack the small sizes; two have no in-place
         * form. */
        size_t points = fake_count(&world, "collective_latency");
        assert_true(points > 76 && points < 112);
        assert_int_equal(fake_count(&world, "collective_busbw"), points);
        assert_int_equal(fake_count(&world, "collective_time"), 3 * points);
        assert_int_equal(world.outcome[ranks[i] - 1].nchecks, points);
        assert_int_equal(fake_value(&world, "collective_ranks", ""), ranks[i]);
        assert_int_equal(fake_value(&world, "skipped_size", "op=allreduce;why=small") > 0, 0);
    }
}

TEST(all_reductions_are_right)
{
    static const char *const redops[] = {"redop=prod", "redop=min", "redop=max", "redop=avg"};
    static const char *const types[] = {"type=f8e4m3", "type=f8e5m2", "type=half"};
    for (size_t i = 0; i < sizeof(redops) / sizeof(redops[0]); i++)
        for (size_t t = 0; t < sizeof(types) / sizeof(types[0]); t++) {
            const char *pairs[] = {"op=all", redops[i], types[t], "begin=1K", "end=1K", NULL};
            run_good(3, pairs);
            run_good(4, pairs);
        }
}

TEST(one_process_can_hold_all_ranks)
{
    static const char *const pairs[] = {"op=all", "begin=64K", "end=64K", NULL};
    fake_world_init(&world, 1, pairs);
    world.local = 3;
    world.slow_rank = 1;
    fake_world_run(&world);
    assert_int_equal(world.outcome[0].check, 0);
    assert_int_equal(fake_value(&world, "collective_ranks", ""), 3);
    assert_close(fake_value(&world, "rank_last_share", "op=allreduce;rank=1;size=65536"), 1);
}

TEST(bandwidth_follows_from_the_slowest_rank)
{
    static const char *const pairs[] = {"begin=1M", "end=1M", NULL};
    fake_world_init(&world, 4, pairs);
    world.each_us[2] = 50;
    fake_world_run(&world);
    assert_int_equal(world.outcome[0].check, 0);
    assert_close(fake_value(&world, "collective_latency", "op=allreduce;size=1048576"), 50);
    assert_close(fake_value(&world, "collective_algbw", "op=allreduce;size=1048576"),
                 1048576 / 50e3);
    assert_close(fake_value(&world, "collective_busbw", "op=allreduce;size=1048576"),
                 1.5 * 1048576 / 50e3);
}

TEST(ranks_agree_on_iterations)
{
    static const char *const pairs[] = {"op=all", "place=both", "end=8M", NULL};
    fake_world_init(&world, 3, pairs);
    world.budget_s = 20;
    world.bytes_per_us = 1000;
    world.each_us[0] = 1;
    world.each_us[1] = 700;
    world.each_us[2] = 33;
    fake_world_run(&world);
    const struct fake_outcome *first = &world.outcome[0];
    assert_int_equal(first->check, 0);
    assert_true(first->nruns > 100 && first->nruns <= FAKE_RUNS);
    for (unsigned p = 1; p < 3; p++) {
        assert_int_equal(world.outcome[p].nruns, first->nruns);
        assert_memory_equal(world.outcome[p].iters, first->iters,
                            first->nruns * sizeof(first->iters[0]));
        assert_memory_equal(world.outcome[p].timed, first->timed,
                            first->ntimed * sizeof(first->timed[0]));
    }
}

/* One size has the whole budget: half for the batch, a fifth for the events. */
TEST(points_keep_to_their_share)
{
    static const char *const pairs[] = {"begin=8", "end=8", NULL};
    fake_world_init(&world, 2, pairs);
    world.each_us[1] = 1000;
    fake_world_run(&world);
    const struct fake_outcome *first = &world.outcome[0];
    assert_int_equal(first->iters[first->nruns - 1], 500);
    assert_int_equal(first->timed[0], 200);

    fake_world_init(&world, 2, pairs);
    world.each_us[1] = 4e6; /* a single operation exceeds the budget */
    fake_world_run(&world);
    assert_int_equal(first->nruns, 2);
    assert_int_equal(first->iters[1], 1);
    assert_int_equal(first->timed[0], 1);
    assert_close(fake_value(&world, "collective_latency", "op=allreduce;size=8"), 4e6);
}

TEST(batches_of_a_graph_stay_whole)
{
    static const char *const pairs[] = {"begin=8", "end=8", "graph=1", NULL};
    fake_world_init(&world, 2, pairs);
    world.batch = 16;
    world.each_us[0] = 1000;
    fake_world_run(&world);
    assert_int_equal(world.outcome[0].check, 0);
    for (unsigned i = 0; i < world.outcome[0].nruns; i++)
        assert_int_equal(world.outcome[0].iters[i] % 16, 0);
}

TEST(slow_rank_is_named)
{
    static const char *const pairs[] = {"begin=1K", "end=1K", NULL};
    fake_world_init(&world, 4, pairs);
    world.slow_rank = 2;
    fake_world_run(&world);
    assert_close(fake_value(&world, "rank_last_share", "op=allreduce;rank=2;size=1024"), 1);
    assert_close(fake_value(&world, "rank_last_share", "op=allreduce;rank=0;size=1024"), 0);
    assert_close(fake_value(&world, "rank_waited", "op=allreduce;rank=2;size=1024"), 0);
    assert_true(fabs(fake_value(&world, "rank_waited", "op=allreduce;rank=3;size=1024") - 40) <
                1e-3);
    assert_int_equal(fake_count(&world, "rank_on_host"), 0); /* all ranks are on one host */
}

TEST(even_ranks_are_not_blamed)
{
    static const char *const pairs[] = {"op=all", "begin=1M", "end=1M", NULL};
    run_good(3, pairs);
    assert_int_equal(fake_count(&world, "rank_waited"),
                     4 * 3); /* in operations where all ranks wait for all */
    for (unsigned rank = 0; rank < 3; rank++) {
        char key[64];
        put_text(key, "op=allreduce;rank=%u;size=1048576", rank);
        assert_close(fake_value(&world, "rank_last_share", key), 0);
    }
}

TEST(blame_needs_a_margin)
{
    /* Rank 1 takes less by 5%, by 0.4 us of 1 us, and by 20%. */
    static const struct collective_time times[2][3] = {
        {{100, 0}, {1.0f, 0}, {100, 0}},
        {{95, 0}, {0.6f, 0}, {80, 0}},
    };
    struct collective_lateness lateness[2];
    collective_find_lateness(&times[0][0], 2, 3, lateness);
    assert_close(lateness[0].last_share, 0);
    assert_close(lateness[1].last_share, 1.0 / 3);
    assert_true(fabs(lateness[0].waited_us - (5 + 0.4 + 20) / 3) < 1e-4);
    assert_close(lateness[1].waited_us, 0);
}

TEST(spread_is_of_the_slowest_rank)
{
    enum { ITERS = 200 };
    static struct collective_time times[2][ITERS];
    double scratch[ITERS];
    for (unsigned i = 0; i < ITERS; i++) {
        times[0][i].period_us = 1;
        times[1][i].period_us = (float)((i * 37) % ITERS + 1); /* 1 .. 200, shuffled */
    }
    struct collective_spread spread = collective_spread_of(&times[0][0], 2, ITERS, scratch);
    assert_close(spread.p50_us, 100.5);
    assert_close(spread.p99_us, 198);
    assert_close(spread.max_us, 200);
}

TEST(wrong_data_fails_the_arm)
{
    static const char *const pairs[] = {"op=all", "place=both", "begin=1K", "end=1K", NULL};
    for (enum collective_op op = 0; op < COLLECTIVE_OPS; op++) {
        fake_world_init(&world, 3, pairs);
        world.wrong_op = op;
        bool at_root = op == COLLECTIVE_REDUCE || op == COLLECTIVE_GATHER;
        world.wrong_rank = at_root ? 0 : 2; /* only this rank receives anything */
        fake_world_run(&world);
        for (unsigned p = 0; p < 3; p++) {
            assert_int_equal(world.outcome[p].run, 0);
            assert_int_equal(world.outcome[p].check, -EBADMSG);
            assert_has(world.outcome[p].err.msg, at_root ? "rank 0" : "rank 2");
            assert_has(world.outcome[p].err.msg, "out of place): 1 wrong elements");
        }
    }
}

TEST(a_check_that_is_off_finds_nothing)
{
    static const char *const pairs[] = {"begin=1K", "end=1K", "check=0", NULL};
    fake_world_init(&world, 3, pairs);
    world.wrong_rank = 2;
    fake_world_run(&world);
    assert_int_equal(world.outcome[0].check, 0);
    assert_int_equal(world.outcome[0].nchecks, 0);
}

TEST(one_failure_is_everyones)
{
    static const char *const pairs[] = {NULL};
    fake_world_init(&world, 3, pairs);
    world.probe_fails = 1;
    fake_world_run(&world);
    for (unsigned p = 0; p < 3; p++) {
        assert_int_equal(world.outcome[p].probe, -ENOTSUP);
        assert_string_equal(world.outcome[p].err.msg, "rank 1: no library here");
    }
    fake_world_init(&world, 3, pairs);
    world.open_fails = 2;
    fake_world_run(&world);
    for (unsigned p = 0; p < 3; p++) {
        assert_int_equal(world.outcome[p].setup, -EIO);
        assert_string_equal(world.outcome[p].err.msg, "rank 2: the link is down");
    }
}

TEST(one_rank_is_skipped)
{
    static const char *const pairs[] = {NULL};
    fake_world_init(&world, 1, pairs);
    fake_world_run(&world);
    assert_int_equal(world.outcome[0].probe, -ENOTSUP);
    assert_has(world.outcome[0].err.msg, "no bus bandwidth");
    assert_int_equal(world.outcome[0].values->n, 0);
}

TEST(root_has_to_be_a_rank)
{
    static const char *const pairs[] = {"root=3", NULL};
    fake_world_init(&world, 3, pairs);
    fake_world_run(&world);
    assert_int_equal(world.outcome[0].probe, -EINVAL);
    assert_string_equal(world.outcome[2].err.msg, "root=3: there are 3 ranks, from 0 on");
}

TEST(what_does_not_fit_is_said)
{
    static const char *const pairs[] = {"op=allgather", "begin=16", "end=4M", NULL};
    fake_world_init(&world, 4, pairs);
    world.room_bytes = 1 << 20;
    fake_world_run(&world);
    assert_int_equal(world.outcome[0].check, 0);
    assert_close(fake_value(&world, "skipped_size", "op=allgather;why=small"), 16);
    assert_close(fake_value(&world, "skipped_size", "op=allgather;why=memory"), 4 << 20);
    assert_int_equal(fake_count(&world, "collective_latency"), 8); /* 64 to 1 MiB */

    static const char *const tiny[] = {"op=alltoall", "begin=8", "end=8", NULL};
    fake_world_init(&world, 4, tiny);
    fake_world_run(&world);
    assert_int_equal(world.outcome[0].setup, -ENOTSUP);
}

/* More ranks than are listed by name, and the longest keys. */
TEST(many_ranks_and_long_keys)
{
    static const char *const pairs[] = {"op=reducescatter", "place=both", "begin=8G",
                                        "end=8G",           "check=0",    NULL};
    fake_world_init(&world, 1, pairs);
    world.local = 100;
    world.slow_rank = 99;
    fake_world_run(&world);
    if (world.outcome[0].run)
        fail_msg("%s", world.outcome[0].err.msg);
    assert_int_equal(fake_count(&world, "rank_waited"), 64);
    assert_close(fake_value(&world, "rank_last_share", "op=reducescatter;rank=99;size=8589934400"),
                 1);
}

static int set(const char *pair)
{
    _Alignas(16) char params[BENCH_PARAMS_MAX] = {0};
    opts_set_defaults(bench_collective.opts, params);
    int rc = opts_set_pair(bench_collective.opts, params, pair, NULL);
    return rc ? rc : bench_collective.validate(params, NULL);
}

TEST(bad_input_is_refused)
{
    assert_int_equal(set("begin=8"), 0);
    assert_int_equal(set("begin=0"), -EINVAL);
    assert_int_equal(set("end=0"), -EINVAL);
    assert_int_equal(set("begin=1G"), -EINVAL); /* larger than end */
    assert_int_equal(set("factor=1"), -EINVAL);
    assert_int_equal(set("op=exscan"), -EINVAL);
    assert_int_equal(set("type=complex"), -EINVAL);
    assert_int_equal(set("root=-1"), -EINVAL);
}

TEST(in_place_needs_an_operation_that_has_it)
{
    _Alignas(16) char params[BENCH_PARAMS_MAX] = {0};
    opts_set_defaults(bench_collective.opts, params);
    assert_int_equal(opts_set_pair(bench_collective.opts, params, "place=in", NULL), 0);
    assert_int_equal(bench_collective.validate(params, NULL), 0);
    assert_int_equal(opts_set_pair(bench_collective.opts, params, "op=alltoall", NULL), 0);
    assert_int_equal(bench_collective.validate(params, NULL), -EINVAL);
    assert_int_equal(opts_set_pair(bench_collective.opts, params, "op=all", NULL), 0);
    assert_int_equal(bench_collective.validate(params, NULL), 0);
}

TEST(absent_nccl_says_what_was_tried)
{
    struct err err = {0};
    assert_int_equal(setenv("CONTEND_LIBNCCL", "/nowhere/libnccl.so.2", 1), 0);
    assert_null(nccl_api_load(&err));
    assert_has(err.msg, "/nowhere/libnccl.so.2");
    assert_has(err.msg, "CONTEND_LIBNCCL");
    assert_int_equal(setenv("CONTEND_LIBNCCL", "libm.so.6", 1), 0);
    assert_null(nccl_api_load(&err));
    assert_string_equal(err.msg, "libm.so.6 has no ncclGetVersion: NCCL 2.7 or later is needed");
    assert_int_equal(unsetenv("CONTEND_LIBNCCL"), 0);
}

TEST(nccl_needs_two_gpus)
{
    static struct bench_machine machine = {.ncpus = 1, .ngpus = 1};
    struct peers alone = {.rank = 0, .size = 1};
    struct err err = {0};
    struct bench_ctx ctx = {
        .device = DEVICE_NCCL, .machine = &machine, .peers = &alone, .err = &err};
    unsigned local;
    assert_int_equal(nccl_team_probe(&ctx, &local), -ENOTSUP);
#ifdef CONTEND_HAVE_CUDA
    assert_has(err.msg, "one GPU only");
    assert_has(err.msg, "no bus bandwidth");
    struct peers two = {.rank = 0, .size = 2};
    ctx.peers = &two;
    assert_int_equal(nccl_team_probe(&ctx, &local), -ENOTSUP);
    assert_has(err.msg, "no GPU for worker 0");
#endif
}
