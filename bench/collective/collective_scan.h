/* Shared by collective.c (which operations to run) and collective_scan.c (running them). */
#ifndef CONTEND_BENCH_COLLECTIVE_COLLECTIVE_SCAN_H
#define CONTEND_BENCH_COLLECTIVE_COLLECTIVE_SCAN_H

#include "bench/collective/collective_engine.h"
#include "bench/collective/collective_points.h"

enum place { PLACE_OUT, PLACE_IN, PLACE_BOTH };

struct collective_params {
    uint64_t begin, end;
    int64_t factor, root, queue;
    int op, type, redop, place;
    bool graph, registered, check;
};

/* The last entry is "all", at index COLLECTIVE_OPS. */
extern const char *const collective_op_names[];
extern const char *const collective_type_names[];
extern const char *const collective_redop_names[];

/* Indices of the dimensions. */
enum { BY_OP = 1, BY_RANK, BY_PLACE, BY_STAT, BY_SIZE, BY_WHY, BY_HOST };

/* Indices of bench_collective.metrics. */
enum {
    COLLECTIVE_LATENCY,
    COLLECTIVE_ALGBW,
    COLLECTIVE_BUSBW,
    COLLECTIVE_TIME,
    RANK_LAST_SHARE,
    RANK_WAITED,
    SKIPPED_SIZE,
    RANK_ON_HOST,
    COLLECTIVE_RANKS
};
enum { COLLECTIVE_HOST_MAX = 32 };

/* Sizes at which an operation was not run; 0 = none. See skipped_size in collective.c. */
struct skipped {
    uint64_t small, large;
};

struct collective_scan {
    struct collective team;
    struct collective_call *points; /* [npoints] */
    size_t npoints;
    struct skipped skipped[COLLECTIVE_OPS];
    double share_s; /* of the budget, for one point */
    /* Gathered from all processes or ranks, in order. */
    double *took_s;                      /* [processes] */
    struct collective_verdict *verdicts; /* [processes] */
    char (*hosts)[COLLECTIVE_HOST_MAX];  /* [processes] */
    bool several_hosts;
    struct collective_time *own, *times;  /* [local or ranks][COLLECTIVE_TIMES_MAX] */
    struct collective_lateness *lateness; /* [ranks] */
    double scratch[COLLECTIVE_TIMES_MAX];
    struct err wrong; /* what the first check that failed found */
};

/* `scan` of struct bench; ctx->state is a struct collective_scan. */
int collective_scan_run(struct bench_ctx *ctx);

#endif
