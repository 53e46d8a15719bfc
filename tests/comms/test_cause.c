/* What the host did to a made-up late rank, by its looks and those of a rank that waits for it. */
#include "harness/comms/cause.h"

#include "tests/lib/unit.h"

enum { LOOKS = 50, STEP_MS = 20 };

static struct comms_look looks[2][LOOKS];
static struct comms_log logs[2];

/* What a rank has of each 20 ms; the rest is sleep. */
struct made {
    double cpu_ms, queue_ms, throttled_ms, process_ms;
    uint64_t faults, read_bytes;
};

static uint64_t ns(double ms, uint64_t times)
{
    return (uint64_t)(ms * 1e6) * times;
}

static struct comms_spent spent_of(int r, const struct made *made)
{
    for (uint64_t i = 0; i < LOOKS; i++)
        looks[r][i] = (struct comms_look){.stamp = i + 1,
                                          .time_ns = ns(STEP_MS, i + 1),
                                          .cpu_ns = ns(made->cpu_ms, i),
                                          .queue_ns = ns(made->queue_ms, i),
                                          .process_ns = ns(made->process_ms, i),
                                          .throttled_ns = ns(made->throttled_ms, i),
                                          .major_faults = made->faults * i,
                                          .read_bytes = made->read_bytes * i,
                                          .tid = 7,
                                          .cpus = 2};
    logs[r] = (struct comms_log){.nlooks = LOOKS, .look = looks[r]};
    return comms_spent_find(&logs[r], 0, 0, UINT64_MAX);
}

static const struct made spins = {.cpu_ms = 20}, blocks = {.cpu_ms = 10};

static const struct {
    struct made late;
    const struct made *first;
    const char *cause, *text;
} cases[] = {
    {{.cpu_ms = 12, .queue_ms = 8, .process_ms = 40}, &spins, "run_queue", "all of its 2 CPUs"},
    {{.cpu_ms = 12, .queue_ms = 8, .process_ms = 12},
     &blocks,
     "run_queue",
     "other processes use its CPUs"},
    {{.cpu_ms = 12, .queue_ms = 8, .throttled_ms = 8}, &spins, "throttled", "quota"},
    {{.cpu_ms = 12, .throttled_ms = 8}, &spins, "throttled", "40%"}, /* newer kernels */
    {{.cpu_ms = 12, .throttled_ms = 80}, &spins, "throttled", "40%"},
    {{.cpu_ms = 12}, &spins, "sleep", "a lock"},
    {{.cpu_ms = 12, .process_ms = 39}, &spins, "sleep", "all of its 2 CPUs"},
    {{.cpu_ms = 12, .faults = 3}, &spins, "sleep", "page faults"},
    {{.cpu_ms = 12, .read_bytes = 4000000}, &spins, "sleep", "200 MB/s from disk"},
    {{.cpu_ms = 19}, &blocks, "cpu", "more work"},
    {{.cpu_ms = 20}, &spins, "cpu", "which waits, for 100%"},
    {{.cpu_ms = 10}, &blocks, "", ""},                                  /* either may be the wait */
    {{.cpu_ms = 10, .queue_ms = 7, .throttled_ms = 3}, &spins, "", ""}, /* several */
};

TEST(cause_is_the_part_that_the_late_rank_has_more)
{
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const struct comms_spent late = spent_of(0, &cases[i].late);
        const struct comms_spent first = spent_of(1, cases[i].first);
        const struct comms_cause cause = comms_cause_find(&late, &first, 0.4);
        assert_string_equal(comms_cause_name(cause.part), cases[i].cause);
        if (cause.part != COMMS_PARTS)
            assert_non_null(strstr(comms_cause_text(&cause, &late, &first, 3), cases[i].text));
    }
}

/* The parts sum up to the time, also if two threads run at once or the quota stops other CPUs. */
TEST(cause_splits_the_whole_time)
{
    static const struct made made[] = {{.cpu_ms = 30, .queue_ms = 10, .throttled_ms = 3},
                                       {.cpu_ms = 5, .queue_ms = 5, .throttled_ms = 100},
                                       {0}};
    for (size_t i = 0; i < sizeof(made) / sizeof(made[0]); i++) {
        const struct comms_spent spent = spent_of(0, &made[i]);
        double sum = 0;
        for (int part = 0; part < COMMS_PARTS; part++) {
            assert_true(spent.share[part] >= 0);
            sum += spent.share[part];
        }
        assert_true(fabs(sum - 1) < 1e-9);
        assert_true(fabs(spent.seconds - (LOOKS - 1) * STEP_MS * 1e-3) < 1e-9);
    }
}

/* Chance: a rank that is behind by much has hardly any extra time. */
TEST(cause_is_not_chance)
{
    const struct made queued = {.cpu_ms = 19.8, .queue_ms = 0.2};
    const struct comms_spent late = spent_of(0, &queued), first = spent_of(1, &spins);
    assert_string_equal(comms_cause_name(comms_cause_find(&late, &first, 0.5).part), "cpu");
    assert_string_equal(comms_cause_name(comms_cause_find(&late, &first, 0.01).part), "run_queue");
}

/* Only the thread with most looks, its member's, and within the time. */
TEST(cause_needs_looks_of_one_thread)
{
    (void)spent_of(0, &spins);
    for (int i = 0; i < LOOKS; i += 3)
        looks[0][i] = (struct comms_look){.tid = 8, .time_ns = looks[0][i].time_ns};
    assert_true(fabs(comms_spent_find(&logs[0], 0, 0, UINT64_MAX).share[COMMS_ON_CPU] - 1) < 1e-9);
    assert_true(comms_spent_find(&logs[0], 1, 0, UINT64_MAX).seconds == 0);
    assert_true(comms_spent_find(&logs[0], 0, 0, ns(100, 1)).seconds == 0);
    logs[0].nlooks = 0; /* a log of version 3 */
    const struct comms_spent none = comms_spent_find(&logs[0], 0, 0, UINT64_MAX);
    assert_int_equal(comms_cause_find(&none, &none, 0.4).part, COMMS_PARTS);
}
