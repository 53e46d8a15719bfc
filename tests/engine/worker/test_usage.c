/* What a worker used between two readings: a value that either reading lacks is unknown. */
#include <pthread.h>

#include "harness/engine/contract/device.h"
#include "harness/engine/worker/usage.h"
#include "harness/lib/sys/affinity.h"
#include "harness/lib/sys/clock.h"
#include "harness/lib/sys/task.h"
#include "tests/lib/unit.h"

TEST(usage_diff_knows_what_both_moments_know)
{
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

/* One second of two threads, each of which ran 0.25 s and waited 0.5 s. */
static struct usage usage_with_quota(double own_s, double shared_s, unsigned sharers,
                                     bool has_schedstat)
{
    struct usage_snapshot go = {.nthreads = 2,
                                .thread = {{.tid = 7}, {.tid = 8}},
                                .throttled = {.own_s = 1, .shared_s = 2},
                                .sharers = sharers,
                                .has_schedstat = has_schedstat};
    struct usage_snapshot end = go;
    for (int i = 0; i < 2; i++) {
        end.thread[i].oncpu_ns = 250000000;
        end.thread[i].runqueue_ns = has_schedstat ? 500000000 : 0;
    }
    end.throttled = (struct cgroup_throttled){.own_s = 1 + own_s, .shared_s = 2 + shared_s};
    struct usage usage;
    usage_diff(&go, &end, 0, 1000000000, NULL, &usage);
    double parts_s = usage.oncpu_s + usage.blocked_s;
    parts_s += isnan(usage.runqueue_s) ? 0 : usage.runqueue_s;
    parts_s += isnan(usage.throttled_s) ? 0 : usage.throttled_s;
    assert_true(fabs(parts_s - 1) < 1e-9); /* for all values */
    return usage;
}

TEST(usage_throttled_is_taken_out_of_the_wait)
{
    struct usage usage = usage_with_quota(0.4, NAN, 2, true);
    assert_true(fabs(usage.throttled_s - 0.2) < 1e-9 && fabs(usage.runqueue_s - 0.3) < 1e-9);
    usage = usage_with_quota(NAN, 0.4, 2, true); /* half of it stopped the other worker */
    assert_true(fabs(usage.throttled_s - 0.1) < 1e-9 && fabs(usage.runqueue_s - 0.4) < 1e-9);
    usage =
        usage_with_quota(0.4, 1.2, 2, true); /* nested cgroups stop at the same time: not the sum */
    assert_true(fabs(usage.throttled_s - 0.3) < 1e-9 && fabs(usage.runqueue_s - 0.2) < 1e-9);
    usage =
        usage_with_quota(9, NAN, 1, true); /* the cgroup also stopped other threads of the worker */
    assert_true(fabs(usage.throttled_s - 0.5) < 1e-9 && fabs(usage.runqueue_s) < 1e-9);
    usage = usage_with_quota(0.4, NAN, 1, false); /* run-queue wait is part of blocked time */
    assert_true(fabs(usage.throttled_s - 0.2) < 1e-9 && fabs(usage.blocked_s - 0.55) < 1e-9);
    usage = usage_with_quota(NAN, NAN, 2, true);
    assert_true(isnan(usage.throttled_s) && fabs(usage.runqueue_s - 0.5) < 1e-9);
    usage = usage_with_quota(0.4, NAN, 0, true); /* no reading */
    assert_true(isnan(usage.throttled_s) && fabs(usage.runqueue_s - 0.5) < 1e-9);
}

/* A field that is never read must stay unknown; a difference of zeros would look like a value. */
TEST(usage_read_leaves_counters_unknown)
{
    unit_skip_emulated("qemu makes up /proc/self/stat");
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

/* Long, since a virtual machine may count time in which it did not run as CPU time. */
enum { HELPER_NS = 100000000 };

static void burn(uint64_t cpu_ns)
{
    uint64_t end_ns = clock_thread_cpu_ns() + cpu_ns;
    while (clock_thread_cpu_ns() < end_ns)
        ;
}

static pthread_barrier_t burnt, seen;

static void *help(void *arg)
{
    burn(HELPER_NS);
    (void)pthread_barrier_wait(&burnt);
    (void)pthread_barrier_wait(&seen); /* threads that ended are in no list */
    return NULL;
}

static void *work(void *cpu_samples)
{
    cpu_samples_mark(cpu_samples);
    return help(NULL);
}

/* CPU time of threads that the benchmark did not make: neither the first thread nor the team. */
static double helper_s(void *(*thread)(void *), struct cpu_samples *cpu_samples)
{
    static struct usage_snapshot go, end;
    struct usage usage;
    pthread_t other;
    assert_int_equal(pthread_barrier_init(&burnt, NULL, 2) | pthread_barrier_init(&seen, NULL, 2),
                     0);
    usage_read(0, cpu_samples, &go);
    assert_int_equal(pthread_create(&other, NULL, thread, cpu_samples), 0);
    burn(2 * (uint64_t)HELPER_NS);
    (void)pthread_barrier_wait(&burnt);
    burn(HELPER_NS / 3); /* the other thread sleeps by then, so its usage is known */
    usage_read(0, cpu_samples, &end);
    (void)pthread_barrier_wait(&seen);
    assert_int_equal(pthread_join(other, NULL), 0);
    usage_diff(&go, &end, 0, 1000000000, cpu_samples, &usage);
    (void)pthread_barrier_destroy(&seen);
    (void)pthread_barrier_destroy(&burnt);
    return usage.helper_cpu_s;
}

TEST(usage_helpers_are_threads_of_others)
{
    static struct cpu_samples cpu_samples;
    cpu_samples_mark(&cpu_samples);
    double expected_s = HELPER_NS * 1e-9;
    double used_s = helper_s(help, &cpu_samples);
    assert_true(used_s > 0.5 * expected_s && used_s < 1.8 * expected_s);
    assert_true(helper_s(work, &cpu_samples) < 0.5 * expected_s);
}

static void *register_and_end(void *cpu_samples)
{
    cpu_samples_mark(cpu_samples);
    return NULL;
}

/* Its counters are gone: taken for 0 they would be a wait of the whole time. */
TEST(usage_leaves_out_a_team_thread_that_has_ended)
{
    static struct cpu_samples cpu_samples;
    static struct usage_snapshot snapshot;
    pthread_t other;
    assert_int_equal(pthread_create(&other, NULL, register_and_end, &cpu_samples), 0);
    assert_int_equal(pthread_join(other, NULL), 0);
    assert_int_equal(atomic_load(&cpu_samples.threads), 1);
    do { /* the kernel removes it a moment later; then the first thread stands for the team */
        usage_read(0, &cpu_samples, &snapshot);
        assert_int_equal(snapshot.nthreads, 1);
    } while (snapshot.thread[0].tid != getpid());
    struct task_times times;
    assert_true(task_read_times(getpid(), getpid(), &times));
    assert_int_equal(snapshot.has_schedstat, times.has_wait);
}

TEST(usage_fields_name_their_values)
{
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

/* Seconds of all CPUs together, busy or idle, from the total of /proc/stat. */
static double total_cpu_s(void)
{
    double t[8], total = 0;
    FILE *stat = fopen("/proc/stat", "re");
    assert_non_null(stat);
    assert_int_equal(fscanf(stat, "cpu %lf %lf %lf %lf %lf %lf %lf %lf", &t[0], &t[1], &t[2], &t[3],
                            &t[4], &t[5], &t[6], &t[7]),
                     8);
    (void)fclose(stat);
    for (int i = 0; i < 8; i++)
        total += t[i];
    return total / (double)sysconf(_SC_CLK_TCK);
}

/* The sum over all CPUs equals the system's total, except for the time between the readings. */
TEST(usage_machine_is_of_the_cpus_asked_for)
{
    struct bitset all = {0}, first = {0};
    struct usage_machine sum, one;
    assert_int_equal(affinity_get(0, &all), 0);
    if ((long)bitset_count(&all) != sysconf(_SC_NPROCESSORS_ONLN))
        skip();
    bitset_set(&first, (unsigned)bitset_next(&all, 0));
    double whole_s = total_cpu_s();
    usage_machine_read(&all, &sum);
    usage_machine_read(&first, &one);
    assert_true(sum.cpu_s > 0 && sum.busy_s > 0 && sum.steal_s >= 0);
    assert_true(sum.cpu_s > 0.98 * whole_s && sum.cpu_s < 1.02 * whole_s + 1);
    if (sysconf(_SC_NPROCESSORS_ONLN) > 1)
        assert_true(one.cpu_s > 0 && one.cpu_s < 0.9 * sum.cpu_s);
    bitset_set(&first, BITSET_BITS - 1); /* lxcfs shows another CPU under that number */
    usage_machine_read(&first, &one);
    assert_true(isnan(one.cpu_s) && isnan(one.busy_s) && isnan(one.steal_s));
}
