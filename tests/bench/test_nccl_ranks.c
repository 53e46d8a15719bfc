/* The real host code, with ranks of NCCL as threads, each with a GPU of tests/lib/fake_gpus.h. */
#include <pthread.h>
#include <stdatomic.h>

#include "bench/collective/collective.h"
#include "bench/device/device.h"
#include "bench/registry.h"
#include "harness/engine/worker/shared.h"
#include "tests/lib/fake_gpus.h"
#include "tests/lib/fixture_dims.h"
#include "tests/lib/patience.h"
#include "tests/lib/unit.h"

enum { RANKS = 3 };

static struct barrier barrier;
static struct bench_machine machine;
static double budget_s = 0.05;

/* A rank's side of the contract, and the results of its calls; 1 = not called. */
struct rank {
    _Alignas(16) char params[BENCH_PARAMS_MAX];
    struct bench_ctx ctx;
    struct err err;
    struct barrier_rank view;
    struct peers peers;
    struct value_log *values;
    pthread_t thread;
    _Atomic int probe, setup, run, check;
    uint64_t came_ns;
};

static struct rank ranks[RANKS];

static int reset(void **state)
{
    fake_gpus_reset();
    machine = (struct bench_machine){.ncpus = 1, .ngpus = FAKE_GPUS};
    for (unsigned g = 0; g < FAKE_GPUS; g++)
        (void)snprintf(machine.gpus[g].pci_bdf, PCI_BDF_MAX, "0000:%02x:00.0", g + 1);
    /* Barriers are numbered from 0 again. */
    atomic_store(&barrier.completed, 0);
    atomic_store(&barrier.arrived, 0);
    return 0;
}

static void *rank_main(void *arg)
{
    struct rank *rank = arg;
    rank->probe = collective_probe_with(&rank->ctx, &collective_nccl_ops);
    if (rank->probe)
        return NULL;
    rank->setup = collective_setup_with(&rank->ctx, &collective_nccl_ops);
    if (!rank->setup)
        rank->run = bench_collective.scan(&rank->ctx);
    if (!rank->run)
        rank->check = bench_collective.check(&rank->ctx);
    return NULL;
}

static void start_rank(unsigned r, unsigned n, const char *const *pairs, void *(*run)(void *))
{
    struct rank *rank = &ranks[r];
    memset(rank, 0, sizeof(*rank));
    opts_set_defaults(bench_collective.opts, rank->params);
    for (const char *const *pair = pairs; *pair; pair++)
        assert_int_equal(opts_set_pair(bench_collective.opts, rank->params, *pair, &rank->err), 0);
    rank->values = calloc(1, sizeof(*rank->values));
    rank->ctx = (struct bench_ctx){.params = rank->params,
                                   .worker = r,
                                   .workers = n,
                                   .device = DEVICE_NCCL,
                                   .err = &rank->err,
                                   .machine = &machine,
                                   .peers = &rank->peers,
                                   .budget_s = budget_s,
                                   .values = rank->values};
    memcpy(rank->ctx.pci_bdf, machine.gpus[r].pci_bdf, PCI_BDF_MAX);
    rank->probe = rank->setup = rank->run = rank->check = 1;
    barrier_join(&barrier, &rank->view, r, n, &rank->peers);
    assert_int_equal(pthread_create(&rank->thread, NULL, run, rank), 0);
}

/* `n` processes of one rank each; with n = 1 the process has a rank on every GPU. */
static void start(unsigned n, const char *const *pairs)
{
    for (unsigned r = 0; r < n; r++)
        start_rank(r, n, pairs, rank_main);
}

static void finish(unsigned n)
{
    for (unsigned r = 0; r < n; r++)
        (void)pthread_join(ranks[r].thread, NULL);
    for (unsigned r = 0; r < n; r++)
        bench_close(&bench_collective, &ranks[r].ctx);
    assert_int_equal(fake_gpus.open_groups, 0);
    assert_int_equal(fake_gpus.open_captures, 0);
}

static void forget(unsigned n)
{
    for (unsigned r = 0; r < n; r++)
        free(ranks[r].values);
}

