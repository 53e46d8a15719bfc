/* Ranks of NCCL as threads, each with a GPU of tests/lib/fake_gpus.h: the real host code. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#include "bench/collective/collective.h"
#include "bench/registry.h"
#include "harness/sys/clock.h"
#include "harness/worker/meeting.h"
#include "tests/lib/fake_gpus.h"

enum { RANKS = 3 };

static struct meeting meeting;
static struct bench_machine machine;

/* A rank's side of the contract, and how its calls ended; 1 = not made. */
struct rank {
    _Alignas(16) char params[BENCH_PARAMS_MAX];
    struct bench_ctx ctx;
    struct err err;
    struct meeting_seat seat;
    struct peers peers;
    struct value_log *values;
    pthread_t thread;
    _Atomic int probe, setup, run, check;
};

static struct rank ranks[RANKS];

static int reset(void **state)
{
    (void)state;
    fake_gpus_reset();
    machine = (struct bench_machine){.ncpus = 1, .ngpus = FAKE_GPUS};
    for (unsigned g = 0; g < FAKE_GPUS; g++)
        (void)snprintf(machine.gpus[g].pci_bdf, PCI_BDF_MAX, "0000:%02x:00.0", g + 1);
    /* Seats start at meeting 0. */
    atomic_store(&meeting.held, 0);
    atomic_store(&meeting.arrived, 0);
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

/* `n` processes of a rank each; of one alone, all GPUs are its ranks. */
static void start(unsigned n, const char *const *pairs)
{
    for (unsigned r = 0; r < n; r++) {
        struct rank *rank = &ranks[r];
        memset(rank, 0, sizeof(*rank));
        opts_set_defaults(bench_collective.opts, rank->params);
        for (const char *const *pair = pairs; *pair; pair++)
            assert_int_equal(opts_set_pair(bench_collective.opts, rank->params, *pair, &rank->err),
                             0);
        rank->values = calloc(1, sizeof(*rank->values));
        rank->ctx = (struct bench_ctx){.params = rank->params,
                                       .worker = r,
                                       .workers = n,
                                       .device = DEVICE_NCCL,
                                       .err = &rank->err,
                                       .machine = &machine,
                                       .peers = &rank->peers,
                                       .budget_s = 0.2,
                                       .values = rank->values};
        memcpy(rank->ctx.pci_bdf, machine.gpus[r].pci_bdf, PCI_BDF_MAX);
        rank->probe = rank->setup = rank->run = rank->check = 1;
        meeting_sit(&meeting, &rank->seat, r, n, &rank->peers);
        assert_int_equal(pthread_create(&rank->thread, NULL, rank_main, rank), 0);
    }
}

static void finish(unsigned n)
{
    for (unsigned r = 0; r < n; r++)
        (void)pthread_join(ranks[r].thread, NULL);
    for (unsigned r = 0; r < n; r++)
        bench_collective.teardown(&ranks[r].ctx);
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

static void test_ranks_of_processes_and_of_one_are_right(void **state)
{
    static const char *const ops[] = {"op=allreduce", "op=allgather", "op=reducescatter",
                                      "op=broadcast", "op=reduce"};
    for (size_t i = 0; i < sizeof(ops) / sizeof(ops[0]); i++)
        for (unsigned n = 1; n <= RANKS; n++) {
            const char *pairs[] = {ops[i], "place=both", "begin=256", "end=4K", "root=0", NULL};
            (void)reset(state);
            start(n, pairs);
            finish(n);
            assert_all_good(n);
            forget(n);
            assert_int_equal(fake_gpus.aborted, 0);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_ranks_of_processes_and_of_one_are_right, reset),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
