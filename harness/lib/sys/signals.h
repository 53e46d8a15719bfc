/*
 * Signals as readable events: SIGCHLD to reap workers; SIGINT, SIGTERM and SIGHUP to end a run
 * cleanly; SIGTSTP (Ctrl-Z) to stop it with its workers, which the terminal's signals do not reach.
 * SIGHUP and SIGTSTP stay ignored if they were before, as SIGHUP is under nohup. The signals are
 * blocked from signals_open to signals_close, so no handler runs. SIGPIPE is ignored meanwhile:
 * the reader of a run's log may end first, as tee does at Ctrl-C. Start libraries that create
 * threads between signals_block and signals_restore.
 */
#ifndef CONTEND_LIB_SYS_SIGNALS_H
#define CONTEND_LIB_SYS_SIGNALS_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "harness/lib/err.h"

struct signals {
    int fd;
    int interrupted;          /* the signal that asked to end the run; 0 = none so far */
    uint64_t since_ns;        /* when the first such signal was seen */
    bool stop_requested;      /* SIGTSTP has arrived; the code that stops the run clears this */
    sigset_t watched, before; /* the mask of fd; the mask to restore */
    void (*pipe_before)(int signal);
};

int signals_open(struct signals *signals, struct err *err);

/*
 * Restores the mask and SIGPIPE, unless a signal has asked to end the run. Then both stay: the
 * program still has to report, and must not be killed by that signal or by a second one (timeout(1)
 * signals its child, then the group).
 */
void signals_close(struct signals *signals);

/*
 * `let`: SIGTSTP stops this process by default action; else it is blocked again. Only for a process
 * without workers and without other threads.
 */
void signals_allow_stop(bool let);

/*
 * Block all signals of this thread, and restore the mask. Threads that a library starts in between
 * keep them blocked: else such a thread would take signals that a later signals_open must see.
 */
void signals_block(sigset_t *before);
void signals_restore(const sigset_t *before);

/* Also watches these signals, for a caller that forwards them; `numbers` ends with 0. */
void signals_add(struct signals *signals, const int *numbers);

/* A signal that has arrived. */
struct signals_one {
    int number;
    bool by_kernel; /* true for a terminal key, which signals the whole foreground group */
    pid_t sender;   /* 0 = the kernel, or a process of another namespace */
};

/* Takes the next signal except SIGCHLD; use instead of signals_take. False: none has arrived. */
bool signals_next(struct signals *signals, struct signals_one *one);

/* Takes all signals that have arrived. True if the run was asked to end, now or earlier. */
bool signals_take(struct signals *signals);

#endif
