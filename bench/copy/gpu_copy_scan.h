/*
 * The scan of gpu_copy: measures every point and emits its values. gpu_copy.c opens what it uses.
 * Only in builds with CUDA, except for the metrics.
 */
#ifndef CONTEND_BENCH_COPY_GPU_COPY_SCAN_H
#define CONTEND_BENCH_COPY_GPU_COPY_SCAN_H

#include "bench/common/team.h"
#include "bench/copy/gpu_copy_host.h"
#include "bench/copy/gpu_copy_job.h"
#include "bench/copy/gpu_copy_plan.h"
#include "bench/gpu/gpu_set.h"

/*
 * The chains of loads of gpu_copy (kernels/gpu/gpu_chase.h): through a GPU's own memory, another
 * GPU's or the host's. Only in builds with CUDA.
 *
 *   struct copy_walks walks = {0};
 *   rc = copy_walks_open(&walks, &shape, &filter, seed, err);
 *   copy_walks_measure(&walks, i, &job, &team, &set);      for i < walks.n
 *   copy_walks_emit(ctx, &walks, i, METRIC, &set);
 *   copy_walks_close(&walks);
 */

struct copy_walks {
    const struct copy_shape *shape;
    size_t n;
    struct copy_chase *chases; /* owned */
    double *ns;                /* per load, of each chain; owned */
    uint64_t seed;             /* of the chains */
};

/* -ENOMEM only. */
int copy_walks_open(struct copy_walks *walks, const struct copy_shape *shape,
                    const struct copy_filter *filter, uint64_t seed, struct err *err);

/* Runs on a CPU of the GPU's node. After an error, `set` no longer has the GPU. */
void copy_walks_measure(struct copy_walks *walks, size_t i, struct copy_job *job, struct team *team,
                        struct gpu_set *set);

/* Emits nothing if one of the chain's GPUs is left out. */
void copy_walks_emit(struct bench_ctx *ctx, const struct copy_walks *walks, size_t i,
                     unsigned metric, const struct gpu_set *set);

void copy_walks_close(struct copy_walks *walks);

/* Indices of the metrics. */
enum {
    COPY_BANDWIDTH,
    COPY_SHARED,
    COPY_LATENCY,
    CHASE_LATENCY,
    PEER_ACCESS,
    COPY_SIZE,
    BUFFER_ON_NODE
};

/* The state of the benchmark. */
struct copy_scan {
    struct gpu_set set;
    struct copy_shape shape;
    struct gpu_copy *copy;
    struct copy_host host;
    struct team team; /* a thread on each node */
    struct copy_point *points;
    size_t npoints;
    double *gbps;                           /* by point, except points of all GPUs */
    double all[COPY_DIRS][GPU_COPY_GPUS];   /* GB/s, of points of all GPUs */
    double alone[COPY_DIRS][GPU_COPY_GPUS]; /* GB/s of a GPU alone, for emit_gpu; 0: none */
    struct copy_small {
        const struct copy_point *point;
        size_t bytes;
        double p50_ns, p99_ns;
    } * small;
    size_t nsmall;
    struct copy_walks walks;
    double left_s; /* time for the nleft bandwidth points that are not yet measured */
    size_t nleft;
    struct copy_job job;
};

/* True if the point's node and GPUs are left; all at once needs two GPUs, one and others three. */
bool copy_point_runs(const struct copy_scan *scan, const struct copy_point *point);

/* For struct bench: emits what the machine has, then the points, then the GPUs that failed. */
int copy_scan(struct bench_ctx *ctx);

#endif
