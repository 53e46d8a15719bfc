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

#include "harness/lib/bitset.h"

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

/* CPU time, run-queue wait, and how often it got a CPU; without `has_wait`, the kernel has no
 * schedstat, which knows the last two. */
struct task_times {
    uint64_t oncpu_ns, wait_ns, turns;
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

/*
 * All descendants of a process, from /proc: their resource use, the CPUs they ran on, and their
 * CPU masks. The observer is their ancestor and adopts those whose parent ends (process_adopt), so
 * that none is lost.
 *
 * The kernel keeps the CPU time of an ended process for its waiter, but not its run-queue wait. The
 * wait is known up to the last sample before a thread's end. When the run ends, it is scaled up by
 * the ratio of the kernel's CPU time to the CPU time that samples saw.
 */
enum {
    TREE_PROCESSES = 512, /* room that a caller of tree_list offers */
    TREE_MASKS = 8,
    TREE_MASK_PERSISTS_MS = 200
};

struct tree_process {
    pid_t pid, parent;
    uint64_t started; /* clock ticks since boot: with pid, the same process and no other */
    bool ended;       /* not reaped yet */
};

/*
 * Lists at most `most` descendants of `root`, parents first, without `root`. Returns their number.
 * Processes that begin or end meanwhile may be missing.
 */
unsigned tree_list(pid_t root, struct tree_process *out, unsigned most);

/* True if the process still exists and its PID was not reused. */
bool tree_is_same(const struct tree_process *process);

/* Resource use, summed over runs. Zeroed = none. */
struct tree_used {
    double oncpu_s, runqueue_s; /* mean per thread of the team; the means of runs are added */
    double cpu_s;               /* of all threads */
    double voluntary_switches, involuntary_switches, minor_faults, major_faults;
    unsigned team;     /* most threads seen busy at the same time */
    bool no_schedstat; /* runqueue_s is unknown */
};

/* A thread whose CPU mask differs from the plan. */
struct tree_mask {
    char name[TASK_NAME_MAX];
    int tid;
    struct bitset cpus;
    bool outside_plan; /* it contains CPUs that are not in the plan */
    bool persists; /* for TREE_MASK_PERSISTS_MS or more: libraries also bind a thread for moments */
    uint64_t since_ns, seen_ns; /* first and last sample of an unbroken series that saw it */
};

struct tree_thread {
    int pid, tid;
    uint64_t started;
    uint64_t oncpu_ns, runqueue_ns; /* at the last sample that saw it */
    uint64_t counted_ns;            /* sum of both when the team was last counted */
    uint64_t sampled_ns;            /* time of that sample */
};

struct tree {
    struct bitset planned;
    struct tree_used used; /* up to the last sample */
    uint32_t nmasks;
    struct tree_mask mask[TREE_MASKS];

    struct tree_used before; /* use of the runs that have ended */
    double cpu_s_before;     /* the kernel's count when the run began */
    uint64_t counted_ns;     /* when the team was last counted */
    uint64_t sampled_ns;     /* time of the previous sample */
    unsigned team;
    double ended_oncpu_s, ended_runqueue_s; /* of threads that left `thread` */
    pid_t left_out;                         /* its process tree is not counted; 0 = none */
    struct tree_used not_ours;              /* of ended processes that were left out */
    struct tree_used reaped;                /* of all ended processes, when `left_out` began */
    uint32_t nthreads, room, next;          /* used, allocated, where the next search begins */
    struct tree_thread *thread;             /* freed by tree_end */
};

/* Called by tree_sample for a thread, with the CPU on which it was last seen. */
typedef void tree_thread_ran(void *arg, int tid, unsigned os_cpu, uint64_t at_ns);

/* Begins a run. Call it before any process of the run starts. */
void tree_begin(struct tree *tree, const struct bitset *planned);

/* Samples all descendants; calls `seen` for each thread that ran since the last sample. */
void tree_sample(struct tree *tree, tree_thread_ran *seen, void *arg);

/*
 * Leaves out one child and its descendants, such as a client that loads the others. Call it before
 * the child starts, then set tree->left_out; tree_count_left_out, after the child and what it left
 * were reaped, ends it and returns the CPU time that they used.
 */
void tree_leave_out(struct tree *tree);
double tree_count_left_out(struct tree *tree);

/* tree_begin and a sample, for processes that run already: what they have used does not count. */
void tree_begin_running(struct tree *tree, const struct bitset *planned);

/* Ends a run. Call it after all its processes were reaped. */
void tree_end(struct tree *tree);

/* CPU time that a process has used so far, all its threads. */
struct tree_use {
    pid_t pid;
    uint64_t started;
    double cpu_s;
    char name[TASK_NAME_MAX];
};

/* Lists at most `most` processes of the machine, without this process and its descendants. Returns
 * their number. */
unsigned tree_list_others(struct tree_use *out, unsigned most);

/* CPU time of process `pid` and its descendants, also ended ones, where /proc is readable. */
double tree_cpu_s(pid_t pid);

#endif
