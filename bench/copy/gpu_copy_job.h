/*
 * One measured point of gpu_copy: which copies it is made of, and the timing of them, to be run in
 * a thread on the GPU's node. Only in builds with CUDA.
 *
 *   struct copy_job job = {.copy = copy, .host = &host, .set = &set, .share_s = 0.05};
 *   copy_job_aim(&job, &point);
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
    const struct gpu_set *set; /* GPUs that are left out of what all do */
    double share_s;            /* of the time, for copy_job_run */

    const struct copy_point *point;
    struct gpu_copy_flow flow[COPY_FLOWS];
    uint64_t salt[COPY_FLOWS]; /* of the pattern that a flow copies */
    unsigned nflows;

    int rc; /* of the last run, 0 or -errno with the reason in msg, on gpu_copy_at(copy) */
    char msg[GPU_MSG];
    struct gpu_copy_progress progress[COPY_FLOWS]; /* of the last batch */
    unsigned batches;
    double gbps[GPU_COPY_GPUS][COPY_BATCHES]; /* GB/s; between GPUs under the point's */
    unsigned samples;                         /* wanted of a latency, at most COPY_SAMPLES */
    double ns[COPY_SAMPLES];
};

/* Of gpu_copy behind bench_open, for what copies beside other load: its `set` may be replaced. */
struct copy_job *copy_job_of(const struct bench_ctx *ctx);

/* Sets point, flow, salt and nflows. */
void copy_job_aim(struct copy_job *job, const struct copy_point *point);

/*
 * For team_run, `job` is a struct copy_job. Copies that do not count (copy_settle), which also say
 * how many fit; then poison, time, check.
 */
void copy_job_run(void *job);

/* For team_run: `samples` single copies of the only flow, whose bytes may have been lowered. */
void copy_job_latency(void *job);

#endif
