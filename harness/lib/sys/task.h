/*
 * Processes and threads, as /proc shows them. Any may end while it is read: then a call returns
 * false or 0. A name may contain blanks and brackets.
 *
 * Sources: proc_pid_stat(5), Documentation/scheduler/sched-stats.rst (schedstat).
 */
#ifndef CONTEND_LIB_SYS_TASK_H
#define CONTEND_LIB_SYS_TASK_H

#include <dirent.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Of a name, 15 characters and a 0; of the text of a file "stat". */
enum { TASK_NAME_MAX = 16, TASK_STAT_MAX = 1024 };

/* The file "stat" of a thread, or of a process: then times and faults are of all its threads. */
struct task_stat {
    char name[TASK_NAME_MAX]; /* '?' in place of what could control a terminal */
    char state;
    bool ended;    /* not reaped yet */
    bool kernel;   /* a kernel thread */
    bool realtime; /* a real-time policy: runs before all normal threads */
    pid_t parent;
    unsigned threads;
    int cpu;       /* the last one */
    double weight; /* against others: 1024 at nice 0, 3 if SCHED_IDLE */
    uint64_t minor_faults, major_faults;
    double user_s, system_s;
    double below_s;       /* user and system time of children that it has waited for */
    uint64_t start_ticks; /* since boot: with its id, the same task and no other */
};

bool task_parse_stat(const char *text, struct task_stat *stat);
/* tid 0: of the process. */
bool task_read_stat(pid_t pid, pid_t tid, struct task_stat *stat);

/* stat.start_ticks; 0 = it has ended, or waits to be reaped. */
uint64_t task_started(pid_t pid, pid_t tid);

/* CPU time and run-queue wait of a thread; without `has_wait`, the kernel has no schedstat. */
struct task_times {
    uint64_t oncpu_ns, wait_ns;
    bool has_wait;
};
/* Parses the text of a file "schedstat". */
bool task_parse_times(const char *text, struct task_times *times);
bool task_read_times(pid_t pid, pid_t tid, struct task_times *times);

/* CPU time that all threads of a process have used so far, finer than that of stat; 0 = ended. */
double task_cpu_s(pid_t pid);

/* The weight of a niceness; sched_prio_to_weight of the kernel has it rounded. */
double task_weight(int nice);

/*
 * Lists the threads of a process; or, with a folder "/proc", processes. 0 = no more, and the folder
 * is closed; also for NULL.
 *
 *   DIR *tasks = task_open(pid);
 *   for (pid_t tid; (tid = task_next(&tasks));)
 */
DIR *task_open(pid_t pid);
pid_t task_next(DIR **folder);

#endif
