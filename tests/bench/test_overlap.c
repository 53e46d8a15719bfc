/* Batches on several GPUs at once, with made-up GPUs and a made-up clock. */
#include "bench/gpu/gpu_set.h"
#include "tests/lib/unit.h"

enum { GPUS = 3, DEPTH = 2 };

#define MS(n) (UINT64_C(1000000) * (n))

struct fake {
    uint64_t now_ns;
    struct fake_gpu {
        uint64_t batch_ns, free_ns,
            waited_ns; /* of a batch; when the queue is empty; time without work */
        uint64_t begin_ns[DEPTH], end_ns[DEPTH];
        bool queued[DEPTH];
        uint64_t first_ns, last_ns; /* begin and end of the counted batches */
        unsigned taken, counted;
    } gpu[GPUS];
    uint64_t end_ns; /* end of the counted time; no GPU gets work after it */
    unsigned naps, looks;
    int fails; /* error of GPU 0 when its first batch is taken */
};

static uint64_t fake_now(void *arg)
{
    struct fake *fake = arg;
    return fake->now_ns;
}

static int fake_queue(void *arg, unsigned gpu, unsigned slot)
{
    struct fake *fake = arg;
    struct fake_gpu *g = &fake->gpu[gpu];
    assert_true(slot < DEPTH && !g->queued[slot]);
    assert_true(fake->now_ns < fake->end_ns);
    if (g->free_ns && fake->now_ns > g->free_ns)
        g->waited_ns += fake->now_ns - g->free_ns;
    g->begin_ns[slot] = fake->now_ns > g->free_ns ? fake->now_ns : g->free_ns;
    g->free_ns = g->end_ns[slot] = g->begin_ns[slot] + g->batch_ns;
    g->queued[slot] = true;
    return 0;
}

static int fake_done(void *arg, unsigned gpu, unsigned slot, bool *done)
{
    struct fake *fake = arg;
    assert_true(fake->gpu[gpu].queued[slot]);
    *done = fake->now_ns >= fake->gpu[gpu].end_ns[slot];
    return 0;
}

static int fake_take(void *arg, unsigned gpu, unsigned slot, bool counts)
{
    struct fake *fake = arg;
    struct fake_gpu *g = &fake->gpu[gpu];
    assert_true(g->queued[slot]);
    g->queued[slot] = false;
    g->taken++;
    if (gpu == 0 && fake->fails)
        return fake->fails;
    if (!counts)
        return 0;
    if (g->counted++ == 0)
        g->first_ns = g->begin_ns[slot];
    g->last_ns = g->end_ns[slot];
    return 0;
}

static void fake_idle(void *arg, bool counts)
{
    struct fake *fake = arg;
    fake->looks += counts;
    fake->naps += !counts;
    fake->now_ns += MS(1) / 2;
}

static const struct gpu_overlap_ops fake_ops = {.queue = fake_queue,
                                                .done = fake_done,
                                                .take = fake_take,
                                                .idle = fake_idle,
                                                .now_ns = fake_now};

/* Batches of that many ms on GPUs 0 and 2; 100 ms to settle, 300 ms that count. */
static int run(struct fake *fake, uint64_t first_ms, uint64_t second_ms, unsigned depth)
{
    *fake = (struct fake){.now_ns = MS(1000), .end_ns = MS(1400), .fails = fake->fails};
    fake->gpu[0].batch_ns = MS(first_ms);
    fake->gpu[2].batch_ns = MS(second_ms);
    const struct gpu_overlap overlap = {.gpu = {0, 2},
                                        .ngpus = 2,
                                        .depth = depth,
                                        .settle_s = 0.1,
                                        .count_s = 0.3,
                                        .ops = &fake_ops,
                                        .arg = fake};
    return gpu_overlap_run(&overlap);
}

TEST(overlap_never_lets_a_fast_gpu_wait_for_a_slow_one)
{
    struct fake fake = {0};
    assert_int_equal(run(&fake, 7, 40, DEPTH), 0);
    assert_int_equal(fake.gpu[0].waited_ns, 0);
    assert_int_equal(fake.gpu[2].waited_ns, 0);
    assert_true(fake.gpu[0].taken > 5 * fake.gpu[2].taken);
    assert_int_equal(fake.gpu[1].taken, 0);
}

/* Both GPUs fill the counted time except a batch at either end; nothing outside counts. */
TEST(overlap_counts_what_lies_within_the_time_of_all)
{
    struct fake fake = {0};
    assert_int_equal(run(&fake, 7, 40, DEPTH), 0);
    for (unsigned gpu = 0; gpu < GPUS; gpu += 2) {
        const struct fake_gpu *g = &fake.gpu[gpu];
        assert_true(g->first_ns >= MS(1099) && g->last_ns <= MS(1400));
        assert_true(g->last_ns - g->first_ns == g->counted * g->batch_ns);
        assert_true(g->last_ns - g->first_ns + 2 * g->batch_ns >= MS(300));
    }
    assert_true(fake.naps >= 100 && fake.looks >= 400);
}

TEST(overlap_counts_one_batch_that_is_too_long)
{
    struct fake fake = {0};
    for (unsigned depth = 1; depth <= DEPTH; depth++) {
        assert_int_equal(run(&fake, 500, 10, depth), 0);
        assert_int_equal(fake.gpu[0].taken, depth);
        assert_int_equal(fake.gpu[0].counted, 1);
        assert_true(fake.looks >= (fake.gpu[0].last_ns - MS(1101)) / (MS(1) / 2) / 2);
        assert_true(fake.gpu[0].last_ns == MS(1000 + 500 * depth));
        assert_true(fake.gpu[2].counted > 20 && fake.gpu[2].last_ns <= MS(1400));
    }
}

/* The failing GPU gets no further calls. The other GPU's batches finish, and are taken. */
TEST(overlap_leaves_nothing_under_way_beside_a_gpu_that_fails)
{
    struct fake fake = {.fails = -EIO};
    assert_int_equal(run(&fake, 7, 40, DEPTH), -EIO);
    assert_int_equal(fake.gpu[0].taken, 1);
    assert_true(fake.gpu[0].queued[0] || fake.gpu[0].queued[1]);
    assert_int_equal(fake.gpu[2].taken, DEPTH);
    assert_false(fake.gpu[2].queued[0] || fake.gpu[2].queued[1]);
}

TEST(groups_are_each_gpu_and_then_all)
{
    assert_int_equal(gpu_groups(1), 1);
    assert_int_equal(gpu_groups(4), 5);
    for (unsigned i = 0; i < 4; i++) {
        struct gpu_group group = gpu_group_at(4, i);
        assert_true(group.first == i && group.end == i + 1 && !group.all);
    }
    struct gpu_group all = gpu_group_at(4, 4);
    assert_true(all.first == 0 && all.end == 4 && all.all);
    assert_false(gpu_group_at(1, 0).all);
}

TEST(settling_has_a_least_time)
{
    assert_true(gpu_settle_s(0) == 0.1);
    assert_true(gpu_settle_s(0.097) == 0.1);
    assert_true(gpu_settle_s(1.5) == 0.5);
}
