/*
 * Signals as readable events: SIGCHLD to reap workers, SIGINT, SIGTERM and SIGHUP (unless it was
 * ignored before, as under nohup) to end a run in good order. Blocked from signals_open to
 * signals_close, so no handler ever runs. Open it before any library starts a thread: a thread that
 * does not block them would take them by default.
 */
#ifndef CONTEND_SIGNALS_H
#define CONTEND_SIGNALS_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#include "harness/core/err.h"

struct signals {
    int fd;
    int interrupted;   /* the signal that asked to stop, 0 = none so far */
    uint64_t since_ns; /* when the first one was seen */
    sigset_t before;   /* mask to restore */
};

int signals_open(struct signals *signals, struct err *err);

/*
 * Restores the mask, unless one asked to stop, if only now: a program that is about to say how it
 * ended must not end by it, nor by a second one (timeout(1) signals its child, then its group).
 */
void signals_close(struct signals *signals);

/* Takes what has arrived; true when the run was asked to stop, now or earlier. */
bool signals_take(struct signals *signals);

#endif
