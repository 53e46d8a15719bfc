#include <inttypes.h>

#include <numaif.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>

#include "bench/common/memory_node.h"
#include "bench/device/device.h"
#include "bench/device/device_sim.h"
#include "harness/lib/sys/clock.h"
#include "tests/lib/patience.h"
#include "tests/lib/unit.h"

/* 1 MB over 0.1 GB/s: 10 ms of transfer, and 10 ms of work. */
static const struct device_config slow = {.kind = DEVICE_SIM,
                                          .pci_bdf = "",
                                          .rows = 1000,
                                          .cols = 250,
                                          .slots = 3,
                                          .work = 2,
                                          .pinned = true,
                                          .sim_gbps = 0.1,
                                          .sim_work_us = 5000};

static const uint64_t transfer_ns = 10000000, work_ns = 10000000;

static void open_queue(struct device_queue *queue, const struct device_config *config)
{
    struct err err = {0};
    if (device_open(queue, config, &err))
        fail_msg("%s", err.msg);
    for (unsigned s = 0; s < config->slots; s++)
        memset(device_host_buffer(queue, s), 0, config->rows * config->cols * sizeof(float));
}

/* Submits slots 0..count-1 at once and waits for all; returns the time from submit to end. */
static uint64_t run_batches(struct device_queue *queue, unsigned count)
{
    uint64_t start_ns = clock_now_ns();
    for (unsigned s = 0; s < count; s++)
        assert_int_equal(device_submit(queue, s, NULL), 0);
    for (unsigned s = 0; s < count; s++) {
        struct device_took took = {0};
        assert_int_equal(device_wait(queue, s, &took, NULL), 0);
        assert_true(took.copy_ns > 0);
        assert_int_equal(took.work_ns, work_ns);
    }
    return clock_now_ns() - start_ns;
}

/* The best of many tries takes `model_ns`: the machine may be busy, the model never early. */
static void assert_takes(const struct device_config *config, unsigned count, uint64_t model_ns)
{
    ENDED_BY(device_close) struct device_queue queue;
    uint64_t best_ns = UINT64_MAX;
    open_queue(&queue, config);
    for (int tries = 0; tries < PATIENCE && best_ns >= model_ns + model_ns / 2; tries++) {
        uint64_t took_ns = run_batches(&queue, count);
        assert_true(took_ns >= model_ns);
        best_ns = took_ns < best_ns ? took_ns : best_ns;
    }
    assert_true(best_ns < model_ns + model_ns / 2);
}

TEST(device_sim_one_batch_takes_transfer_and_work)
{
    assert_takes(&slow, 1, transfer_ns + work_ns);
}

TEST(device_sim_copy_overlaps_work_but_engines_are_in_order)
{
    assert_takes(&slow, 3, transfer_ns + 3 * work_ns);
}

TEST(device_sim_link_limits_when_it_is_slower)
{
    struct device_config config = slow;
    config.sim_gbps = 0.05;
    assert_takes(&config, 3, 3 * 2 * transfer_ns + work_ns);
}

TEST(device_sim_engines_rest_between_late_batches)
{
    ENDED_BY(device_close) struct device_queue queue;
    open_queue(&queue, &slow);
    (void)run_batches(&queue, 3);
    assert_true(run_batches(&queue, 1) >= transfer_ns + work_ns);
}

/* CPU time of submitting and waiting for one batch of 20 ms. */
static uint64_t cpu_of_one_batch(const struct device_config *config)
{
    ENDED_BY(device_close) struct device_queue queue;
    open_queue(&queue, config);
    uint64_t start_ns = clock_thread_cpu_ns();
    (void)run_batches(&queue, 1);
    uint64_t used_ns = clock_thread_cpu_ns() - start_ns;
    return used_ns;
}

/* The least of a few batches is at most `most_ns`; stolen time may count as CPU time. */
static bool takes_at_most(const struct device_config *config, uint64_t most_ns)
{
    for (int i = 0; i < 50; i++)
        if (cpu_of_one_batch(config) <= most_ns)
            return true;
    return false;
}

/* Time that this thread has waited for a CPU; 0 if the kernel does not report it. */
static uint64_t run_queue_ns(void)
{
    uint64_t waited_ns = 0;
    FILE *file = fopen("/proc/thread-self/schedstat", "r");
    if (file && fscanf(file, "%*u %" SCNu64, &waited_ns) != 1)
        waited_ns = 0;
    if (file)
        (void)fclose(file);
    return waited_ns;
}

/* The most of a few batches: time on a CPU or, on a busy machine, in its run queue. */
static bool asks_for_at_least(const struct device_config *config, uint64_t least_ns)
{
    for (int i = 0; i < PATIENCE; i++) {
        uint64_t waited_ns = run_queue_ns();
        uint64_t used_ns = cpu_of_one_batch(config);
        if (used_ns + run_queue_ns() - waited_ns >= least_ns)
            return true;
    }
    return false;
}

TEST(device_sim_blocking_wait_uses_no_cpu)
{
    assert_true(takes_at_most(&slow, (transfer_ns + work_ns) / 20));
}

static int slack_asleep_ns; /* timer slack of the last thread that slept */

