/*
 * One measured point of gpu_copy: its copies, and their timing in a thread on the GPU's node. Only
 * in builds with CUDA.
 *
 *   struct copy_job job = {.copy = copy, .host = &host, .set = &set, .share_s = 0.05};
 *   copy_job_set_point(&job, &point);
 *   team_call(&team, node, copy_job_run, &job);     then job.rc, job.gbps[gpu][0 .. batches - 1]
 */
#ifndef CONTEND_BENCH_COPY_GPU_COPY_JOB_H
#define CONTEND_BENCH_COPY_GPU_COPY_JOB_H

#include "bench/copy/gpu_copy_host.h"
#include "bench/copy/gpu_copy_plan.h"
#include "bench/gpu/gpu.h"
#include "bench/gpu/gpu_set.h"

enum { COPY_FLOWS = GPU_COPY_GPUS * GPU_COPY_STREAMS, COPY_SAMPLES = 2000 };

struct copy_job {
    struct gpu_copy *copy;
    const struct copy_host *host;
    const struct gpu_set *set; /* the GPUs that take part in points of all GPUs */
    double share_s;            /* time for copy_job_run */

    const struct copy_point *point;
    struct gpu_copy_flow flow[COPY_FLOWS];
    uint64_t salt[COPY_FLOWS]; /* of the pattern that a flow copies */
    unsigned nflows;

    int rc;         /* of the last run: 0, or -errno on GPU gpu_copy_selected(copy) */
    struct err err; /* its reason */
    struct gpu_copy_progress progress[COPY_FLOWS]; /* of the last batch */
    unsigned batches;
    double gbps[GPU_COPY_GPUS][COPY_BATCHES]; /* GB/s; between GPUs: at index point->gpu */
    unsigned samples;                         /* for copy_job_latency, at most COPY_SAMPLES */
    double ns[COPY_SAMPLES];
};

/* The job of an open gpu_copy, for benchmarks that copy under other load. They may change `set`. */
struct copy_job *copy_job_of(const struct bench_ctx *ctx);

/* Selects a point: sets point, flow, salt and nflows. */
void copy_job_set_point(struct copy_job *job, const struct copy_point *point);

/*
 * For team_call; `job` is a struct copy_job. Makes untimed copies (copy_settle), which also tell
 * how many fit into share_s; then poisons the destinations, times copies and checks the result.
 */
void copy_job_run(void *job);

/* For team_call: times `samples` single copies of the only flow. The caller may lower its bytes. */
void copy_job_latency(void *job);

#endif
