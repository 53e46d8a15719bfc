/*
 * Copies from and to GPUs: host memory of every NUMA node, every two GPUs, all GPUs at once.
 *
 * Host buffers are bound to a node (mbind) before page-locking touches them; move_pages then tells
 * where they lie. Every destination is poisoned before the timed copies and compared with its
 * source's pattern after them, on the device. A GPU becomes a failed row, and is left out of what
 * follows, if a copy fails, arrives wrong, or does not begin together with its time (queueing takes
 * 5 s: CUDA_LAUNCH_BLOCKING). Each round takes the points in a different order.
 *
 * **Measures** by events on the device. Copies are queued back to back behind a kernel that waits,
 * so that no launch is in the interval. `copy_bandwidth`: bytes of the copies / time, GB/s (1e9),
 * the median of up to three batches of up to 16 copies. Untimed copies come first: for a third of
 * the point's time and at least 10 ms, so that link and clocks are up, and at least three copies if
 * a CPU stages them (the driver's buffers, page faults). dir h2d, d2h, both (their sum), d2d; via
 * ce (copy engine) or sm (a kernel's 16-byte loads and stores); mem pinned, paged (pageable) or wc
 * (write-combined); with alone, or with all GPUs at once, each with its own memory; op read (the
 * destination's GPU issues the copy) or write. d2d-both: two GPUs copy to each other at once.
 * all-to-one and one-to-all: all other GPUs copy to or from one GPU at once, and issue the copies.
 * These three are sums. Of copies at once, only those count that ended before the first flow did.
 * `copy_shared`: with all / alone, below 1 if GPUs share a switch, a socket's link or memory.
 * `peer_access`: 1 if two GPUs reach each other's memory, 0 if copies are staged through the host.
 * `copy_latency`: host time of one copy of pinned memory by copy engine and the wait for it, after
 * about 10 ms of such copies, on CLOCK_MONOTONIC_RAW. `chase_latency`: time of one of 4,095
 * dependent loads by one thread of a kernel, each of another line, with cold L2 caches: through
 * page-locked memory of the GPU's node (mem=pinned), its own memory (device), or another GPU's
 * (peer: src's memory, dst's thread). `copy_size`: bytes of a copy, less than asked for if memory
 * is short.
 * **Source** NVIDIA's nvbandwidth (memcpy.cpp, testcases_ce.cpp, testcases_sm.cpp, kernels.cu);
 * CUDA programming guide, "Page-Locked Host Memory" and "Peer-to-Peer Memory Access".
 * **Limits** Copies of pageable memory take one CPU, the first of the GPU's node, and are measured
 * only there. The node of write-combined memory can be asked for, but not read back. With all, a
 * GPU whose first copy ends after another GPU has ended all of its copies had the path to itself at
 * the end. If a container refuses mbind, there is one node called "any". A node whose memory cannot
 * be page-locked there (CXL's or a GPU's, as movable) has skipped rows. A MIG device is the
 * instance that CUDA shows. A CPU writes the chain in page-locked memory, and its caches may still
 * hold it. Copies between GPUs by kernel, and loads, need GPUs that reach each other's memory.
 */
#include <errno.h>

#include "bench/common/memory.h"
#include "bench/common/memory_node.h"
#include "bench/copy/gpu_copy_scan.h"
#include "bench/gpu/gpu.h"
#include "bench/registry.h"

struct copy_params {
    uint64_t size;
    int dir, mem, via, node;
};

static const char *const node_names[] = {"all", "home", NULL};

static const struct opt copy_opts[] = {
    OPT_SIZE("size", copy_params, size, "512M", 1 << 16, 1ull << 36, "BYTES",
             "of a copy; less where memory is short, a quarter for pageable and write-combined"),
    OPT_CHOICE(
        "dir", copy_params, dir, "all", copy_dir_names, "DIR",
        "only copies to GPUs, from GPUs, both at once, or between GPUs: a pair one way or both "
        "ways at once, from all others to one, from one to all others"),
    OPT_CHOICE("mem", copy_params, mem, "all", copy_mem_names, "MEM",
               "only host memory that is page-locked, pageable, or write-combined"),
    OPT_CHOICE("via", copy_params, via, "all", copy_via_names, "VIA",
               "only by copy engine, or only by a kernel"),
    OPT_CHOICE("node", copy_params, node, "all", node_names, "NODE",
               "host memory of every NUMA node, or of each GPU's own only"),
    {.name = NULL},
};

