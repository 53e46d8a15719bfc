/*
 * Processes that hang: every thread waits in futex(2), without a time-out, for another thread of
 * the same process, so that none is left to wake one. Only a signal can. It is not told who waits
 * for whom: a debugger shows that. Part of the host (host.h).
 *
 *   struct hung hung = {.named = false};
 *   hung_look(&view, "", &hung);      // once, early
 *   hung_finish(&view, "", &hung);    // keeps those of which no thread ran since
 *   ... hung.found ...
 *
 * Needs the right to trace the process (ptrace(2), PTRACE_MODE_ATTACH): its user's, where
 * kernel.yama.ptrace_scope is 0, or CAP_SYS_PTRACE. Stops nobody. Sources: futex(2), proc(5).
 */
#ifndef CONTEND_DOCTOR_READER_HUNG_H
#define CONTEND_DOCTOR_READER_HUNG_H

#include "harness/doctor/view/view.h"

enum { HUNG_MOST = 16 };

struct hung_process {
    int pid;
    uint64_t start_ticks;
    unsigned threads;
    uint64_t switches; /* how often they gave up a CPU so far, summed */
    double then_s;     /* the view's time of the first look */
    bool is_python;
};

struct hung {
    bool named;       /* only those that are watched are looked at: somebody expects them to work */
    unsigned refused; /* watched processes that slept, and are not ours to look at */
    size_t n;
    struct hung_process found[HUNG_MOST];
};

void hung_look(const struct view *view, const char *root, struct hung *hung);
void hung_finish(const struct view *view, const char *root, struct hung *hung);

/*
 * From the text of /proc/PID/task/TID/syscall: it waits in futex(2) until another thread of its
 * process wakes it. *joins: the thread that pthread_join waits for, as the process numbers it, if
 * there is one of that number; 0 = it does not join.
 */
bool hung_read_wait(const char *syscall, uint32_t *joins);

#endif
