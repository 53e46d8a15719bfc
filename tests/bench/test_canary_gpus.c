/* bench/gpu/gpu_canary.c over made-up kernels: one worker a GPU, and worker 0 emits all values. */
#include <pthread.h>

#include "bench/registry.h"
#include "tests/lib/fake_gpu_kernels.h"
#include "tests/lib/fixture_dims.h"
#include "tests/lib/unit.h"

enum { GPUS = 3, WORKERS = 4 }; /* the last one shares GPU 0 */

static struct bench_machine machine;

static struct team {
    pthread_barrier_t all;
    char block[WORKERS][PEERS_BLOCK_MAX];
    int rc[WORKERS];
} team;

static struct worker {
    struct bench_ctx ctx;
    struct peers peers;
    struct err err;
    struct value_log values;
} workers[WORKERS];

static int gather(struct peers *peers, const void *mine, void *all, size_t bytes, struct err *err)
{
    memcpy(team.block[peers->rank], mine, bytes);
    (void)pthread_barrier_wait(&team.all);
    for (unsigned i = 0; i < peers->size; i++)
        memcpy((char *)all + i * bytes, team.block[i], bytes);
    (void)pthread_barrier_wait(&team.all);
    return 0;
}

/* As a worker process does it. */
static void *run_worker(void *arg)
{
    struct worker *worker = arg;
    struct bench_ctx *ctx = &worker->ctx;
    int rc = bench_open(&bench_gpu_canary, ctx);
    if (!rc)
        rc = bench_gpu_canary.scan(ctx);
    bench_close(&bench_gpu_canary, ctx);
    team.rc[ctx->worker] = rc;
    return NULL;
}

static void run(const struct fake_trouble *trouble)
{
    pthread_t threads[WORKERS];
    fake_gpu_set_trouble(trouble);
    assert_int_equal(pthread_barrier_init(&team.all, NULL, WORKERS), 0);
    for (unsigned i = 0; i < WORKERS; i++) {
        struct worker *worker = &workers[i];
        memset(worker, 0, sizeof(*worker));
        worker->peers = (struct peers){.rank = i, .size = WORKERS, .gather = gather};
        worker->ctx = (struct bench_ctx){.worker = i,
                                         .workers = WORKERS,
                                         .err = &worker->err,
                                         .machine = &machine,
                                         .peers = &worker->peers,
                                         .values = &worker->values};
        (void)snprintf(worker->ctx.pci_bdf, PCI_BDF_MAX, "%s", machine.gpus[i % GPUS].pci_bdf);
        assert_int_equal(pthread_create(&threads[i], NULL, run_worker, worker), 0);
    }
    for (unsigned i = 0; i < WORKERS; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    (void)pthread_barrier_destroy(&team.all);
    for (unsigned i = 0; i < WORKERS; i++)
        assert_int_equal(team.rc[i], 0);
    for (unsigned i = 1; i < WORKERS; i++)
        assert_int_equal(workers[i].values.n, 0);
}

static int set_up(void **state)
{
    machine.ngpus = GPUS;
    for (unsigned i = 0; i < GPUS; i++)
        (void)snprintf(machine.gpus[i].pci_bdf, PCI_BDF_MAX, "0000:0%u:00.0", i);
    return 0;
}

/* NULL if worker 0 did not emit it. */
static const struct value *find(const char *metric, const char *key)
{
    const struct value_log *log = &workers[0].values;
    for (uint32_t i = 0; i < log->n; i++)
        if (!strcmp(bench_gpu_canary.metrics[log->value[i].metric].name, metric) &&
            stands_at(&bench_gpu_canary, &log->value[i].dims, key))
            return &log->value[i];
    return NULL;
}

TEST_WITHIN(canary_gpus_are_all_told_once, set_up, NULL)
{
    run(&(struct fake_trouble){0});
    assert_int_equal(workers[0].values.n, 2 * GPUS);
    for (unsigned i = 0; i < GPUS; i++) {
        char key[16];
        put_text(key, "gpu=%u", i);
        const struct value *time = find("canary_time", key), *cycles = find("canary_cycles", key);
        assert_true(time && cycles);
        assert_true(time->value > 499 * (i + 1) &&
                    time->value < 501 * (i + 1)); /* clocks differ .. */
        assert_true(cycles->value > 999999 &&
                    cycles->value < 1000001); /* .. but the work is the same */
    }
}

static void assert_one_is_bad(const struct fake_trouble *trouble, const char *why)
{
    run(trouble);
    const struct value *bad = find("canary_time", "gpu=1");
    assert_true(bad && bad->reason);
    const char *said = workers[0].values.reason[bad->reason - 1].msg;
    if (!strstr(said, "GPU 1 (0000:01:00.0): ") || !strstr(said, why))
        fail_msg("'%s', not '%s'", said, why);
    assert_null(find("canary_cycles", "gpu=1"));
    assert_non_null(find("canary_cycles", "gpu=0"));
    assert_non_null(find("canary_cycles", "gpu=2"));
}

TEST_WITHIN(canary_gpus_that_are_bad_hide_no_other, set_up, NULL)
{
    assert_one_is_bad(&(struct fake_trouble){"gpu_canary_open", 1, 0, -EIO}, "it broke");
    assert_one_is_bad(&(struct fake_trouble){"gpu_canary_run", 1, 0, -EIO}, "it broke");
    assert_one_is_bad(&(struct fake_trouble){"gpu_canary_run", 1, 9, -EIO}, "it broke");
    assert_one_is_bad(&(struct fake_trouble){"gpu_canary_check", 1, 0, -EIO},
                      "1 threads computed wrongly");
}