static const struct bench_metric copy_metrics[] = {
    /* Copies that the CPU stages and p99 latencies are too noisy to compare. */
    [COPY_BANDWIDTH] = {"copy_bandwidth", "GB/s", "higher", .peers = PEERS_EQUAL,
                        .compare_filter = &DIMS({BY_MEM, COPY_PINNED}), .gating = true},
    [COPY_SHARED] = {"copy_shared", "ratio", "higher"},
    [COPY_LATENCY] = {"copy_latency", "us", "lower", .peers = PEERS_EQUAL, .least = 0.3,
                      .compare_filter = &DIMS({BY_STAT, STAT_P50}), .gating = true},
    [CHASE_LATENCY] = {"chase_latency", "ns", "lower", .peers = PEERS_EQUAL, .least = 30,
                       .gating = true},
    [PEER_ACCESS] = {"peer_access", "count", "none"},
    [COPY_SIZE] = {"copy_size", "B", "none"},
    [BUFFER_ON_NODE] = {"buffer_on_node", "ratio", "higher", .hidden = true},
    {.name = NULL},
};

static const struct bench_figure copy_figures[] = {
    {.name = "gpu_copy",
     .kind = FIGURE_HEAT,
     .metric = "copy_bandwidth",
     .only = &DIMS({BY_DIR, COPY_D2D}, {BY_VIA, COPY_CE}, {BY_OP, OP_READ}),
     .title = "copies from the memory of one GPU to that of another",
     .how = "GB/s by the copy engine of the GPU that receives",
     .x = {"to GPU (number)", BY_TARGET},
     .y = {"from GPU (number)", BY_SOURCE},
     .colours = "bandwidth (GB/s)",
     .digits = 1},
    {.name = "host_copy",
     .kind = FIGURE_HEAT,
     .metric = "copy_bandwidth",
     .only = &DIMS({BY_MEM, COPY_PINNED}, {BY_VIA, COPY_CE}, {BY_WITH, WITH_ALONE}),
     .title = "copies between the memory of NUMA nodes and GPUs, one at a time",
     .how = "GB/s of page-locked memory by copy engine",
     .x = {"GPU (number)", BY_GPU},
     .y = {"node (number), direction", BY_NODE},
     .separate_axes = true,
     .colours = "bandwidth (GB/s)",
     .split = BY_DIR,
     .nsplits = COPY_BOTH, /* to and from GPUs */
     .digits = 1},
    {.name = NULL},
};

static struct copy_filter filter_of(const struct copy_params *params)
{
    return (struct copy_filter){
        .dir = params->dir, .mem = params->mem, .via = params->via, .home = params->node == 1};
}

/* Refuses parameters that give no point on any machine: tries 3 GPUs with peer access. */
static int copy_validate(const void *any_params, struct err *err)
{
    const struct copy_params *params = any_params;
    const struct copy_filter filter = filter_of(params);
    const struct copy_shape shape = {
        .ngpus = 3,
        .nnodes = 1,
        .direct = {{true, true, true}, {true, true, true}, {true, true, true}}};
    if (copy_plan(&shape, &filter, NULL, 0))
        return 0;
    return err_set(
        err, -EINVAL,
        "dir=%s, mem=%s, via=%s: pageable memory is copied one way and by copy engine, "
        "write-combined memory only to GPUs (h2d) and by copy engine, and copies between "
        "GPUs have no host memory",
        copy_dir_names[params->dir], copy_mem_names[params->mem], copy_via_names[params->via]);
}

#ifdef CONTEND_HAVE_CUDA

enum { SMALLEST = 1 << 16 };

