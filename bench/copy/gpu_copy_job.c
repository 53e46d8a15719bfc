#include "bench/copy/gpu_copy_job.h"

#ifdef CONTEND_HAVE_CUDA

static struct gpu_copy_flow *add_flow(struct copy_job *job, unsigned gpu, uint64_t salt)
{
    struct gpu_copy_flow *flow = &job->flow[job->nflows];
    *flow = (struct gpu_copy_flow){.gpu = gpu, .kernel = job->point->via == COPY_SM};
    job->salt[job->nflows++] = salt;
    return flow;
}

static void add_host_flows(struct copy_job *job, unsigned gpu, unsigned node)
{
    const struct copy_host *host = job->host;
    enum copy_mem mem = job->point->mem;
    if (job->point->dir != COPY_D2H) {
        struct gpu_copy_flow *in = add_flow(job, gpu, copy_host_salt(host, mem, gpu, node));
        in->to = gpu_copy_target(job->copy, gpu);
        in->from = copy_host_from(host, mem, gpu, node);
        in->bytes = copy_host_bytes(host, mem);
        in->staged = mem == COPY_PAGED;
    }
    if (job->point->dir != COPY_H2D) {
        struct gpu_copy_flow *out = add_flow(job, gpu, gpu_copy_salt(gpu));
        out->to = copy_host_to(host, mem, gpu, node);
        out->from = gpu_copy_source(job->copy, gpu);
        out->bytes = copy_host_bytes(host, mem);
        out->staged = mem == COPY_PAGED;
    }
}

static struct gpu_copy_flow *add_pair_flow(struct copy_job *job, unsigned from, unsigned to)
{
    struct gpu_copy_flow *flow = add_flow(job, job->point->write ? from : to, gpu_copy_salt(from));
    flow->to = gpu_copy_target(job->copy, to);
    flow->from = gpu_copy_source(job->copy, from);
    flow->bytes = copy_host_bytes(job->host, COPY_PINNED);
    flow->staged = !gpu_copy_is_direct(job->copy, from, to);
    return flow;
}

/* TO_ONE: each other GPU copies the start of its source to its own part of the hub's target. */
static void add_hub_flows(struct copy_job *job, unsigned ngpus)
{
    unsigned hub = job->point->gpu, others = gpu_set_left(job->set) - 1;
    for (unsigned gpu = 0; gpu < ngpus; gpu++) {
        if (gpu == hub || !gpu_set_has(job->set, gpu))
            continue;
        if (job->point->dir == COPY_FROM_ONE) {
            (void)add_pair_flow(job, hub, gpu);
            continue;
        }
        struct gpu_copy_flow *flow = add_pair_flow(job, gpu, hub);
        flow->bytes = memory_round_down(flow->bytes / others, GPU_COPY_GRAIN);
        flow->to = (char *)flow->to + (job->nflows - 1) * flow->bytes;
    }
}

/* Each remaining GPU copies to a different one, so that all links are busy. */
static void add_ring_flows(struct copy_job *job, unsigned ngpus)
{
    unsigned left[GPU_COPY_GPUS], n = 0;
    for (unsigned gpu = 0; gpu < ngpus; gpu++)
        if (gpu_set_has(job->set, gpu))
            left[n++] = gpu;
    for (unsigned i = 0; i < n && n > 1; i++)
        (void)add_pair_flow(job, left[i], left[(i + 1 + (job->point->peer % (n - 1))) % n]);
}

void copy_job_set_point(struct copy_job *job, const struct copy_point *point)
{
    const struct copy_shape *shape = job->host->shape;
    job->point = point;
    job->nflows = 0;
    if (point->dir == COPY_SWAP && point->all) {
        add_ring_flows(job, shape->ngpus);
        return;
    }
    if (point->dir == COPY_D2D || point->dir == COPY_SWAP)
        (void)add_pair_flow(job, point->gpu, point->peer);
    if (point->dir == COPY_SWAP)
        (void)add_pair_flow(job, point->peer, point->gpu);
    else if (point->dir == COPY_TO_ONE || point->dir == COPY_FROM_ONE)
        add_hub_flows(job, shape->ngpus);
    else if (!copy_is_between_gpus(point) && !point->all)
        add_host_flows(job, point->gpu, point->node);
    for (unsigned gpu = 0; gpu < shape->ngpus && point->all; gpu++)
        if (gpu_set_has(job->set, gpu))
            add_host_flows(job, gpu, shape->home[gpu]);
}

