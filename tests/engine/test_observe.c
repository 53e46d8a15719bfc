/* What happens to workers that are ended because another one failed. */
#include <signal.h>

#include "harness/engine/observe.h"
#include "harness/lib/sys/clock.h"
#include "tests/lib/unit.h"

/* A worker that changes its state again and again, like one that is caught between two states. */
static int be_restless(void *arg)
{
    struct shared *shared = arg;
    while (shared) /* for ever */
        shared_set_state(shared, &shared->worker[0], WORKER_PRIMED);
    return 0;
}

static void end_restless_worker(void)
{
    struct err err = {0};
    int fd = -1;
    struct shared *shared = shared_create(1, &fd, &err);
    assert_non_null(shared);
    atomic_store(&shared->event_fd, -1);
    struct observer_child child = {.pid = 0};
    assert_int_equal(process_start(&child.process, true, be_restless, shared), 0);
    child.pid = child.process.pid;
    const struct bench bench = {.name = "any"};
    const struct arm arm = {.bench = &bench};
    const struct observe_config config = {.setup_s = 60};
    struct observer o = {.config = &config,
                         .arm = &arm,
                         .shared = shared,
                         .nworkers = 1,
                         .foreground = 1,
                         .child = &child};
    uint64_t until_ns = clock_now_ns() + UINT64_C(5000000000);
    while (shared_state(&shared->worker[0]) != WORKER_PRIMED && clock_now_ns() < until_ns)
        (void)usleep(1000);

    assert_int_equal(observe_end_all(&o), 0);

    assert_int_equal(child.pid, 0);
    assert_int_equal(observe_state(&o, 0), WORKER_FAILED);
    assert_int_equal(child.end.err.code, -ECANCELED);
    assert_int_equal(shared->worker[0].err.code, 0); /* the worker's alone */
    shared_destroy(shared);
    (void)close(fd);
}

/* Whether it changes its state between the request and the kill is chance; with many tries it does
 * once. */
TEST(observer_cancels_who_moves_on_meanwhile)
{
    for (int i = 0; i < 100; i++)
        end_restless_worker();
}

static int pause_for_ever(void *arg)
{
    for (; !arg;)
        (void)pause();
    return 0;
}

/* Like a worker in the kernel, which signals do not reach; here another process gets them. */
TEST(observer_waits_for_nobody_for_ever)
{
    struct err err = {0};
    int fd = -1, status;
    struct shared *shared = shared_create(1, &fd, &err);
    assert_non_null(shared);
    struct process held, other;
    assert_int_equal(process_start(&held, false, pause_for_ever, NULL), 0);
    assert_int_equal(process_start(&other, false, pause_for_ever, NULL), 0);
    if (other.pidfd >= 0) {
        struct observer_child child = {.pid = held.pid,
                                       .process = {.pid = held.pid, .pidfd = other.pidfd}};
        const struct bench bench = {.name = "any"};
        const struct arm arm = {.bench = &bench};
        const struct observe_config config = {.setup_s = 0.01};
        struct observer o = {.config = &config,
                             .arm = &arm,
                             .err = &err,
                             .shared = shared,
                             .nworkers = 1,
                             .foreground = 1,
                             .child = &child};
        assert_int_equal(observe_end_all(&o), -EBUSY);
        assert_has(err.msg, "worker 0 cannot be ended");
    }
    (void)process_signal(&held, SIGKILL);
    process_wait(&held, &status);
    (void)process_signal(&other, SIGKILL);
    process_wait(&other, &status);
    shared_destroy(shared);
    (void)close(fd);
}