static const size_t latency_sizes[] = {8, 4096, 65536};
enum { LATENCY_SIZES = sizeof(latency_sizes) / sizeof(latency_sizes[0]) };

static void close_memory(struct copy_scan *scan)
{
    copy_host_close(&scan->host);
    gpu_copy_close(scan->copy);
    scan->copy = NULL;
}

/* *failed: the GPU on which an error occurred, or the number of GPUs if on none. */
static int open_memory(struct copy_scan *scan, size_t bytes, unsigned *failed, struct err *err)
{
    const char *pci_bdf[GPU_COPY_GPUS];
    unsigned first = 0;
    for (unsigned gpu = 0; gpu < scan->shape.ngpus; gpu++)
        pci_bdf[gpu] = gpu_set_has(&scan->set, gpu) ? scan->set.machine->gpus[gpu].pci_bdf : NULL;
    int rc = gpu_copy_open(pci_bdf, scan->shape.ngpus, bytes, &scan->copy, failed, err);
    if (!rc)
        rc = copy_host_open(&scan->host, &scan->shape, bytes, err);
    if (rc)
        return rc;
    while (!pci_bdf[first])
        first++;
    rc = copy_host_fill(&scan->host, scan->copy, first, err);
    if (rc)
        *failed = gpu_copy_selected(scan->copy);
    return rc;
}

/* Halves `bytes` until GPUs and host have enough memory. */
static int open_fitting(struct copy_scan *scan, size_t bytes, unsigned *failed, struct err *err)
{
    int rc = -ENOMEM;
    *failed = scan->shape.ngpus;
    if (bytes < SMALLEST)
        return err_set(err, rc, "too little free memory for copies of %d bytes", SMALLEST);
    for (; rc == -ENOMEM && bytes >= SMALLEST; bytes = memory_round_down(bytes / 2, SMALLEST)) {
        close_memory(scan);
        rc = open_memory(scan, bytes, failed, err);
    }
    return rc;
}

/* Leaves out GPUs that cannot be opened. */
static int open_remaining(struct copy_scan *scan, const struct bench_ctx *ctx)
{
    const struct copy_params *params = ctx->params;
    for (;;) {
        struct err why = {0};
        unsigned failed;
        int rc = gpu_set_check(&scan->set, ctx->err);
        if (rc)
            return rc;
        rc = open_fitting(scan, copy_host_fitting(&scan->shape, params->size), &failed, &why);
        if (!rc)
            return 0;
        if (failed >= scan->set.n)
            return err_set(ctx->err, rc, "%s", why.msg);
        scan->set.why = why;
        (void)gpu_set_drop(&scan->set, failed, rc);
    }
}

static int make_plan(struct copy_scan *scan, struct bench_ctx *ctx)
{
    const struct copy_filter filter = filter_of(ctx->params);
    /* A GPU that is left out counts as reachable, to keep all-to-one points of the others. */
    for (unsigned a = 0; a < scan->shape.ngpus; a++)
        for (unsigned b = 0; b < scan->shape.ngpus; b++)
            scan->shape.direct[a][b] = !gpu_set_has(&scan->set, a) || !gpu_set_has(&scan->set, b) ||
                                       gpu_copy_is_direct(scan->copy, a, b);
    scan->npoints = copy_plan(&scan->shape, &filter, NULL, 0);
    bool any = false;
    scan->points = bench_array(ctx, scan->npoints, sizeof(*scan->points));
    if (!scan->points)
        return -ENOMEM;
    (void)copy_plan(&scan->shape, &filter, scan->points, scan->npoints);
    for (size_t i = 0; i < scan->npoints; i++)
        any = any || copy_point_runs(scan, &scan->points[i]);
    if (!any)
        return err_set(ctx->err, -ENOTSUP,
                       "no copy to measure: pairs need two GPUs, all-to-one and one-to-all three, "
                       "and by kernel "
                       "access between them");
    scan->gbps = bench_array(ctx, scan->npoints, sizeof(*scan->gbps));
    scan->small =
        bench_array(ctx, (size_t)2 * LATENCY_SIZES * scan->shape.ngpus, sizeof(*scan->small));
    if (!scan->gbps || !scan->small)
        return -ENOMEM;
    for (size_t i = 0; i < scan->npoints; i++)
        for (size_t k = 0; k < LATENCY_SIZES && copy_has_latency(&scan->shape, &scan->points[i]);
             k++)
            scan->small[scan->nsmall++] =
                (struct copy_small){.point = &scan->points[i], .bytes = latency_sizes[k]};
    return 0;
}

