/*
 * Regions by counting, the scan of one worker, and teams of plain threads, some larger than their
 * number of CPUs.
 */
#include <pthread.h>
#include <stdatomic.h>

#include "bench/cpu/grain.h"
#include "bench/registry.h"
#include "harness/lib/sys/affinity.h"
#include "kernels/cpu/regions.h"
#include "tests/lib/fixture_scan.h"
#include "tests/lib/patience.h"
#include "tests/lib/unit.h"

ON_THIS_MACHINE
static const char *const none[] = {NULL};

static void count_mark(void *marks)
{
    atomic_fetch_add((atomic_uint *)marks, 1);
}

TEST(regions_divide_all_steps)
{
    enum { THREADS = 3, STEPS = 1000 };
    static struct regions_thread thread[THREADS];
    atomic_uint marks = 0;
    unsigned team = regions_run(thread, THREADS, STEPS, count_mark, &marks);
    uint64_t sum = 0;
    assert_in_range(team, 1, THREADS);
    assert_int_equal(atomic_load(&marks), team);
    for (unsigned t = 0; t < THREADS; t++) {
        sum += thread[t].steps;
        assert_true(t >= team || thread[t].steps - STEPS / team <= 1);
        for (unsigned c = 0; c < BUSY_CHAINS; c++)
            assert_true(thread[t].chains[c] == busy_expect(0, thread[t].steps));
    }
    assert_int_equal(sum, STEPS);
}

/* The two values agree. The durations depend on the machine and its load: a process that shares a
 * core with the calibration alone halves the measured speed, and regions then look twice as
 * short. */
TEST(grain_alone)
{
    static const unsigned works_us[] = {4, 16, 64, 256, 1024, 4096};
    ENDED_BY(scan_end) struct scan scan;
    double before_us = 0;
    machine.ncpus = machine.ncpus > 2 ? 2 : machine.ncpus;
    scan_run(&scan, &bench_grain, &machine, none, 0.5);
    assert_true(scan_value(&scan, "grain_teams", "") == 1);
    for (size_t i = 0; i < sizeof(works_us) / sizeof(works_us[0]); i++) {
        char key[32];
        put_text(key, "us=%u", works_us[i]);
        double slowdown = scan_value(&scan, "region_slowdown", key);
        double time_us = scan_value(&scan, "region_time", key);
        double ideal_us = (double)works_us[i] / machine.ncpus;
        assert_true(fabs(slowdown * ideal_us - time_us) <= 1e-9 * time_us);
        assert_true(slowdown > 0.25);
        before_us = time_us > before_us ? time_us : before_us;
    }
    assert_true(before_us >= 0.25 * 4096 / machine.ncpus);
}

/* A point has no value if its region does not fit several times into its slice. */
TEST(grain_leaves_long_regions_out)
{
    ENDED_BY(scan_end) struct scan scan;
    scan_run(&scan, &bench_grain, &machine, none, 0.02);
    assert_true(isnan(scan_value(&scan, "region_time", "us=16384")));
    scan_end(&scan);
    scan_probe(&scan, &bench_grain, &machine, none);
    scan.ctx.budget_s = 1e-9;
    assert_int_equal(bench_open(&bench_grain, &scan.ctx), 0);
    assert_int_equal(bench_grain.scan(&scan.ctx), -ENOTSUP);
}

/* No thread passes a barrier before all threads have arrived. */
enum { MEMBERS = 3, MEETINGS = 40 };
static struct team_barrier barrier;
static atomic_uint came, early;

static void *meet(void *arg)
{
    for (unsigned meeting = 1; meeting <= MEETINGS; meeting++) {
        atomic_fetch_add(&came, 1);
        team_barrier_wait(&barrier);
        atomic_fetch_add(&early, atomic_load(&came) < meeting * MEMBERS);
    }
    return arg;
}

TEST(barrier_holds_until_all_have_come)
{
    for (enum team_wait wait = TEAM_SPIN; wait <= TEAM_FUTEX; wait++) {
        pthread_t threads[MEMBERS];
        barrier = (struct team_barrier){.n = MEMBERS, .wait = wait};
        atomic_store(&came, 0);
        for (unsigned t = 0; t < MEMBERS; t++)
            assert_int_equal(pthread_create(&threads[t], NULL, meet, NULL), 0);
        for (unsigned t = 0; t < MEMBERS; t++)
            assert_int_equal(pthread_join(threads[t], NULL), 0);
        assert_int_equal(atomic_load(&came), MEMBERS * MEETINGS);
        assert_int_equal(atomic_load(&early), 0);
    }
}

/* The time of the only region size, 64 us, in a team of plain threads. */
static double own_team_us(const char *wait, unsigned threads)
{
    ENDED_BY(scan_end) struct scan scan;
    unsigned least_team = 0;
    double time_us = NAN;
    int rc = scan_probe(&scan, &bench_grain, &machine, (const char *const[]){wait, "us=64", NULL});
    scan.ctx.budget_s = 0.2;
    scan.ctx.threads = threads;
    scan.ctx.least_team = &least_team;
    rc = rc ? rc : bench_open(&bench_grain, &scan.ctx);
    rc = rc ? rc : bench_grain.scan(&scan.ctx);
    rc = rc ? rc : bench_grain.check(&scan.ctx);
    if (rc)
        fail_msg("%s: %s", wait, scan.err.msg);
    assert_int_equal(least_team, threads);
    assert_true(scan_count(&scan, "region_time") <= 1);
    time_us = scan_value(&scan, "region_time", "us=64");
    return time_us;
}

/* Two threads on one CPU: each region costs a time slice of the spinning thread, milliseconds. */
TEST(grain_spins_only_where_it_is_asked)
{
    struct bitset before, one = {0};
    double ratio = 0;
    assert_int_equal(affinity_get(0, &before), 0);
    bitset_set(&one, machine.cpus[0].os_cpu);
    assert_int_equal(affinity_set(0, &one), 0);
    for (int tries = 0; tries < PATIENCE && !(ratio > 4); tries++)
        ratio = own_team_us("barrier=spin", 2) / own_team_us("barrier=futex", 2);
    assert_true(own_team_us("barrier=yield", 2) > 0);
    assert_int_equal(affinity_set(0, &before), 0);
    assert_true(ratio > 4);
}

TEST(grain_with_more_threads_than_cpus)
{
    static const char *const waits[] = {"barrier=spin", "barrier=yield", "barrier=futex"};
    for (size_t i = 0; i < sizeof(waits) / sizeof(waits[0]); i++)
        (void)own_team_us(waits[i], 2 * machine.ncpus + 1);
}

/* A requested size that does not fit is not replaced by smaller ones. */
TEST(grain_of_one_size_that_does_not_fit)
{
    ENDED_BY(scan_end) struct scan scan;
    assert_int_equal(
        scan_try(&scan, &bench_grain, &machine, (const char *const[]){"us=262144", NULL}, 0.02),
        -ENOTSUP);
    assert_string_equal(scan.err.msg, "too little time for a slice");
}
