#include "harness/doctor/apply_guard.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include "harness/doctor/apply.h"
#include "harness/lib/sys/clock.h"
#include "harness/lib/sys/log.h"

struct guarded {
    const char *state_path;
    pid_t owner;
    double limit_s;
    int fds[2];
};

/* Runs in the child. It leads its own process group, so Ctrl-C and Ctrl-Z do not reach it. */
static int guard_trial(void *arg)
{
    const struct guarded *of = arg;
    struct apply_left left;
    struct err err;
    char byte;
    uint64_t end_ns = clock_now_ns() + (uint64_t)(of->limit_s * 1e9);
    struct pollfd events = {.fd = of->fds[0], .events = POLLIN};
    int n;
    process_outlive_parent();
    (void)close(of->fds[1]);
    do {
        uint64_t at_ns = clock_now_ns();
        n = poll(&events, 1, at_ns < end_ns ? (int)((end_ns - at_ns) / 1000000) + 1 : 0);
    } while (n < 0 && errno == EINTR);
    if (n > 0 && read(of->fds[0], &byte, 1) == 1)
        return 0;
    int rc = apply_undo(of->state_path, of->owner, &left, &err);
    if (!rc)
        log_warn("contend doctor --verify %s: undone, %zu process%s may run where %s could before",
                 n > 0 ? "was killed" : "did not end in its time", left.nlive,
                 left.nlive == 1 ? "" : "es", left.nlive == 1 ? "it" : "they");
    else if (rc != -ENOENT)
        log_error("%s", err.msg);
    return rc != 0;
}

int apply_guard_start(struct apply_guard *guard, const char *state_path, double limit_s,
                      struct err *err)
{
    struct guarded of = {.state_path = state_path, .owner = getpid(), .limit_s = limit_s};
    *guard = (struct apply_guard){.fd = -1};
    if (pipe2(of.fds, O_CLOEXEC))
        return err_sys(err, -errno,
                       "no pipe for the process that undoes a change if contend is killed");
    int rc = process_start(&guard->process, true, guard_trial, &of);
    (void)close(of.fds[0]);
    guard->fd = of.fds[1];
    if (!rc)
        return 0;
    (void)close(guard->fd);
    return err_sys(err, rc, "cannot start the process that undoes a change if contend is killed");
}

void apply_guard_end(struct apply_guard *guard)
{
    static const double end_s = 10;
    int status;
    if (!guard->process.pid)
        return;
    (void)!write(guard->fd, "", 1);
    (void)close(guard->fd);
    (void)process_end(&guard->process, end_s, &status);
}
