#include "harness/lib/sys/signals.h"

#include <errno.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "harness/lib/sys/clock.h"

/* The kernel queues a blocked signal even if it is ignored, as SIGHUP is under nohup(1). */
static bool is_ignored(int signal)
{
    struct sigaction action;
    return !sigaction(signal, NULL, &action) && action.sa_handler == SIG_IGN;
}

int signals_open(struct signals *signals, struct err *err)
{
    *signals = (struct signals){.fd = -1, .pipe_before = signal(SIGPIPE, SIG_IGN)};
    sigset_t *mask = &signals->watched;
    (void)sigemptyset(mask);
    (void)sigaddset(mask, SIGCHLD);
    (void)sigaddset(mask, SIGINT);
    (void)sigaddset(mask, SIGTERM);
    /* SIGINT is watched even if ignored: a shell's background jobs ignore it, but users send it. */
    if (!is_ignored(SIGHUP))
        (void)sigaddset(mask, SIGHUP);
    if (!is_ignored(SIGTSTP))
        (void)sigaddset(mask, SIGTSTP);
    (void)sigprocmask(SIG_BLOCK, mask, &signals->before);
    signals->fd = signalfd(-1, mask, SFD_CLOEXEC | SFD_NONBLOCK);
    return signals->fd < 0 ? err_sys(err, -errno, "cannot watch for signals") : 0;
}

void signals_close(struct signals *signals)
{
    if (signals->fd < 0)
        return;
    bool interrupted = signals_take(signals);
    (void)close(signals->fd);
    signals->fd = -1;
    if (interrupted)
        return;
    (void)signal(SIGPIPE, signals->pipe_before);
    (void)sigprocmask(SIG_SETMASK, &signals->before, NULL);
}

void signals_block(sigset_t *before)
{
    sigset_t all;
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, before);
}

void signals_restore(const sigset_t *before)
{
    (void)pthread_sigmask(SIG_SETMASK, before, NULL);
}

void signals_allow_stop(bool let)
{
    sigset_t stop;
    (void)sigemptyset(&stop);
    (void)sigaddset(&stop, SIGTSTP);
    (void)sigprocmask(let ? SIG_UNBLOCK : SIG_BLOCK, &stop, NULL);
}

void signals_add(struct signals *signals, const int *numbers)
{
    for (; *numbers; numbers++)
        (void)sigaddset(&signals->watched, *numbers);
    (void)sigprocmask(SIG_BLOCK, &signals->watched, NULL);
    (void)signalfd(signals->fd, &signals->watched, 0);
}

static bool read_one(const struct signals *signals, struct signalfd_siginfo *info)
{
    return read(signals->fd, info, sizeof(*info)) == (ssize_t)sizeof(*info);
}

bool signals_next(struct signals *signals, struct signals_one *one)
{
    struct signalfd_siginfo info;
    while (read_one(signals, &info))
        if (info.ssi_signo != SIGCHLD) {
            *one = (struct signals_one){.number = (int)info.ssi_signo,
                                        .by_kernel = info.ssi_code == SI_KERNEL,
                                        .sender = (pid_t)info.ssi_pid};
            return true;
        }
    return false;
}

bool signals_take(struct signals *signals)
{
    struct signalfd_siginfo info;
    while (read_one(signals, &info))
        if (info.ssi_signo == SIGTSTP) {
            signals->stop_requested = true;
        } else if (info.ssi_signo != SIGCHLD) {
            signals->interrupted = (int)info.ssi_signo;
            signals->since_ns = signals->since_ns ? signals->since_ns : clock_now_ns();
        }
    return signals->interrupted != 0;
}
