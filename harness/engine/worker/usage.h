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

#include "harness/engine/contract/device.h"
#include "harness/lib/bitset.h"
#include "harness/lib/err.h"
#include "harness/lib/sys/cgroup.h"
#include "harness/lib/sys/task.h"

#define USAGE_NO_ACCOUNTING "the kernel's accounting of the threads could not be read"
#define USAGE_NO_SCHEDSTAT "the kernel offers no schedstat; blocked holds the wait"

/*
 * The fields of struct usage, a line each. A new hardware counter is a line in USAGE_COUNTERS, and
 * one in usage.c with the kernel's name for it.
 *
 *   X(field, per_step, metric, unit, better, absent)
 *
 * `field` is also its key in run.json. `metric` is its name in rows.csv, NULL if it is only a part
 * of another metric: the mean over the workers, divided by each worker's steps if `per_step`.
 * `absent` is the reason of a skipped row if no worker has a value; NULL = no row. Four lists,
 * since metrics from other sources come between them in rows.csv.
 */
/* clang-format off */

/*
 * The parts of wall time (on a CPU, in the run queue, stopped by a quota, blocked) are means over
 * the team's threads. helper_cpu_s is the CPU time of threads such as the GPU driver's, neither the
 * first nor of the team. The other fields are of the whole process.
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

/* Distinct CPUs in cpu_samples. */
#define USAGE_CPUS(X)                                                                              \
    X(cpus_visited, false, "cpus_visited", "count", "none", NULL)

/* User mode, all threads; see usage.h. */
#define USAGE_COUNTERS(X)                                                                          \
    X(instructions, true, "instructions_per_step", "count", "lower", NULL)                         \
    X(cycles, true, "cycles_per_step", "count", "lower", NULL)                                     \
    X(cache_misses, true, "cache_misses_per_step", "count", "lower", NULL)

#define USAGE_FIELDS(X) USAGE_SCHEDULER(X) USAGE_FAULTS(X) USAGE_CPUS(X) USAGE_COUNTERS(X)

/* clang-format on */

/*
 * The kernel's account of a worker between go and the end of its last measured step. A field that
 * could not be read is NaN. The parts of wall time add up to wall_s; without schedstat, runqueue_s
 * is NaN and blocked_s holds the wait too. The kernel counts threads that a quota of CPU time
 * (cpu.max) stops as waiting in the run queue: throttled_s is that time, and runqueue_s excludes
 * it. throttled_s is NaN without a quota, and then no part of wall_s.
 */
struct usage {
#define USAGE_MEMBER(field, ...) double field;
    USAGE_FIELDS(USAGE_MEMBER)
#undef USAGE_MEMBER
    unsigned team_threads; /* how many threads the means are over */
};

/* The fields as data, in the same order. */
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
    struct cgroup_throttled throttled; /* so far; valid if `sharers` is not 0 */
    unsigned sharers;                  /* workers that share the quota of throttled.shared_s */
    double stands_for;                 /* number of threads that each thread[] averages; 0 = 1 */
    /* 0: oncpu_ns comes from ticks of stat, and runqueue_ns is 0. No bool: it is in shared memory.
     */
    uint8_t has_schedstat;
    struct usage so_far; /* counted from the start of the process; other fields are NaN */
    unsigned nthreads;   /* team threads in thread[] */
    struct usage_thread thread[CPU_SAMPLE_THREADS];
};

/*
 * Reads process `pid` (0 = the caller). The team is the threads registered in `cpu_samples`, or the
 * main thread if none has registered. Counters are NaN: usage.h reads them.
 */
void usage_read(pid_t pid, const struct cpu_samples *cpu_samples, struct usage_snapshot *out);

/*
 * The same for a command, as its worker last saw it: the team is then one thread, the mean of the
 * busy threads.
 */
void usage_read_tree(const struct tree_used *used, struct usage_snapshot *out);

/*
 * Adds the time for which quotas stopped process `pid` (0 = the caller). `sharers`: workers of the
 * same parent, which share the quotas of the parent's cgroup.
 */
void usage_read_quota(pid_t pid, unsigned sharers, struct usage_snapshot *out);

/* Sets all fields to NaN: nothing is known. */
void usage_forget(struct usage *usage);

/* Differences over the team's threads; wall_s = end_ns - go_ns. */
void usage_diff(const struct usage_snapshot *go, const struct usage_snapshot *end, uint64_t go_ns,
                uint64_t end_ns, const struct cpu_samples *cpu_samples, struct usage *out);

/* Totals over some CPUs. Fields that cannot be read, even of one CPU only, are NaN. */
struct usage_machine {
    double cpu_s, busy_s, steal_s; /* total, busy, stolen; source: /proc/stat */
    double psi_cpu_some_s;         /* time in which some task waited for a CPU */
    uint64_t at_ns;
};
void usage_machine_read(const struct bitset *cpus, struct usage_machine *out);

/*
 * Hardware counters of a worker by perf_event_open(2), USAGE_COUNTERS: in user mode, of every
 * thread started after the call (inherit). Many virtual machines and containers refuse them; that
 * is no error.
 */

#define PERF_ONE_MORE(...) +1
enum { PERF_COUNTERS = 0 USAGE_COUNTERS(PERF_ONE_MORE) };
#undef PERF_ONE_MORE

struct perf {
    int fd[PERF_COUNTERS]; /* -1 = refused */
};

/* Call before any library starts threads. Never fails: refused counters stay absent. */
void perf_open(struct perf *perf);

/* Writes all counts into so_far, or none; they are scaled if the kernel multiplexed counters. */
void perf_read(const struct perf *perf, struct usage_snapshot *snapshot);

void perf_close(struct perf *perf);

/* For the parent: 0 if counters are available, else a negative errno with the reason. */
int perf_probe(struct err *err);

#endif
