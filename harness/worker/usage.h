/*
 * What the kernel says a process did, from /proc: readable by the worker itself and, when a worker
 * is stuck in a step, by its parent.
 *
 * Sources: Documentation/scheduler/sched-stats.rst (schedstat: on-CPU ns, run-queue ns),
 * proc_pid_stat(5) (faults), proc_pid_status(5) (context switches), proc_stat(5) (steal),
 * Documentation/accounting/psi.rst.
 */
#ifndef CONTEND_WORKER_USAGE_H
#define CONTEND_WORKER_USAGE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "harness/core/visit.h"

struct usage_thread {
    int tid;
    uint64_t oncpu_ns, runqueue_ns;
};

/* Counters at one moment. Zeroed = nothing known. */
struct usage_snapshot {
    uint64_t at_ns;
    unsigned nthreads; /* team threads in thread[] */
    struct usage_thread thread[VISIT_THREADS];
    bool has_schedstat; /* else oncpu_ns comes from stat's ticks and runqueue_ns is 0 */
    bool has_migrations;
    uint64_t voluntary, involuntary, migrations; /* all threads of the process */
    uint64_t minor_faults, major_faults;
    bool has_counters;
    uint64_t instructions, cycles, cache_misses;
};

/*
 * Reads process `pid` (0 = the caller). The team is the threads registered in `visits`, or the
 * main thread where none has registered. Counters are not read here; see perf.h.
 */
void usage_read(pid_t pid, const struct visit_log *visits, struct usage_snapshot *out);

/*
 * What the kernel says a worker did between go and the end of its last measured step. A field that
 * could not be read is NaN. The three parts of wall time are means over the team's threads and add
 * up to wall_s; without schedstat, runqueue_s is NaN and blocked_s holds the wait too.
 */
struct usage {
    double wall_s;
    double oncpu_s, runqueue_s, blocked_s;
    double voluntary_switches, involuntary_switches, migrations; /* whole process */
    double minor_faults, major_faults;
    double cpus_visited;                       /* distinct CPUs, sampled by visit marks */
    double instructions, cycles, cache_misses; /* user mode, all threads; perf_event */
    unsigned team_threads;                     /* how many threads the means are over */
};

/* Differences over the team's threads; wall_s = end_ns - go_ns. */
void usage_diff(const struct usage_snapshot *go, const struct usage_snapshot *end, uint64_t go_ns,
                uint64_t end_ns, const struct visit_log *visits, struct usage *out);

/* The whole machine. Fields that cannot be read are NaN. */
struct usage_machine {
    double cpu_s, busy_s, steal_s; /* all CPUs: total, not idle, stolen; source /proc/stat */
    double psi_cpu_some_s;         /* time in which some task waited for a CPU */
    uint64_t at_ns;
};
void usage_machine_read(struct usage_machine *out);

/* CPU time that process `pid` has used so far, all its threads; 0 when it is gone. */
double usage_process_cpu_s(pid_t pid);

#endif
