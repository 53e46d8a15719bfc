/* Ranks as threads in one barrier, on device sim: which rank was waited for, how long. */
#include <pthread.h>
#include <sys/mman.h>
#include <time.h>

#include "bench/common/points.h"
#include "bench/device/device.h"
#include "bench/feed/train.h"
#include "bench/registry.h"
#include "harness/engine/worker/shared.h"
#include "harness/lib/sys/clock.h"
#include "tests/lib/fixture_dims.h"
#include "tests/lib/patience.h"
#include "tests/lib/unit.h"

enum { RANKS = 3, WARM_UP = 2, STEPS = 12, STEPS_MOST = 64 };

static const struct bench_machine nowhere; /* no CPU, no node */

/* A rank's side of the contract. */
struct rank {
    _Alignas(16) char params[BENCH_PARAMS_MAX];
    struct bench_ctx ctx;
    struct err err;
    struct barrier_rank view;
    struct peers peers;
    unsigned warm_up, steps;     /* numbers of steps */
    unsigned sleep_us;           /* before each step */
    uint64_t took_ns;            /* the shortest measured step */
    uint64_t cpu_ns[STEPS_MOST]; /* of each step */
    unsigned done;
    int rc;
};

static void rank_init(struct rank *rank, unsigned workers, unsigned planned_workers)
{
    static const char *const pairs[] = {"rows=64", "cols=32", "sim_work_us=10", "gradient=1M"};
    memset(rank, 0, sizeof(*rank));
    opts_set_defaults(bench_train.opts, rank->params);
    for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++)
        assert_int_equal(opts_set_pair(bench_train.opts, rank->params, pairs[i], &rank->err), 0);
    rank->ctx = (struct bench_ctx){.params = rank->params,
                                   .workers = workers,
                                   .planned_workers = planned_workers,
                                   .threads = 1,
                                   .seed = 7,
                                   .device = DEVICE_SIM,
                                   .machine = &nowhere,
                                   .err = &rank->err,
                                   .peers = &rank->peers,
                                   .values = calloc(1, sizeof(struct value_log))};
    rank->warm_up = WARM_UP;
    rank->steps = STEPS;
    rank->took_ns = UINT64_MAX;
    rank->peers.size = 1;
    assert_non_null(rank->ctx.values);
    assert_int_equal(bench_train.validate(rank->params, &rank->err), 0);
}

static int run_steps(struct rank *rank, unsigned n, bool measuring)
{
    int rc = 0;
    rank->ctx.measuring = measuring;
    for (unsigned i = 0; i < n && !rc; i++) {
        struct sample sample = {0};
        (void)nanosleep(&(struct timespec){.tv_nsec = rank->sleep_us * 1000L}, NULL);
        uint64_t start_ns = clock_now_ns(), cpu_ns = clock_thread_cpu_ns();
        rc = bench_train.step(&rank->ctx, 1, &sample);
        rank->cpu_ns[rank->done++] = clock_thread_cpu_ns() - cpu_ns;
        uint64_t took_ns = clock_now_ns() - start_ns;
        rank->took_ns = measuring && took_ns < rank->took_ns ? took_ns : rank->took_ns;
        if (!rc && (sample.iters != 1 || sample.ops != 64 || sample.bytes != sizeof(float) * 2048))
            rc = -ERANGE;
    }
    return rc;
}

static void *live(void *arg)
{
    struct rank *rank = arg;
    rank->rc = bench_train.probe(&rank->ctx);
    if (!rank->rc)
        rank->rc = bench_open(&bench_train, &rank->ctx);
    if (!rank->rc)
        rank->rc = run_steps(rank, rank->warm_up, false);
    if (!rank->rc)
        rank->rc = run_steps(rank, rank->steps, true);
    if (!rank->rc)
        rank->rc = bench_train.check(&rank->ctx);
    bench_close(&bench_train, &rank->ctx);
    return NULL;
}

static void team_init(struct rank ranks[RANKS])
{
    for (unsigned r = 0; r < RANKS; r++) {
        rank_init(&ranks[r], RANKS, RANKS);
        ranks[r].ctx.worker = r;
    }
}

