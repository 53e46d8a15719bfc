/*
 * Who else runs on the CPUs of a group, and the weight by which the scheduler divides these CPUs
 * between them: that of a thread (nice), of a session (autogroup) or of a cgroup. Pure.
 *
 *   struct rivals rivals;
 *   rivals_find(&checker, group, &rivals);
 *   double freed_s = rivals_lower(&checker, &rivals, footnote, sizeof(footnote), command, size);
 *
 * Sources: sched(7), "The nice value and group scheduling"; the kernel's kernel/sched/autogroup.c;
 * Documentation/admin-guide/cgroup-v2.rst.
 */
#ifndef CONTEND_DOCTOR_CHECKS_RIVALS_H
#define CONTEND_DOCTOR_CHECKS_RIVALS_H

#include "harness/doctor/checks/check.h"

enum { RIVALS_MAX = 64, RIVAL_PROCESSES_MAX = 8 };

/* What the scheduler weighs against the group. */
enum rival_kind {
    RIVAL_FIXED,     /* no weight to lower: real-time, nice 19, or its cgroup is unknown */
    RIVAL_THREADS,   /* each thread of these processes, by its niceness */
    RIVAL_AUTOGROUP, /* a session; niceness only counts within it */
    RIVAL_CGROUP     /* a cgroup beside that of the group; niceness only counts within it */
};

struct rival {
    enum rival_kind kind;
    int id;         /* number of the autogroup, or index in view.cgroups */
    double weight;  /* of its heaviest thread, or of all of it; 1024 is the default */
    double against; /* that of the group */
    double cpu_s;
    bool is_fixed; /* no command may change it */
    size_t n;
    const struct view_process *processes[RIVAL_PROCESSES_MAX]; /* busiest first */
};

/* Busiest first. */
struct rivals {
    size_t n, changed; /* changed: processes that a command names */
    struct rival all[RIVALS_MAX];
};

/* True if the process may run on these CPUs. */
bool rivals_runs_there(const struct view *view, const struct view_process *process,
                       const struct bitset *cpus);

void rivals_find(const struct checker *checker, size_t group, struct rivals *rivals);

/*
 * Appends commands that move them to CPUs that are not `used`. Returns the CPU time that they used;
 * 0 = there is no such command.
 */
double rivals_move(const struct view *view, struct rivals *rivals, const struct bitset *used,
                   char *command, size_t size);

/*
 * Writes the command that lowers the weights of those that matter. Returns the CPU time that they
 * lose by it, 0 = there is no such command. The footnote names what it changes.
 */
double rivals_lower(const struct view *view, struct rivals *rivals, char *footnote,
                    size_t footnote_size, char *command, size_t size);

#endif