static void assert_all_good(unsigned n)
{
    for (unsigned r = 0; r < n; r++)
        if (ranks[r].probe || ranks[r].setup || ranks[r].run || ranks[r].check)
            fail_msg("rank %u: %s", r, ranks[r].err.msg);
}

TEST_WITHIN(ranks_of_processes_and_of_one_are_right, reset, NULL)
{
    static const char *const redops[] = {"redop=sum", "redop=prod", "redop=min", "redop=max",
                                         "redop=avg"};
    static const char *const types[] = {"type=float", "type=int32", "type=uint8"};
    for (size_t i = 0; i < sizeof(redops) / sizeof(redops[0]); i++)
        for (unsigned n = 1; n <= RANKS; n++) {
            const char *pairs[] = {"op=all",    redops[i], types[i % 3], "place=both",
                                   "begin=256", "end=4K",  "root=0",     NULL};
            (void)reset(state);
            start(n, pairs);
            finish(n);
            assert_all_good(n);
            forget(n);
            assert_int_equal(fake_gpus.aborted, 0);
        }
}

/* Waits up to 20 s, so that a hang ends before the test's limit. */
static bool comes(const _Atomic int *what)
{
    for (unsigned i = 0; i < 20000 && *what == 1; i++)
        (void)usleep(1000);
    return *what != 1;
}

static const char *const small[] = {"begin=1K", "end=1K", NULL};

/* The other ranks are in NCCL by then; the test does what the harness does. */
TEST_WITHIN(rank_that_cannot_join_says_so_at_once, reset, NULL)
{
    fake_gpus.join_fails = 1;
    start(RANKS, small);
    bool entered = comes(&ranks[1].setup);
    for (unsigned i = 0; i < 20000 && fake_gpus.waiting < RANKS - 1; i++)
        (void)usleep(1000);
    int waiting = fake_gpus.waiting;
    struct err err = ranks[1].err;
    fake_gpus_give_up();
    assert_true(entered); /* otherwise the ranks hang, and so would finish */
    finish(RANKS);
    assert_int_equal(waiting, RANKS - 1);
    assert_int_equal(err.code, -EIO);
    assert_string_equal(err.msg, "rank 1, GPU 1 (0000:02:00.0): cannot join the other ranks: NCCL "
                                 "says 'unhandled system error'");
    forget(RANKS);
}

TEST_WITHIN(ranks_of_one_process_end_their_group, reset, NULL)
{
    fake_gpus.join_fails = 2;
    start(1, small);
    finish(1);
    assert_int_equal(ranks[0].setup, -EIO);
    assert_has(ranks[0].err.msg, "rank 2, GPU 2 (0000:03:00.0): cannot join");
    assert_int_equal(fake_gpus.aborted, 2); /* the ranks before the failed one */
    forget(1);
}

/* All GPUs open, and then one does not: NCCL's group must not stay half open. */
TEST_WITHIN(lost_gpu_does_not_leave_half_a_group, reset, NULL)
{
    fake_gpus.closed_gpu = 3;
    fake_gpus.closes_after = 1;
    start(1, small);
    bool entered = comes(&ranks[0].setup);
    fake_gpus_give_up();
    finish(1);
    assert_true(entered);
    assert_int_equal(ranks[0].setup, -EBUSY);
    assert_has(ranks[0].err.msg, "rank 3, GPU 3 (0000:04:00.0): cannot join");
    forget(1);
}

TEST_WITHIN(gpu_that_cannot_be_opened_is_named_by_all, reset, NULL)
{
    fake_gpus.closed_gpu = 1;
    start(RANKS, small);
    finish(RANKS);
    for (unsigned r = 0; r < RANKS; r++) {
        assert_int_equal(ranks[r].setup, -EBUSY);
        assert_has(ranks[r].err.msg, "rank 1, GPU 1 (0000:02:00.0): cannot be used: the GPU is in");
        assert_int_equal(strncmp(ranks[r].err.msg, "rank 1, ", 8), 0);
    }
    forget(RANKS);
}

