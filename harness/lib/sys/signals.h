/*
 * Signals as readable events: SIGCHLD to reap workers, SIGINT, SIGTERM and SIGHUP to end a run in
 * good order, SIGTSTP (Ctrl-Z) to stop it with its workers, which the terminal does not reach; the
 * latter two unless they were ignored before, as SIGHUP is under nohup. Blocked from signals_open
 * to signals_close, so no handler ever runs. Libraries that start threads are started between
 * signals_hold and signals_release. Meanwhile SIGPIPE is ignored, or a run would
 * die of who reads its log and goes first, as tee does at Ctrl-C.
 */
#ifndef CONTEND_LIB_SYS_SIGNALS_H
#define CONTEND_LIB_SYS_SIGNALS_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "harness/lib/base/err.h"

struct signals {
    int fd;
    int interrupted;          /* the signal that asked to stop, 0 = none so far */
    uint64_t since_ns;        /* when the first one was seen */
    bool stop_asked;          /* SIGTSTP has come; who obeys it clears this */
    sigset_t watched, before; /* the mask of fd, and that to restore */
    void (*pipe_before)(int signal);
};

int signals_open(struct signals *signals, struct err *err);

/*
 * Restores the mask and SIGPIPE, unless one asked to stop, if only now: a program that is about to
 * say how it ended must not end by it, nor by a second one (timeout(1) signals its child, then its
 * group).
 */
void signals_close(struct signals *signals);

/*
 * While `let`, SIGTSTP stops this thread's process as it does any other. For what has no workers,
 * and starts no threads.
 */
void signals_let_stop(bool let);

/*
 * All signals of this thread are blocked in between. A thread that a library starts then blocks
 * them for good: it would take by default what a later signals_open is to see.
 */
void signals_hold(sigset_t *before);
void signals_release(const sigset_t *before);

/* Also watches for these, 0 behind the last: for who passes them on. */
void signals_add(struct signals *signals, const int *numbers);

/* One that has arrived. */
struct signals_one {
    int number;
    bool by_kernel; /* as what the terminal's keys send to all of its foreground group */
    pid_t sender;   /* 0 = the kernel, or somebody of another namespace */
};

/* Takes the next one but SIGCHLD, instead of signals_take. False: none has arrived. */
bool signals_next(struct signals *signals, struct signals_one *one);

/* Takes what has arrived; true when the run was asked to stop, now or earlier. */
bool signals_take(struct signals *signals);

#endif
