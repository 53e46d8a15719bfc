#include "bench/io/ring.h"

#include <errno.h>

#include "harness/lib/files/proc.h"

#ifdef CONTEND_HAVE_URING

#include <sched.h>
#include <string.h>

enum { SQPOLL_IDLE_MS = 50 };

static int refused(int rc, int sqpoll, struct err *err)
{
    double disabled = proc_read_number("", "/proc/sys/kernel/io_uring_disabled");
    const char *why = rc == -ENOSYS   ? "this kernel has none, or a sandbox hides it"
                      : rc != -EPERM  ? strerror(-rc)
                      : disabled == 2 ? "forbidden to all by kernel.io_uring_disabled=2"
                      : disabled == 1 ? "forbidden to this user by kernel.io_uring_disabled=1"
                      : sqpoll        ? "not permitted: a sandbox, or SQPOLL without CAP_SYS_NICE"
                                      : "not permitted, as by the seccomp filter of a container";
    return err_set(err, -ENOTSUP, "no io_uring%s: %s", sqpoll ? " with SQPOLL" : "", why);
}

/* Asks for the same as fio; the best that the kernel knows, so less before 6.1 and 5.19. */
static int open_own(struct io_uring *ring, unsigned entries)
{
    static const unsigned flags[] = {
#ifdef IORING_SETUP_DEFER_TASKRUN
        IORING_SETUP_COOP_TASKRUN | IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN,
#endif
#ifdef IORING_SETUP_COOP_TASKRUN
        IORING_SETUP_COOP_TASKRUN,
#endif
        0,
    };
    int rc = -EINVAL;
    for (size_t i = 0; rc == -EINVAL && i < sizeof(flags) / sizeof(flags[0]); i++) {
        struct io_uring_params params = {.flags = flags[i]};
        rc = io_uring_queue_init_params(entries, ring, &params);
    }
    return rc;
}

int ring_open(struct io_uring *ring, unsigned entries, int sqpoll_cpu, struct err *err)
{
    struct io_uring_params params = {.flags = IORING_SETUP_SQPOLL | IORING_SETUP_SQ_AFF,
                                     .sq_thread_cpu = (unsigned)sqpoll_cpu,
                                     .sq_thread_idle = SQPOLL_IDLE_MS};
    int rc = sqpoll_cpu < 0 ? open_own(ring, entries)
                            : io_uring_queue_init_params(entries, ring, &params);
    return rc ? refused(rc, sqpoll_cpu >= 0, err) : 0;
}

int ring_submit(struct io_uring *ring)
{
#ifdef IORING_SETUP_DEFER_TASKRUN
    return io_uring_submit_and_get_events(ring);
#else
    return io_uring_submit(ring);
#endif
}

int ring_check(int sqpoll, struct err *err)
{
    struct io_uring ring;
    int cpu = sched_getcpu();
    int rc = ring_open(&ring, 2, sqpoll && cpu >= 0 ? cpu : -1, err);
    if (!rc)
        io_uring_queue_exit(&ring);
    return rc;
}

#else

int ring_check(int sqpoll, struct err *err)
{
    (void)sqpoll;
    return err_set(err, -ENOTSUP, "no io_uring: built without liburing");
}

#endif
