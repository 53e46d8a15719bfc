#include "harness/signals.h"

#include <errno.h>
#include <sys/signalfd.h>
#include <unistd.h>

int signals_open(struct signals *signals, struct err *err)
{
    sigset_t mask;
    (void)sigemptyset(&mask);
    (void)sigaddset(&mask, SIGCHLD);
    (void)sigaddset(&mask, SIGINT);
    (void)sigaddset(&mask, SIGTERM);
    (void)sigaddset(&mask, SIGHUP);
    *signals = (struct signals){.fd = -1};
    (void)sigprocmask(SIG_BLOCK, &mask, &signals->before);
    signals->fd = signalfd(-1, &mask, SFD_CLOEXEC | SFD_NONBLOCK);
    return signals->fd < 0 ? err_sys(err, -errno, "cannot watch for signals") : 0;
}

void signals_close(struct signals *signals)
{
    if (signals->fd < 0)
        return;
    (void)close(signals->fd);
    signals->fd = -1;
    if (!signals->interrupted)
        (void)sigprocmask(SIG_SETMASK, &signals->before, NULL);
}

bool signals_take(struct signals *signals)
{
    struct signalfd_siginfo info;
    while (read(signals->fd, &info, sizeof(info)) == (ssize_t)sizeof(info))
        if (info.ssi_signo != SIGCHLD)
            signals->interrupted = (int)info.ssi_signo;
    return signals->interrupted != 0;
}
