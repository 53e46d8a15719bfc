/*
 * Hung processes: every thread waits in futex(2), without a timeout, for another thread of the same
 * process, so only a signal can wake one. Does not find out which thread waits for which: a
 * debugger shows that. Part of the host (host.h).
 *
 *   struct hung hung = {.named = false};
 *   hung_look(&view, "", &hung);      // once, early
 *   hung_finish(&view, "", &hung);    // keeps those of which no thread ran since
 *   ... hung.found ...
 *
 * Needs the right to trace the process (ptrace(2), PTRACE_MODE_ATTACH): the same user with
 * kernel.yama.ptrace_scope 0, or CAP_SYS_PTRACE. Never stops a process. Sources: futex(2), proc(5).
 */
#ifndef CONTEND_DOCTOR_READER_HUNG_H
#define CONTEND_DOCTOR_READER_HUNG_H

#include "harness/doctor/reader/view.h"

enum { HUNG_MOST = 16 };

struct hung_process {
    int pid;
    uint64_t start_ticks;
    unsigned threads;
    double switches; /* context switches of all threads so far */
    double then_s;   /* view.now_s at the first look */
    bool is_python;
};

struct hung {
    bool named;       /* only look at watched processes: the user expects them to work */
    unsigned refused; /* watched processes that slept and that we may not trace */
    size_t n;
    struct hung_process found[HUNG_MOST];
};

void hung_look(const struct view *view, const char *root, struct hung *hung);
void hung_finish(const struct view *view, const char *root, struct hung *hung);

/*
 * Parses /proc/PID/task/TID/syscall: true if the thread waits in futex(2) until another thread of
 * its process wakes it. *joins: the tid, in the process's own pid namespace, that pthread_join
 * waits for, if such a thread exists; 0 = it does not join.
 */
bool hung_read_wait(const char *syscall, uint32_t *joins);

/*
 * Processes whose busy threads may take turns at one lock, as all with a Python interpreter: what
 * these threads do at many instants. A running thread is one that runs or waits for a CPU.
 *
 *   convoys_look(&view, "", &convoys);   // once a second
 */
enum { CONVOYS_MOST = 8, CONVOY_THREADS_LEAST = 3 };

struct convoys {
    size_t n;
    struct convoy {
        int pid;
        uint64_t start_ticks;
        bool is_python;
        unsigned looks, active; /* instants; those at which a thread ran */
        unsigned running;       /* sums over all instants, of threads that run */
        unsigned asleep, in_futex;
        unsigned in_python; /* all threads, busy or not, that wait for the interpreter's lock */
    } found[CONVOYS_MOST];
};

void convoys_look(const struct view *view, const char *root, struct convoys *convoys);

/*
 * Reads one process: its threads, their tids in its own pid namespace, and its memory.
 *
 *   struct proc_sampler at;
 *   if (proc_sampler_open(process, "", &at)) {
 *       if (proc_sampler_list(&at))
 *           proc_sampler_number(&at);
 *       proc_sampler_close(&at);
 *   }
 */
struct proc_sampler_task {
    int tid;
    uint32_t number; /* the tid as the process itself sees it */
};

struct proc_sampler {
    int dir_fd, memory_fd; /* memory_fd: -1 = not opened yet, or not permitted */
    size_t ntasks, tasks_capacity;
    struct proc_sampler_task *tasks; /* owned; sorted by tid */
};

/* False: the process is gone; nothing to close. */
bool proc_sampler_open(const struct view_process *process, const char *root,
                       struct proc_sampler *at);
void proc_sampler_close(struct proc_sampler *at);

/* Lists its current threads, sorted; false: there are none. */
bool proc_sampler_list(struct proc_sampler *at);

/* Fills in .number. In a container, its memory and pthread_join hold tids of its own namespace. */
void proc_sampler_number(struct proc_sampler *at);

/* Reads through thread `tid`, one that waits: the first thread may have ended and has no memory. */
bool proc_sampler_read_memory(struct proc_sampler *at, int tid, uint64_t address, void *to,
                              size_t size);

#endif