/* Records a batch: the sum of each GPU's flows; between GPUs, the sum of all flows. */
static void add_batch(struct copy_job *job, unsigned batch)
{
    for (unsigned gpu = 0; gpu < GPU_COPY_GPUS; gpu++)
        job->gbps[gpu][batch] = 0;
    for (unsigned i = 0; i < job->nflows; i++) {
        unsigned gpu = copy_is_between_gpus(job->point) ? job->point->gpu : job->flow[i].gpu;
        job->gbps[gpu][batch] +=
            (double)job->flow[i].bytes * copy_rate(job->progress, job->nflows, i) * 1e-9;
    }
}

static int time_batch(struct copy_job *job, unsigned copies)
{
    return gpu_copy_time(job->copy, job->flow, job->nflows, copies, job->progress, &job->err);
}

static int poison_all(struct copy_job *job)
{
    int rc = 0;
    for (unsigned i = 0; i < job->nflows && !rc; i++)
        rc = gpu_copy_poison(job->copy, &job->flow[i], &job->err);
    return rc;
}

static int check_all(struct copy_job *job)
{
    int rc = 0;
    for (unsigned i = 0; i < job->nflows && !rc; i++)
        rc = gpu_copy_check(job->copy, &job->flow[i], job->salt[i], &job->err);
    return rc;
}

/* Makes copies that are not recorded; *once_s: time per copy, of the slowest flow. */
static int run_untimed(struct copy_job *job, unsigned copies, double *once_s)
{
    int rc = time_batch(job, copies);
    *once_s = 0;
    for (unsigned i = 0; i < job->nflows && !rc; i++) {
        double took_s = job->progress[i].seconds[job->progress[i].n - 1] / copies;
        *once_s = took_s > *once_s ? took_s : *once_s;
    }
    return rc;
}

static bool is_staged(const struct copy_job *job)
{
    bool staged = false;
    for (unsigned i = 0; i < job->nflows; i++)
        staged = staged || job->flow[i].staged;
    return staged;
}

void copy_job_run(void *any_job)
{
    struct copy_job *job = any_job;
    double once_s = 0;
    job->rc = run_untimed(job, 1, &once_s);
    unsigned settle = copy_settle(job->share_s, once_s, is_staged(job));
    if (!job->rc)
        job->rc = run_untimed(job, settle, &once_s);
    struct copy_split split = copy_split(job->share_s - (1 + settle) * once_s, once_s, job->nflows);
    job->batches = split.batches;
    if (!job->rc)
        job->rc = poison_all(job);
    for (unsigned batch = 0; batch < split.batches && !job->rc; batch++) {
        job->rc = time_batch(job, split.copies);
        if (!job->rc)
            add_batch(job, batch);
    }
    if (!job->rc)
        job->rc = check_all(job);
}

/* About 10 ms of small copies, so that link and clocks are up. */
static int settle_small(struct copy_job *job)
{
    const unsigned copies = 512, most_batches = 10;
    double once_s = 0, spent_s = 0;
    int rc = 0;
    for (unsigned i = 0; i < most_batches && spent_s < 0.01 && !rc; i++) {
        rc = run_untimed(job, copies, &once_s);
        spent_s += once_s * copies;
    }
    return rc;
}

void copy_job_latency(void *any_job)
{
    struct copy_job *job = any_job;
    job->rc = settle_small(job);
    if (!job->rc)
        job->rc = poison_all(job);
    if (!job->rc)
        job->rc = gpu_copy_latency(job->copy, job->flow, job->samples, job->ns, &job->err);
    if (!job->rc)
        job->rc = check_all(job);
}

#endif
