/*
 * A child process in a cgroup of its own that preprocesses batches (bench/feed/batch.h) under
 * limits: the times of its steps, the cgroup's counters meanwhile, and how the child ended.
 */
#ifndef CONTEND_BENCH_LIMITS_LIMITED_H
#define CONTEND_BENCH_LIMITS_LIMITED_H

#include "bench/feed/batch.h"
#include "harness/lib/sys/cgroup.h"

/* A file of the cgroup, such as "memory.max", and the text to write; name NULL ends a list. */
struct limited_file {
    const char *name;
    char text[64];
};

enum { LIMITED_FILES = 4 };

struct limited {
    const struct groups *groups;
    unsigned index; /* unique per child, below 64 */
    struct limited_file files[LIMITED_FILES + 1];
    double quota_cpus; /* a quota of CPU time; 0 = none */
    unsigned period_ms;
    const struct bench_ctx *ctx;
    const struct batch_params *params;
    unsigned threads;          /* of its team; 0 = one per allowed CPU, as runtimes choose */
    const struct bitset *cpus; /* the CPUs that it must find itself on; NULL = no check */
    double time_s;             /* of its steps, of which it does at least three */
    /* The file whose batches are read in turn before steps; NULL = none. */
    const struct batch_file *file;
};

enum limited_end {
    LIMITED_DONE,
    LIMITED_REFUSED, /* the kernel refuses the limit, or a call of the child: see `why` */
    LIMITED_KILLED,  /* by the kernel, for lack of memory */
    LIMITED_ENDED,   /* by itself: `why` has its message */
    LIMITED_STALLED, /* it used no CPU time for 10 s, so it was killed */
    LIMITED_WRONG    /* its result is wrong */
};

struct limited_result {
    enum limited_end end;
    struct err why;                /* unset for LIMITED_DONE */
    double rate;                   /* rows per second */
    double p50_ms, p99_ms, max_ms; /* of a step */
    double cpus_used;              /* CPU time / elapsed time */
    double throttled;              /* share of the time of its CPUs; NaN = no such controller */
    double throttled_periods;      /* share of the periods in which it ran; NaN likewise */
    double refaults;    /* page-cache pages evicted and read again, per step; NaN likewise */
    double anon_bytes;  /* anonymous memory at its end */
    double least_bytes; /* the same without huge pages */
    double oom_kills, threads_refused; /* in its cgroup; 0 if not counted */
};

/*
 * Runs the child to its end. 0 regardless of its end, or -errno if it could not be started or its
 * cgroup could not be made.
 */
int limited_run(const struct limited *limited, struct limited_result *result, struct err *err);

#endif