/* Runs until all ranks are done; each then has its rc. */
static void team_live(struct rank ranks[RANKS])
{
    pthread_t thread[RANKS];
    struct barrier *barrier = mmap(NULL, sizeof(*barrier), PROT_READ | PROT_WRITE,
                                   MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    assert_true(barrier != MAP_FAILED);
    for (unsigned r = 0; r < RANKS; r++) {
        barrier_join(barrier, &ranks[r].view, r, RANKS, &ranks[r].peers);
        assert_int_equal(pthread_create(&thread[r], NULL, live, &ranks[r]), 0);
    }
    for (unsigned r = 0; r < RANKS; r++)
        assert_int_equal(pthread_join(thread[r], NULL), 0);
    (void)munmap(barrier, sizeof(*barrier));
}

static void team_free(struct rank ranks[RANKS])
{
    for (unsigned r = 0; r < RANKS; r++)
        free(ranks[r].ctx.values);
}

/* What rank 0 emitted for rank r; -1 = nothing. */
static double emitted(const struct rank *ranks, const char *metric, unsigned r)
{
    char key[DIMS_KEY_MAX];
    const struct value_log *log = ranks[0].ctx.values;
    put_text(key, "rank=%u", r);
    for (uint32_t i = 0; i < log->n; i++)
        if (strcmp(bench_train.metrics[log->value[i].metric].name, metric) == 0 &&
            stands_at(&bench_train, &log->value[i].dims, key))
            return log->value[i].value;
    return -1;
}

/* True if rank 1 was waited for, which holds if no other rank stalls. */
static bool names_rank_1(const struct rank *ranks)
{
    return emitted(ranks, "waited_for_share", 1) > 0.7 &&
           emitted(ranks, "waited_for_time", 1) > 0.010 && emitted(ranks, "wait_time", 0) > 0.010 &&
           emitted(ranks, "wait_time", 2) > 0.010 &&
           emitted(ranks, "wait_time", 1) < emitted(ranks, "wait_time", 0);
}

/*
 * Rank 1 sleeps 20 ms before each step, and the others need far less. On a busy machine this may
 * fail, so one of many runs must succeed.
 */
TEST(train_names_the_slow_rank)
{
    struct rank ranks[RANKS];
    double shares = 0;
    for (int tries = 0; tries < PATIENCE; tries++) {
        team_init(ranks);
        ranks[1].sleep_us = 20000;
        team_live(ranks);
        if (ranks[0].rc || tries == PATIENCE - 1 || names_rank_1(ranks))
            break;
        team_free(ranks);
    }
    for (unsigned r = 0; r < RANKS; r++) {
        if (ranks[r].rc)
            fail_msg("rank %u: %d %s", r, ranks[r].rc, ranks[r].err.msg);
        assert_true(r == 0 || ranks[r].ctx.values->n == 0);
        shares += emitted(ranks, "waited_for_share", r);
    }
    assert_true(shares > 0.999 && shares < 1.001);
    assert_true(names_rank_1(ranks));
    team_free(ranks);
}

/* 3 ranks, 1 MiB at 0.1 GB/s: 2 * 2/3 * 1048576 / 0.1e9 s = 13.98 ms. */
TEST(train_step_takes_the_ring_s_time)
{
    struct rank ranks[RANKS];
    team_init(ranks);
    for (unsigned r = 0; r < RANKS; r++)
        assert_int_equal(
            opts_set_pair(bench_train.opts, ranks[r].params, "sim_reduce_gbps=0.1", &ranks[r].err),
            0);
    team_live(ranks);
    for (unsigned r = 0; r < RANKS; r++) {
        assert_int_equal(ranks[r].rc, 0);
        assert_true(ranks[r].took_ns > 13980000);
    }
    team_free(ranks);
}

/* How many steps of 34 collected: a walk over 16 MiB takes far longer than the rest of a step. */
static unsigned count_collections(const struct rank *rank, unsigned first)
{
    unsigned n = 0;
    for (unsigned i = 0; i < rank->done; i++) {
        bool collected = rank->cpu_ns[i] > 2000000;
        n += collected;
        if (collected != (i % 16 == first))
            n += 100;
    }
    return n;
}

static void expect_collections(const char *when, unsigned each, unsigned apart)
{
    struct rank ranks[RANKS];
    team_init(ranks);
    for (unsigned r = 0; r < RANKS; r++) {
        ranks[r].steps = 32;
        assert_int_equal(opts_set_pair(bench_train.opts, ranks[r].params, "heap=16M", NULL), 0);
        assert_int_equal(opts_set_pair(bench_train.opts, ranks[r].params, when, NULL), 0);
    }
    team_live(ranks);
    for (unsigned r = 0; r < RANKS; r++) {
        assert_int_equal(ranks[r].rc, 0);
        assert_int_equal(count_collections(&ranks[r], each ? r * apart : 16),
                         r && apart ? 2 : each);
    }
    team_free(ranks);
}

/* Of 34 steps, every 16th collects: three steps from the first one on, or two from the others. */
TEST(train_collects_before_steps_of_its_own_or_the_same)
{
    unit_skip_emulated("any step takes 2 ms of CPU time");
    expect_collections("collect=own", 3, 5);
    expect_collections("collect=same", 3, 0);
    expect_collections("collect=frozen", 0, 0);
}

/* The harness ensures equal numbers of steps; otherwise different steps were compared. */
TEST(train_refuses_ranks_that_measured_other_steps)
{
    struct rank ranks[RANKS];
    team_init(ranks);
    ranks[2].warm_up++;
    ranks[2].steps--;
    team_live(ranks);
    for (unsigned r = 0; r < RANKS; r++) {
        assert_int_equal(ranks[r].rc, -EPROTO);
        assert_string_equal(ranks[r].err.msg, "rank 2 did 11 steps, rank 0 12");
    }
    assert_int_equal(ranks[0].ctx.values->n, 0);
    team_free(ranks);
}

TEST(train_alone_is_a_baseline_without_anybody_to_wait_for)
{
    struct rank one;
    rank_init(&one, 1, 2);
    (void)live(&one);
    if (one.rc)
        fail_msg("%s", one.err.msg);
    assert_true(one.ctx.values->n >= 2 && one.ctx.values->value[0].value == 5); /* regions */
    for (uint32_t i = 0; i < one.ctx.values->n; i++) /* no rank waits for another */
        assert_lacks(bench_train.metrics[one.ctx.values->value[i].metric].name, "wait");
    free(one.ctx.values);
}

TEST(train_of_one_worker_runs_without_a_sum)
{
    struct rank one;
    rank_init(&one, 1, 1);
    assert_int_equal(bench_train.probe(&one.ctx), 0);
    free(one.ctx.values);
}

TEST(train_needs_a_gpu_for_each_rank)
{
    struct rank two;
    static struct bench_machine machine = {.ngpus = 1};
    rank_init(&two, 2, 2);
    two.ctx.device = DEVICE_CUDA;
    two.ctx.machine = &machine;
    assert_int_equal(reduce_probe(&two.ctx), -ENOTSUP);
#ifdef CONTEND_HAVE_CUDA
    assert_has(two.err.msg, "2 workers needs a GPU for each; 1 visible");
#endif
    two.ctx.device = DEVICE_NONE;
    assert_int_equal(reduce_probe(&two.ctx), -ENOTSUP);
    free(two.ctx.values);
}

TEST(train_refuses_half_a_float)
{
    struct rank rank;
    rank_init(&rank, 2, 2);
    assert_int_equal(opts_set_pair(bench_train.opts, rank.params, "gradient=6", &rank.err), 0);
    assert_int_equal(bench_train.validate(rank.params, &rank.err), -EINVAL);
    assert_has(rank.err.msg, "gradient 6");
    assert_true(opts_set_pair(bench_train.opts, rank.params, "gradient=0", &rank.err) < 0);
    free(rank.ctx.values);
}

/* Three ranks, four steps, worked out by hand; in the last step all arrive at once. */
TEST(lateness_of_known_times)
{
    static const uint64_t arrived_ns[RANKS * 4] = {
        100, 230, 300, 400, /* rank 0 */
        110, 200, 350, 400, /* rank 1 */
        170, 210, 340, 400, /* rank 2 */
    };
    struct lateness ranks[RANKS] = {{0}};
    lateness_add(ranks, RANKS, arrived_ns, 4);
    assert_int_equal(ranks[0].last, 2); /* step 1 by 30, step 3 by 0 */
    assert_int_equal(ranks[0].late_ns, 30);
    assert_int_equal(ranks[0].wait_ns, 70 + 0 + 50);
    assert_int_equal(ranks[1].last, 1);
    assert_int_equal(ranks[1].late_ns, 50);
    assert_int_equal(ranks[1].wait_ns, 60 + 30 + 0);
    assert_int_equal(ranks[2].last, 1);
    assert_int_equal(ranks[2].late_ns, 70);
    assert_int_equal(ranks[2].wait_ns, 0 + 20 + 10);

    lateness_add(ranks, RANKS, arrived_ns, 4); /* chunks add up */
    assert_int_equal(ranks[2].late_ns, 140);
    assert_int_equal(ranks[1].wait_ns, 180);
}

/* Rank 0 is on another machine, whose clock is an hour ahead. */
static int gather_from_afar(struct peers *peers, const void *mine, void *all, size_t bytes,
                            struct err *err)
{
    const uint64_t hour_ns = 3600000000000;
    (void)peers, (void)err;
    memcpy((char *)all + bytes, mine, bytes);
    memcpy(all, mine, bytes);
    ((char *)all)[bytes - 20] ^= 1; /* within the machine's name, which ends both blocks */
    if (bytes > CLOCKS_ID) {
        uint64_t now_ns = clock_now_ns() + hour_ns;
        memcpy(all, &now_ns, sizeof(now_ns));
    }
    return 0;
}

TEST(train_of_two_machines_has_no_common_clock)
{
    struct peers peers = {.rank = 1, .size = 2, .gather = gather_from_afar};
    struct err err = {0};
    struct slice slice;
    bool is_one;
    struct bench_ctx ctx = {
        .peers = &peers, .planned_workers = 2, .workers = 2, .device = DEVICE_SIM, .err = &err};
    char id[CLOCKS_ID];
    clocks_id(id);
    if (!id[CLOCKS_ID - 20])
        skip(); /* the system has no boot id */
    assert_int_equal(clocks_ask(&ctx, &is_one), 0);
    assert_false(is_one);
    assert_int_equal(bench_train.probe(&ctx), -ENOTSUP);
    assert_has(err.msg, "no clock in common");
    assert_int_equal(slice_begin(&slice, &ctx, 1), 0);
    assert_true(slice.end_ns <= clock_now_ns() + 1000000000);
}
