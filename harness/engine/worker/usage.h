/*
 * The kernel's account of a process, from /proc: readable by the worker itself and, when a worker
 * is stuck in a step, by its parent.
 *
 * Sources: Documentation/scheduler/sched-stats.rst (schedstat: on-CPU ns, run-queue ns),
 * proc_pid_stat(5) (faults), proc_pid_status(5) (context switches), proc_stat(5) (steal),
 * Documentation/accounting/psi.rst.
 */
#ifndef CONTEND_ENGINE_WORKER_USAGE_H
#define CONTEND_ENGINE_WORKER_USAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "harness/contract/cpu_samples.h"
#include "harness/lib/base/bitset.h"
#include "harness/lib/files/proc.h"
#include "harness/lib/sys/tree.h"

#define USAGE_NO_ACCOUNTING "the kernel's accounting of the threads could not be read"
#define USAGE_NO_SCHEDSTAT "the kernel offers no schedstat; blocked holds the wait"

/*
 * The fields of struct usage, a line each. A new hardware counter is a line in USAGE_COUNTERS, and
 * one in perf.c that says what the kernel calls it.
 *
 *   X(field, per_step, metric, unit, better, absent)
 *
 * `field` is its key in run.json, too. `metric` is its name in rows.csv, NULL where it is only a
 * part of another one: the mean over the workers, each one's divided by its steps if `per_step`.
 * `absent` is the reason of a skipped row where nobody could read it; NULL = no row. Four lists,
 * since metrics of another origin stand between them in rows.csv.
 */
/* clang-format off */

/*
 * The parts of wall time, on a CPU, in the run queue, stopped by a quota and blocked, are means over
 * the team's threads; the others of the process, but
 * helper_cpu_s: CPU time of threads that are neither its first nor of the team, the driver's own.
 */
#define USAGE_SCHEDULER(X)                                                                         \
    X(wall_s, true, "step_time_mean", "s", "lower", USAGE_NO_ACCOUNTING)                           \
    X(oncpu_s, true, "oncpu_per_step", "s", "lower", USAGE_NO_ACCOUNTING)                          \
    X(runqueue_s, true, "runqueue_wait_per_step", "s", "lower", USAGE_NO_SCHEDSTAT)                \
    X(throttled_s, true, "throttled_per_step", "s", "lower", NULL)                                 \
    X(blocked_s, true, "blocked_per_step", "s", "lower", USAGE_NO_ACCOUNTING)                      \
    X(voluntary_switches, true, "voluntary_switches_per_step", "count", "none", NULL)              \
    X(involuntary_switches, true, "involuntary_switches_per_step", "count", "lower",               \
      USAGE_NO_ACCOUNTING)                                                                         \
    X(migrations, true, "migrations_per_step", "count", "lower", USAGE_NO_ACCOUNTING)              \
    X(helper_cpu_s, true, "helper_cpu", "s", "lower", USAGE_NO_ACCOUNTING)

#define USAGE_FAULTS(X)                                                                            \
    X(minor_faults, true, NULL, "count", "lower", NULL)                                            \
    X(major_faults, true, NULL, "count", "lower", NULL)

/* Distinct CPUs, by cpu_samples. */
#define USAGE_CPUS(X)                                                                              \
    X(cpus_visited, false, "cpus_visited", "count", "none", NULL)

/* User mode, all threads; perf.h. */
#define USAGE_COUNTERS(X)                                                                          \
    X(instructions, true, "instructions_per_step", "count", "lower", NULL)                         \
    X(cycles, true, "cycles_per_step", "count", "lower", NULL)                                     \
    X(cache_misses, true, "cache_misses_per_step", "count", "lower", NULL)

#define USAGE_FIELDS(X) USAGE_SCHEDULER(X) USAGE_FAULTS(X) USAGE_CPUS(X) USAGE_COUNTERS(X)
/* clang-format on */

/*
 * The kernel's account of a worker between go and the end of its last measured step. A field that
 * could not be read is NaN. The parts of wall time add up to wall_s; without schedstat, runqueue_s
 * is NaN and blocked_s holds the wait too. To the kernel who is stopped by a quota of CPU time
 * (cpu.max) waits in the run queue: that is taken out of runqueue_s, and is throttled_s; NaN
 * without a quota, when it is part of none.
 */
struct usage {
#define USAGE_MEMBER(field, ...) double field;
    USAGE_FIELDS(USAGE_MEMBER)
#undef USAGE_MEMBER
    unsigned team_threads; /* how many threads the means are over */
};

/* The same lines as data, in their order. */
struct usage_field {
    const char *name;
    size_t offset; /* of a double in struct usage */
    bool per_step;
    const char *metric, *unit, *better, *absent;
};

/* Ends with name NULL. */
extern const struct usage_field usage_fields[];

static inline double usage_get(const struct usage *usage, const struct usage_field *field)
{
    return *(const double *)((const char *)usage + field->offset);
}

struct usage_thread {
    int tid;
    uint64_t oncpu_ns, runqueue_ns;
};

/* A process at one moment; at_ns 0 = not read. */
struct usage_snapshot {
    uint64_t at_ns;
    unsigned nthreads; /* team threads in thread[] */
    struct usage_thread thread[CPU_SAMPLE_THREADS];
    struct cgroup_throttled throttled; /* so far; read where `sharers` is not 0 */
    unsigned sharers;                  /* workers that divide throttled.shared_s among them */
    double stands_for;                 /* threads whose mean each of thread[] is; 0 = 1 */
    bool has_schedstat;  /* else oncpu_ns comes from stat's ticks and runqueue_ns is 0 */
    struct usage so_far; /* what is counted from the start of the process; the rest is NaN */
};

/*
 * Reads process `pid` (0 = the caller). The team is the threads registered in `cpu_samples`, or the
 * main thread where none has registered. Counters are not read here, but NaN; see perf.h.
 */
void usage_read(pid_t pid, const struct cpu_samples *cpu_samples, struct usage_snapshot *out);

/*
 * The same of a command, as its worker has last seen it: the team is one thread then, the mean of
 * those that were busy.
 */
void usage_read_tree(const struct tree_used *used, struct usage_snapshot *out);

/*
 * Adds what quotas have stopped of process `pid` (0 = the caller), one of `sharers` workers of the
 * parent of those.
 */
void usage_read_quota(pid_t pid, unsigned sharers, struct usage_snapshot *out);

/* Nothing is known: all its fields are NaN. */
void usage_forget(struct usage *usage);

/* Differences over the team's threads; wall_s = end_ns - go_ns. */
void usage_diff(const struct usage_snapshot *go, const struct usage_snapshot *end, uint64_t go_ns,
                uint64_t end_ns, const struct cpu_samples *cpu_samples, struct usage *out);

/* CPUs of this machine. Fields that cannot be read are NaN, also where one CPU's cannot. */
struct usage_machine {
    double cpu_s, busy_s, steal_s; /* of these CPUs: total, not idle, stolen; source /proc/stat */
    double psi_cpu_some_s;         /* time in which some task waited for a CPU */
    uint64_t at_ns;
};
void usage_machine_read(const struct bitset *cpus, struct usage_machine *out);

/* CPU time that process `pid` has used so far, all its threads; 0 when it is gone. */
double usage_process_cpu_s(pid_t pid);

#endif
