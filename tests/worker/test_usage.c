/* What a worker used between two moments: what was not read at both is unknown, and nothing else.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <string.h>
#include <unistd.h>

#include "harness/worker/perf.h"
#include "harness/worker/usage.h"

static void test_usage_diff_knows_what_both_moments_know(void **state)
{
    (void)state;
    struct usage_snapshot go = {
        .nthreads = 1,
        .thread = {{.tid = 7, .oncpu_ns = 1000000000, .runqueue_ns = 5}},
        .has_schedstat = true,
        .so_far = {.voluntary_switches = 3, .migrations = NAN, .cycles = 100, .instructions = NAN},
    };
    struct usage_snapshot end = {
        .nthreads = 1,
        .thread = {{.tid = 7, .oncpu_ns = 1500000000, .runqueue_ns = 250000005}},
        .has_schedstat = true,
        .so_far = {.voluntary_switches = 8, .migrations = 2, .cycles = 350, .instructions = 9},
    };
    struct usage usage;
    usage_diff(&go, &end, 0, 1000000000, NULL, &usage);
    assert_true(usage.wall_s == 1);
    assert_true(fabs(usage.oncpu_s - 0.5) < 1e-9);
    assert_true(fabs(usage.runqueue_s - 0.25) < 1e-9);
    assert_true(fabs(usage.blocked_s - 0.25) < 1e-9);
    assert_true(usage.voluntary_switches == 5 && usage.cycles == 250);
    assert_true(isnan(usage.migrations) && isnan(usage.instructions) && isnan(usage.cpus_visited));
    assert_int_equal(usage.team_threads, 1);
}

/* Of a field that is not read at all, a difference would be a number. */
static void test_usage_read_leaves_counters_unknown(void **state)
{
    (void)state;
    struct usage_snapshot snapshot;
    struct perf refused;
    memset(&refused, -1, sizeof(refused));
    usage_read(0, NULL, &snapshot);
    perf_read(&refused, &snapshot);
    assert_true(snapshot.at_ns > 0);
    assert_int_equal(snapshot.nthreads, 1);
    assert_int_equal(snapshot.thread[0].tid, getpid());
    assert_true(snapshot.so_far.minor_faults > 0);
    assert_true(snapshot.so_far.voluntary_switches >= 0);
    assert_true(isnan(snapshot.so_far.wall_s) && isnan(snapshot.so_far.cache_misses));
}

static void test_usage_fields_name_their_values(void **state)
{
    (void)state;
    const struct usage usage = {.wall_s = 1, .cpus_visited = 2, .cache_misses = 3};
    double wall_s = NAN, cpus = NAN, misses = NAN;
    for (const struct usage_field *field = usage_fields; field->name; field++) {
        if (!strcmp(field->name, "wall_s"))
            wall_s = usage_get(&usage, field);
        if (field->metric && !strcmp(field->metric, "cpus_visited") && !field->per_step)
            cpus = usage_get(&usage, field);
        if (field->metric && !strcmp(field->metric, "cache_misses_per_step") && field->per_step)
            misses = usage_get(&usage, field);
    }
    assert_true(wall_s == 1 && cpus == 2 && misses == 3);
}

/* All CPUs one by one are what the system says of all, but for what passes between the readings. */
static void test_usage_machine_is_of_the_cpus_asked_for(void **state)
{
    (void)state;
    struct bitset all = {0}, first = {0};
    struct usage_machine whole, sum, one;
    for (unsigned cpu = 0; cpu < BITSET_BITS; cpu++)
        bitset_set(&all, cpu);
    bitset_set(&first, 0);
    usage_machine_read(NULL, &whole);
    usage_machine_read(&all, &sum);
    usage_machine_read(&first, &one);
    assert_true(whole.cpu_s > 0 && whole.busy_s > 0 && whole.steal_s >= 0);
    assert_true(sum.cpu_s > 0.98 * whole.cpu_s && sum.cpu_s < 1.02 * whole.cpu_s + 1);
    if (sysconf(_SC_NPROCESSORS_ONLN) > 1)
        assert_true(one.cpu_s > 0 && one.cpu_s < 0.9 * sum.cpu_s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_usage_machine_is_of_the_cpus_asked_for),
        cmocka_unit_test(test_usage_diff_knows_what_both_moments_know),
        cmocka_unit_test(test_usage_read_leaves_counters_unknown),
        cmocka_unit_test(test_usage_fields_name_their_values),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