/* In a group, and while graphs are captured: both end, and running operations are aborted. */
TEST_WITHIN(failed_call_leaves_nothing_open, reset, NULL)
{
    static const char *const graph[] = {"begin=1K", "end=1K", "graph=1", NULL};
    const char *const *const calls[] = {small, graph};
    for (size_t i = 0; i < 2; i++) {
        (void)reset(state);
        fake_gpus.call_fails = 2;
        fake_gpus.fails_after = (int)i; /* the first operation warms a graph up */
        start(1, calls[i]);
        finish(1);
        assert_int_equal(ranks[0].run, -EIO);
        assert_string_equal(ranks[0].err.msg, "rank 2, GPU 2 (0000:03:00.0): cannot start an "
                                              "operation: NCCL says 'internal error'");
        assert_int_equal(fake_gpus.aborted, FAKE_GPUS);
        forget(1);
    }
}

/* 256K has room for four buffers, so a batch has four operations. */
TEST_WITHIN(graphs_of_one_and_of_many_are_checked, reset, NULL)
{
    static const char *const pairs[][7] = {
        {"begin=1K", "end=1K", "graph=1", "place=out"},
        {"begin=1K", "end=1K", "graph=1", "place=in"},
        {"begin=256K", "end=256K", "graph=1", "place=out"},
        {"begin=256K", "end=256K", "graph=1", "place=in"},
        {"begin=1K", "end=1K", "graph=1", "place=both", "op=allgather"},
    };
    for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++)
        for (unsigned drops = 0; drops <= 2; drops++) { /* in no graph, in all, in batches */
            (void)reset(state);
            fake_gpus.graph_drops_from = drops;
            start(2, pairs[i]);
            finish(2);
            if (!drops)
                assert_all_good(2);
            else
                assert_int_equal(ranks[1].check, -EBADMSG);
            if (drops)
                assert_has(ranks[1].err.msg, "on rank 0, GPU 0 (0000:01:00.0), elem");
            forget(2);
        }
}

/* A value of process 0; NaN if there is none. */
static double value_of(const char *metric, const char *key)
{
    const struct value_log *log = ranks[0].values;
    for (uint32_t i = 0; i < log->n; i++)
        if (strcmp(bench_collective.metrics[log->value[i].metric].name, metric) == 0 &&
            stands_at(&bench_collective, &log->value[i].dims, key))
            return log->value[i].value;
    return NAN;
}

/* Rank 1's device is idle meanwhile; by the device's clock alone it is as busy as the others. */
static bool sleeper_came_last(const char *const *pairs)
{
    fake_gpus.sleeps = 1;
    fake_gpus.sleep_us = 30000;
    budget_s = 0.4;
    start(RANKS, pairs);
    finish(RANKS);
    budget_s = 0.05;
    assert_all_good(RANKS);
    bool last = value_of("rank_last_share", "op=allreduce;rank=1;size=1024") > 0.5 &&
                value_of("rank_waited", "op=allreduce;rank=0;size=1024") > 15000 &&
                value_of("rank_waited", "op=allreduce;rank=1;size=1024") < 15000;
    forget(RANKS);
    return last;
}

/* Load on the machine may delay any rank, but not every time. */
TEST_WITHIN(rank_that_sleeps_in_its_call_came_last, reset, NULL)
{
    static const char *const calls[][4] = {{"begin=1K", "end=1K", "queue=1"},
                                           {"begin=1K", "end=1K", "queue=20"}};
    for (size_t i = 0; i < 2; i++) {
        bool last = false;
        for (int tries = 0; tries < PATIENCE && !last; tries++) {
            (void)reset(state);
            last = sleeper_came_last(calls[i]);
        }
        assert_true(last);
    }
}

/* The collectives in a step of `train`, once by each rank. */
static const struct collective_call train_calls[] = {
    ENTRY(.op = COLLECTIVE_ALLREDUCE, .type = COLLECTIVE_FLOAT, .count = 1024, .bytes = 4096),
    ENTRY(.op = COLLECTIVE_ALLGATHER, .type = COLLECTIVE_FLOAT, .count = 64,
          .bytes = (size_t)256 * RANKS),
    ENTRY(.op = COLLECTIVE_REDUCESCATTER, .type = COLLECTIVE_FLOAT, .count = 64,
          .bytes = (size_t)256 * RANKS),
    ENTRY(.op = COLLECTIVE_ALLREDUCE, .type = COLLECTIVE_FLOAT, .count = 1024, .bytes = 4096),
};

