/* The orders that workers get for a round. */
#include "harness/engine/observe.h"
#include "tests/lib/unit.h"

enum { WORKERS = 2 };

/* The orders of two workers: returns their common round_seed and stores their own seeds. */
static uint64_t orders_of(uint64_t run_seed, unsigned round, uint64_t seeds[WORKERS])
{
    static const struct bench bench = {.name = "none"};
    static struct topo topo;
    struct plan_worker workers[WORKERS] = {{.gpu = -1}, {.gpu = -1}};
    struct arm arm = {.bench = &bench, .workers = WORKERS, .planned_workers = WORKERS};
    arm.plan.workers = workers;
    arm.plan.nworkers = WORKERS;
    const struct result run = {.seed = run_seed};
    const struct observe_config config = {.topo = &topo, .run = &run};
    struct observer o = {.config = &config, .arm = &arm, .round = round};
    int fd = -1;
    o.nworkers = o.foreground = o.first_background = WORKERS;
    o.shared = shared_create(WORKERS, &fd, NULL);
    assert_non_null(o.shared);
    observe_write_orders(&o);
    uint64_t round_seed = o.shared->worker[0].round_seed;
    for (unsigned i = 0; i < WORKERS; i++) {
        assert_int_equal(o.shared->worker[i].round_seed, round_seed);
        seeds[i] = o.shared->worker[i].seed;
    }
    shared_destroy(o.shared);
    (void)close(fd);
    return round_seed;
}

TEST(orders_draw_a_seed_for_each_round)
{
    uint64_t seeds[WORKERS], seeds_then[WORKERS];
    uint64_t first = orders_of(5, 0, seeds), second = orders_of(5, 1, seeds_then);
    assert_true(first != second);
    assert_true(first == orders_of(5, 0, seeds_then));
    assert_true(second != orders_of(6, 1, seeds_then));
    /* A worker's own seed depends on the run alone. */
    assert_true(second == orders_of(5, 1, seeds_then));
    assert_true(seeds[0] != seeds[1]);
    assert_memory_equal(seeds, seeds_then, sizeof(seeds));
}

/* A baseline gets the slice of another slot, but data and team position of a worker that is
 * alone. */
TEST(orders_give_a_baseline_its_slice)
{
    static const struct bench bench = {.name = "none"};
    static struct topo topo;
    struct plan_worker workers[WORKERS] = {{.gpu = -1, .threads = 3}, {.gpu = -1, .threads = 4}};
    struct arm arm = {
        .bench = &bench, .workers = 1, .planned_workers = WORKERS, .is_baseline = true};
    arm.plan.workers = workers;
    arm.plan.nworkers = WORKERS;
    const struct result run = {.seed = 5};
    const struct observe_config config = {.topo = &topo, .run = &run};
    struct observer o = {.config = &config, .arm = &arm, .slot = 1};
    int fd = -1;
    o.nworkers = o.foreground = 1;
    o.shared = shared_create(1, &fd, NULL);
    assert_non_null(o.shared);
    observe_write_orders(&o);
    assert_int_equal(o.shared->worker[0].plan.threads, 4);
    assert_int_equal(o.shared->worker[0].index, 0);
    assert_int_equal(o.shared->worker[0].team, 1);
    shared_destroy(o.shared);
    (void)close(fd);
}