/* Replaces the library's function: how late a sleep ends says more about the machine's load. */
int clock_nanosleep(clockid_t clock, int flags, const struct timespec *until, struct timespec *left)
{
    slack_asleep_ns = prctl(PR_GET_TIMERSLACK);
    return syscall(SYS_clock_nanosleep, clock, flags, until, left) ? errno : 0;
}

/* The default timer slack of 50 us would be a quarter of a pass of the default 200 us. */
TEST(device_sim_blocking_wait_asks_to_be_on_time)
{
    const int usual_ns = prctl(PR_GET_TIMERSLACK);
    assert_int_not_equal(usual_ns, 1);
    uint64_t until_ns = clock_now_ns() + 5000000;
    slack_asleep_ns = -1;
    device_sim_wait_until(until_ns, false, NULL);
    assert_true(clock_now_ns() >= until_ns);
    if (slack_asleep_ns < 0)
        skip(); /* delayed so much that the wait found the batch done */
    assert_int_equal(slack_asleep_ns, 1);
    assert_int_equal(prctl(PR_GET_TIMERSLACK), usual_ns);
}

/* Counts how much longer than asked the sleeps took; nothing if it spins or is too late. */
TEST(device_sim_counts_its_sleeps)
{
    ENDED_BY(device_close) struct device_queue queue;
    struct device_config config = slow;
    open_queue(&queue, &config);
    uint64_t took_ns = 0;
    for (int i = 0; i < 5; i++) /* a try that comes too late does not sleep */
        took_ns += run_batches(&queue, 1);
    struct device_sleep slept = device_slept(&queue);
    assert_in_range(slept.asked_ns, 1, 5 * (transfer_ns + work_ns));
    assert_in_range(slept.over_ns, 1, took_ns - slept.asked_ns);
    device_sim_wait_until(clock_now_ns() - 1, false, &slept);
    assert_true(slept.asked_ns == device_slept(&queue).asked_ns);
    device_close(&queue);
    config.spin = true;
    open_queue(&queue, &config);
    (void)run_batches(&queue, 1);
    assert_true(device_slept(&queue).asked_ns == 0 && device_slept(&queue).over_ns == 0);
}

TEST(device_sim_spinning_wait_burns_cpu)
{
    struct device_config config = slow;
    config.spin = true;
    assert_true(asks_for_at_least(&config, (transfer_ns + work_ns) / 2));
}

/* 64 MB through the staging buffer take milliseconds of a CPU; pinned memory takes none. */
TEST(device_sim_pageable_copy_costs_cpu)
{
    struct device_config config = slow;
    config.rows = 64000;
    config.slots = 1;
    config.sim_gbps = 1000;
    assert_true(takes_at_most(&config, 1000000));
    config.pinned = false;
    for (int i = 0; i < 5; i++)
        assert_true(cpu_of_one_batch(&config) > 2000000);
}

static int policy_of(const void *address)
{
    int mode = -1;
    return get_mempolicy(&mode, NULL, 0, (void *)(uintptr_t)address, MPOL_F_ADDR) ? -1 : mode;
}

/* Buffers are bound before first touch, or not at all; a missing node is no reason to fail. */
TEST(device_host_buffers_are_on_their_node)
{
    static const struct {
        int os_node, policy;
        double share;
    } cases[] = {{0, MPOL_BIND, 1}, {-1, MPOL_DEFAULT, NAN}, {1000, MPOL_DEFAULT, 0}};
    if (memory_node_try(0, NULL))
        skip();
    for (size_t i = 0; i < 3; i++) {
        ENDED_BY(device_close) struct device_queue queue;
        struct device_config config = slow;
        config.os_node = cases[i].os_node;
        open_queue(&queue, &config);
        for (unsigned s = 0; s < config.slots; s++)
            assert_int_equal(policy_of(device_host_buffer(&queue, s)), cases[i].policy);
        double share = device_host_share(&queue);
        assert_true(isnan(cases[i].share) ? isnan(share) : share == cases[i].share);
    }
}

TEST(device_sim_computes_nothing)
{
    ENDED_BY(device_close) struct device_queue queue;
    open_queue(&queue, &slow);
    assert_false(device_computes(&queue));
    device_close(&queue);
}

TEST(device_none_is_refused_with_a_reason)
{
    ENDED_BY(device_close) struct device_queue queue;
    struct device_config config = slow;
    struct err err = {0};
    config.kind = DEVICE_NONE;
    assert_int_equal(device_open(&queue, &config, &err), -ENOTSUP);
    assert_string_not_equal(err.msg, "");
}

TEST(device_sim_too_large_a_batch_is_an_error)
{
    struct device_queue queue;
    struct device_config config = slow;
    struct err err = {0};
    config.rows = (size_t)1 << 52;
    assert_int_equal(device_open(&queue, &config, &err), -ENOMEM);
    assert_has(err.msg, "3 batches");
}

/* The sanitizers' runtime calls this: malloc must be able to fail, as it can without them. */
/* NOLINTNEXTLINE(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp) */
const char *__asan_default_options(void);
/* NOLINTNEXTLINE(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp) */
const char *__asan_default_options(void)
{
    return "allocator_may_return_null=1";
}