static void *reduce_main(void *arg)
{
    struct rank *rank = arg;
    struct reduce reduce = {.ops = &reduce_cuda_ops,
                            .peers = &rank->peers,
                            .calls = train_calls,
                            .ncalls = sizeof(train_calls) / sizeof(train_calls[0])};
    const struct reduce_config config = {
        .kind = DEVICE_CUDA, .calls = reduce.calls, .ncalls = reduce.ncalls};
    rank->setup = reduce.ops->open(&reduce, &config, &rank->ctx);
    if (!rank->setup)
        rank->run = reduce.ops->start(&reduce, &rank->came_ns, &rank->err);
    if (!rank->run)
        rank->run = reduce.ops->finish(&reduce, &rank->err);
    if (!rank->run)
        rank->check = reduce.ops->check(&reduce, &rank->err);
    reduce.ops->close(&reduce);
    return NULL;
}

static bool sleeper_came_last_to_train(void)
{
    bool last = true;
    fake_gpus.sleeps = 2;
    fake_gpus.sleep_us = 100000;
    for (unsigned r = 0; r < RANKS; r++)
        start_rank(r, RANKS, small, reduce_main);
    for (unsigned r = 0; r < RANKS; r++)
        (void)pthread_join(ranks[r].thread, NULL);
    for (unsigned r = 0; r < RANKS; r++) {
        if (ranks[r].setup || ranks[r].run || ranks[r].check)
            fail_msg("rank %u: %s", r, ranks[r].err.msg);
        last = last && (r == 2 || ranks[r].came_ns < ranks[2].came_ns);
    }
    forget(RANKS);
    return last;
}

TEST_WITHIN(rank_that_sleeps_in_its_call_came_last_to_train, reset, NULL)
{
    bool last = false;
    for (int tries = 0; tries < PATIENCE && !last; tries++) {
        (void)reset(state);
        last = sleeper_came_last_to_train();
    }
    assert_true(last);
}

TEST_WITHIN(sums_of_fp8_need_hopper, reset, NULL)
{
    static const char *const pairs[] = {"begin=1K", "end=1K", "type=f8e4m3", NULL};
    fake_gpus.capability = 8;
    start(1, pairs);
    finish(1);
    assert_int_equal(ranks[0].run, -ENOTSUP);
    assert_string_equal(ranks[0].err.msg, "rank 0, GPU 0 (0000:01:00.0): reductions of fp8 need "
                                          "compute capability 9.0");
    forget(1);
}

TEST_WITHIN(buffers_are_registered_while_ranks_run, reset, NULL)
{
    static const char *const pairs[] = {"begin=1K", "end=1K", "register=1", NULL};
    start(RANKS, pairs);
    finish(RANKS);
    assert_all_good(RANKS);
    assert_int_equal(fake_gpus.registered, 2 * RANKS);
    assert_int_equal(fake_gpus.registered_open, 0);
    forget(RANKS);
}

TEST_WITHIN(blocking_launches_are_refused, reset, NULL)
{
    assert_int_equal(setenv("CUDA_LAUNCH_BLOCKING", "1", 1), 0);
    start(RANKS, small);
    finish(RANKS);
    assert_int_equal(ranks[1].probe, -ENOTSUP);
    assert_has(ranks[1].err.msg, "CUDA_LAUNCH_BLOCKING=1");
    forget(RANKS);
    assert_int_equal(setenv("CUDA_LAUNCH_BLOCKING", "0", 1), 0);
    (void)reset(NULL);
    start(RANKS, small);
    finish(RANKS);
    assert_all_good(RANKS);
    forget(RANKS);
    assert_int_equal(unsetenv("CUDA_LAUNCH_BLOCKING"), 0);
}