/* Starts a thread on the first CPU of each node; for nodes without CPUs, of the machine. */
static int start_team(struct copy_scan *scan, struct bench_ctx *ctx)
{
    unsigned os_cpus[COPY_NODES];
    for (unsigned node = 0; node < scan->shape.nnodes; node++) {
        os_cpus[node] = ctx->machine->cpus[0].os_cpu;
        for (unsigned cpu = ctx->machine->ncpus; cpu-- > 0;)
            if (ctx->machine->cpus[cpu].os_node == (int)scan->shape.os_node[node])
                os_cpus[node] = ctx->machine->cpus[cpu].os_cpu;
    }
    return team_open(&scan->team, ctx, os_cpus, scan->shape.nnodes);
}

struct copy_job *copy_job_of(const struct bench_ctx *ctx)
{
    return &((struct copy_scan *)ctx->state)->job;
}

static int copy_setup(struct bench_ctx *ctx)
{
    const struct bench_machine *machine = ctx->machine;
    struct copy_scan *scan = ctx->state;
    bool can_bind = machine->nnodes > 1 && !memory_node_try(machine->nodes[0].os_node, NULL);
    copy_shape_init(&scan->shape, machine, can_bind);
    gpu_set_open(&scan->set, machine);
    int rc = open_remaining(scan, ctx);
    scan->job.copy = scan->copy;
    scan->job.host = &scan->host;
    scan->job.set = &scan->set;
    if (!rc)
        rc = make_plan(scan, ctx);
    if (!rc) {
        const struct copy_filter filter = filter_of(ctx->params);
        rc = copy_walks_open(&scan->walks, &scan->shape, &filter, ctx->round_seed, ctx->err);
    }
    if (!rc)
        rc = start_team(scan, ctx);
    if (!rc) {
        ctx->buffer = scan->host.regions[0].block.base;
        ctx->buffer_bytes = scan->host.regions[0].block.bytes;
    }
    return rc;
}

/* Checks only where memory lies; copy_job_run has already compared the copies. */
static int copy_check(struct bench_ctx *ctx)
{
    const struct copy_scan *scan = ctx->state;
    double share = 1;
    int rc = 0;
    for (unsigned node = 0; node < scan->shape.nnodes && scan->shape.bound && !rc; node++) {
        rc = copy_host_share(&scan->host, node, &share, ctx->err);
        if (!rc && share < 1)
            rc = err_set(ctx->err, -EBADMSG, "only %.4g of the pages bound to node %u lie there",
                         share, scan->shape.os_node[node]);
    }
    return rc;
}

static void copy_teardown(struct bench_ctx *ctx)
{
    struct copy_scan *scan = ctx->state;
    close_memory(scan);
    copy_walks_close(&scan->walks);
}

#endif

const struct bench bench_gpu_copy = {
    .name = "gpu_copy",
    .summary = "copies between host memory and GPUs and between GPUs: bandwidth, latency, sharing",
    .needs = NEED_GPU,
    .opts = copy_opts,
    .params_size = sizeof(struct copy_params),
    .metrics = copy_metrics,
    .dims = copy_dims,
    .figures = copy_figures,
    .validate = copy_validate,
    .probe = gpu_probe,
#ifdef CONTEND_HAVE_CUDA
    .state_size = sizeof(struct copy_scan),
    .setup = copy_setup,
    .scan = copy_scan,
    .check = copy_check,
    .teardown = copy_teardown,
#else
    .scan = gpu_probe,
#endif
};
