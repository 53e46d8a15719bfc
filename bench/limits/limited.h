/*
 * A child in a cgroup of its own that preprocesses batches (bench/feed/batch.h) under limits: what
 * its steps took, what the cgroup counted meanwhile, and how it ended.
 */
#ifndef CONTEND_BENCH_LIMITS_LIMITED_H
#define CONTEND_BENCH_LIMITS_LIMITED_H

#include <stdbool.h>

#include "bench/feed/batch_file.h"
#include "harness/lib/sys/groups.h"

/* A file of the cgroup, "memory.max", and what is written there; name NULL ends a list. */
struct limited_file {
    const char *name;
    char text[64];
};

enum { LIMITED_FILES = 4 };

struct limited {
    const struct groups *groups;
    unsigned index; /* another one for each, below 64 */
    struct limited_file files[LIMITED_FILES + 1];
    double quota_cpus; /* a quota of CPU time; 0 = none */
    unsigned period_ms;
    const struct bench_ctx *ctx;
    const struct batch_params *params;
    unsigned threads;          /* of its team; 0 = a CPU it may use each, as runtimes choose */
    const struct bitset *cpus; /* on which it has to find itself; NULL = the caller's */
    double time_s;             /* of its steps, at least three */
    /* Whose batches are read in turn before steps; NULL = none. */
    const struct batch_file *file;
};

enum limited_end {
    LIMITED_DONE,
    LIMITED_REFUSED, /* the kernel does not take the limit, or not the child: why says which */
    LIMITED_KILLED,  /* by the kernel, as it needed more memory */
    LIMITED_ENDED,   /* by itself: why is what it said */
    LIMITED_STILL,   /* it did nothing any more: it was killed by us */
    LIMITED_WRONG    /* what it computed is wrong */
};

struct limited_result {
    enum limited_end end;
    struct err why;                    /* of all but LIMITED_DONE */
    double rate;                       /* rows a second */
    double p50_ms, p99_ms, max_ms;     /* of a step */
    double cpus_used;                  /* CPU time over time */
    double throttled;                  /* share of the time of its CPUs; NaN = no such controller */
    double throttled_periods;          /* share of the periods in which it ran; the same */
    double refaults;                   /* pages that were there before, a step; the same */
    double anon_bytes;                 /* memory that is not of files, at its end */
    double least_bytes;                /* of that, where it gets no huge pages */
    double oom_kills, threads_refused; /* by its cgroup; 0 where nothing counts them */
};

/*
 * Runs it to its end. 0, whatever end it had, or -errno where it could not be started or its cgroup
 * could not be made.
 */
int limited_run(const struct limited *limited, struct limited_result *result, struct err *err);

#endif
