#include "kernels/gpu/copy/gpu_copy.h"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>

#include "kernels/gpu/copy/gpu_copy_device.cuh"

enum { LEAD_BYTES = 1 << 20, LATENCY_WARMUP = 20 };

/* A held stream continues by itself after this time: a host that died must not leave a busy GPU. */
static const uint64_t hold_limit_ns = 5000000000;

__device__ static uint64_t device_time_ns()
{
    uint64_t now_ns;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now_ns));
    return now_ns;
}

__global__ void hold(const volatile int *latch, volatile int *expired, uint64_t limit_ns)
{
    uint64_t start_ns = device_time_ns();
    while (!*latch)
        if (device_time_ns() - start_ns > limit_ns) {
            *expired = 1;
            break;
        }
}

__global__ void __launch_bounds__(BLOCK_THREADS)
    copy_words(uint4 *__restrict__ to, const uint4 *__restrict__ from, size_t n)
{
    size_t step = (size_t)gridDim.x * blockDim.x;
    size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    for (; i + (UNROLL - 1) * step < n; i += UNROLL * step) {
        uint4 value[UNROLL];
#pragma unroll
        for (unsigned k = 0; k < UNROLL; k++)
            value[k] = from[i + k * step];
#pragma unroll
        for (unsigned k = 0; k < UNROLL; k++)
            to[i + k * step] = value[k];
    }
    for (; i < n; i += step)
        to[i] = from[i];
}

/*
 * CUDA loads a kernel's code at its first use, and loading can wait for all running work: with a
 * held stream, forever (CUDA programming guide, "Lazy Loading").
 */
static cudaError_t load_kernels()
{
    cudaFuncAttributes attributes;
    cudaError_t error = cudaFuncGetAttributes(&attributes, (const void *)hold);
    if (error == cudaSuccess)
        error = cudaFuncGetAttributes(&attributes, (const void *)copy_words);
    return error == cudaSuccess ? gpu_copy_data_load() : error;
}

static cudaError_t open_queues(struct gpu_copy_device *device)
{
    int multiprocessors = 0;
    cudaError_t error =
        cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device->ordinal);
    device->blocks = BLOCKS_PER_SM * (unsigned)multiprocessors;
    for (int i = 0; i < GPU_COPY_STREAMS && error == cudaSuccess; i++) {
        error = cudaStreamCreateWithFlags(&device->stream[i], cudaStreamNonBlocking);
        if (error == cudaSuccess)
            error = cudaEventCreate(&device->begin[i]);
        for (int k = 0; k < GPU_COPY_MARKS && error == cudaSuccess; k++)
            error = cudaEventCreate(&device->mark[i][k]);
    }
    return error == cudaSuccess ? load_kernels() : error;
}

static int open_device(struct gpu_copy *copy, unsigned gpu, const char *pci_bdf, struct err *err)
{
    struct gpu_copy_device *device = &copy->device[gpu];
    char what[80];
    copy->selected = gpu;
    int rc = gpu_open(pci_bdf, cudaDeviceScheduleSpin, &device->ordinal, err);
    if (!rc)
        rc = gpu_checked(open_queues(device), "streams of the GPU", err);
    (void)snprintf(what, sizeof(what), "buffer of %zu bytes", copy->bytes);
    for (int i = 0; i < BUFFERS && !rc; i++)
        rc = gpu_checked(cudaMalloc(&device->buffer[i], copy->bytes), what, err);
    if (!rc)
        rc = gpu_checked(cudaMalloc(&device->wrong, sizeof(*device->wrong)), what, err);
    return rc;
}

/* Enables access of GPU a to the memory of GPU b, if the machine supports it. */
static int open_way(struct gpu_copy *copy, unsigned a, unsigned b, struct err *err)
{
    int can = 0;
    int to = copy->device[b].ordinal;
    int rc = gpu_checked(cudaDeviceCanAccessPeer(&can, copy->device[a].ordinal, to),
                         "access between GPUs", err);
    if (rc || !can)
        return rc;
    cudaError_t error = cudaDeviceEnablePeerAccess(to, 0);
    (void)cudaGetLastError();
    copy->reaches[a][b] = error == cudaSuccess || error == cudaErrorPeerAccessAlreadyEnabled;
    /* CUDA limits the number of a GPU's peers: beyond it, copies of the pair are staged. */
    if (copy->reaches[a][b] || error == cudaErrorTooManyPeers)
        return 0;
    return gpu_fail(error, "access between GPUs", err);
}

static bool is_open(const struct gpu_copy *copy, unsigned gpu)
{
    return copy->device[gpu].stream[0] != NULL;
}

static int open_ways(struct gpu_copy *copy, struct err *err)
{
    int rc = 0;
    for (unsigned a = 0; a < copy->ngpus && !rc; a++) {
        if (!is_open(copy, a))
            continue;
        rc = gpu_checked(gpu_copy_select(copy, a), "cannot use the GPU", err);
        copy->reaches[a][a] = true;
        for (unsigned b = 0; b < copy->ngpus && !rc; b++)
            if (a != b && is_open(copy, b))
                rc = open_way(copy, a, b, err);
    }
    return rc;
}

static int open_latch(struct gpu_copy *copy, struct err *err)
{
    int rc = gpu_checked(cudaHostAlloc(&copy->latch, (1 + GPU_COPY_GPUS) * sizeof(*copy->latch),
                                       cudaHostAllocPortable | cudaHostAllocMapped),
                         "latch of the streams", err);
    copy->expired = copy->latch ? copy->latch + 1 : NULL;
    return rc;
}

static int open_all(struct gpu_copy *copy, const char *const *pci_bdf, struct err *err)
{
    int rc = 0;
    for (unsigned gpu = 0; gpu < copy->ngpus && !rc; gpu++)
        if (pci_bdf[gpu])
            rc = open_device(copy, gpu, pci_bdf[gpu], err);
    if (!rc)
        rc = open_ways(copy, err);
    if (!rc)
        rc = open_latch(copy, err);
    for (unsigned gpu = 0; gpu < copy->ngpus && !rc; gpu++)
        if (is_open(copy, gpu))
            rc = gpu_copy_fill(copy, gpu, gpu_copy_source(copy, gpu), copy->bytes,
                               gpu_copy_salt(gpu), err);
    return rc;
}

int gpu_copy_open(const char *const *pci_bdf, unsigned ngpus, size_t bytes, struct gpu_copy **copy,
                  unsigned *failed, struct err *err)
{
    *copy = NULL;
    *failed = ngpus;
    if (ngpus == 0 || ngpus > GPU_COPY_GPUS || bytes == 0 || bytes % GPU_COPY_GRAIN) {
        return err_set(err, -EINVAL, "%u GPUs, %zu bytes: at most %d GPUs, multiples of %d bytes",
                       ngpus, bytes, GPU_COPY_GPUS, GPU_COPY_GRAIN);
    }
    struct gpu_copy *opened = (struct gpu_copy *)calloc(1, sizeof(*opened));
    if (!opened) {
        return err_set(err, -ENOMEM, "cannot allocate the state of %u GPUs", ngpus);
    }
    opened->ngpus = ngpus;
    opened->bytes = bytes;
    int rc = open_all(opened, pci_bdf, err);
    *failed = rc ? opened->selected : ngpus;
    if (rc)
        gpu_copy_close(opened);
    else
        *copy = opened;
    return rc;
}

unsigned gpu_copy_selected(const struct gpu_copy *copy)
{
    return copy->selected;
}

void *gpu_copy_source(const struct gpu_copy *copy, unsigned gpu)
{
    return copy->device[gpu].buffer[SOURCE];
}

uint64_t gpu_copy_salt(unsigned gpu)
{
    return 1 + gpu;
}

void *gpu_copy_target(const struct gpu_copy *copy, unsigned gpu)
{
    return copy->device[gpu].buffer[TARGET];
}

bool gpu_copy_is_direct(const struct gpu_copy *copy, unsigned a, unsigned b)
{
    return copy->reaches[a][b] && copy->reaches[b][a];
}

int gpu_copy_pin(void *base, size_t bytes, struct err *err)
{
    return gpu_checked(
        cudaHostRegister(base, bytes, cudaHostRegisterPortable | cudaHostRegisterMapped),
        "page-locking of host memory", err);
}

void gpu_copy_unpin(void *base)
{
    (void)cudaHostUnregister(base);
}

int gpu_copy_alloc_combined(size_t bytes, void **base, struct err *err)
{
    unsigned flags = cudaHostAllocPortable | cudaHostAllocMapped | cudaHostAllocWriteCombined;
    return gpu_checked(cudaHostAlloc(base, bytes, flags), "write-combined host memory", err);
}

void gpu_copy_free_combined(void *base)
{
    if (base)
        (void)cudaFreeHost(base);
}

/* Index of the GPU's stream that flow i uses: each flow of a GPU has its own stream. */
static unsigned stream_of(const struct gpu_copy_flow *flows, unsigned i)
{
    unsigned stream = 0;
    for (unsigned k = 0; k < i; k++)
        stream += flows[k].gpu == flows[i].gpu;
    return stream;
}

static cudaError_t queue_copy(const struct gpu_copy_device *device, cudaStream_t stream,
                              const struct gpu_copy_flow *flow, size_t bytes)
{
    if (!flow->kernel)
        return cudaMemcpyAsync(flow->to, flow->from, bytes, cudaMemcpyDefault, stream);
    copy_words<<<device->blocks, BLOCK_THREADS, 0, stream>>>(
        (uint4 *)flow->to, (const uint4 *)flow->from, bytes / sizeof(uint4));
    return cudaGetLastError();
}

/*
 * The stream is held until the host has queued everything. A short copy comes first, so that the
 * interval does not include the switch from one engine to another. The other flows start together
 * with the first flow.
 */
static cudaError_t queue_begin(struct gpu_copy *copy, const struct gpu_copy_flow *flows, unsigned i)
{
    unsigned lane = stream_of(flows, i), gpu = flows[i].gpu;
    const struct gpu_copy_device *first = &copy->device[flows[0].gpu], *device = &copy->device[gpu];
    cudaStream_t stream = device->stream[lane];
    cudaError_t error = gpu_copy_select(copy, gpu);
    if (error == cudaSuccess && !flows[i].staged) {
        hold<<<1, 1, 0, stream>>>(copy->latch, &copy->expired[gpu], hold_limit_ns);
        error = cudaGetLastError();
    }
    if (error == cudaSuccess)
        error = queue_copy(device, stream, &flows[i],
                           flows[i].bytes < LEAD_BYTES ? flows[i].bytes : LEAD_BYTES);
    if (error == cudaSuccess && i > 0)
        error = cudaStreamWaitEvent(stream, first->begin[0], 0);
    return error == cudaSuccess ? cudaEventRecord(device->begin[lane], stream) : error;
}

/* Queues the copies, with progress->n marks between them. */
static cudaError_t queue_flow(struct gpu_copy *copy, const struct gpu_copy_flow *flows, unsigned i,
                              unsigned copies, struct gpu_copy_progress *progress)
{
    const struct gpu_copy_device *device = &copy->device[flows[i].gpu];
    unsigned lane = stream_of(flows, i), queued = 0;
    cudaError_t error = gpu_copy_select(copy, flows[i].gpu);
    for (unsigned k = 0; k < progress->n && error == cudaSuccess; k++) {
        progress->copies[k] = copies * (k + 1) / progress->n;
        for (; queued < progress->copies[k] && error == cudaSuccess; queued++)
            error = queue_copy(device, device->stream[lane], &flows[i], flows[i].bytes);
        if (error == cudaSuccess)
            error = cudaEventRecord(device->mark[lane][k], device->stream[lane]);
    }
    return error;
}

static cudaError_t wait_and_read(struct gpu_copy *copy, const struct gpu_copy_flow *flows,
                                 unsigned i, struct gpu_copy_progress *progress)
{
    const struct gpu_copy_device *device = &copy->device[flows[i].gpu];
    unsigned lane = stream_of(flows, i);
    cudaError_t error = gpu_copy_select(copy, flows[i].gpu);
    if (error == cudaSuccess)
        error = cudaStreamSynchronize(device->stream[lane]);
    for (unsigned k = 0; k < progress->n && error == cudaSuccess; k++) {
        float took_ms = 0;
        error = cudaEventElapsedTime(&took_ms, device->begin[lane], device->mark[lane][k]);
        progress->seconds[k] = (double)took_ms * 1e-3;
    }
    return error;
}

/* After an error copy->selected is the GPU on which it occurred. */
static cudaError_t queue_all(struct gpu_copy *copy, const struct gpu_copy_flow *flows,
                             unsigned nflows, unsigned copies, struct gpu_copy_progress *progress)
{
    /* Each mark delays its stream a little; a single flow needs only the last one. */
    unsigned marks = nflows == 1 ? 1 : copies < GPU_COPY_MARKS ? copies : GPU_COPY_MARKS;
    cudaError_t error = cudaSuccess;
    for (unsigned i = 0; i < nflows && error == cudaSuccess; i++)
        error = queue_begin(copy, flows, i);
    for (unsigned i = 0; i < nflows && error == cudaSuccess; i++) {
        progress[i].n = marks;
        error = queue_flow(copy, flows, i, copies, &progress[i]);
    }
    return error;
}

/* -ETIME if a stream continued by itself before everything was queued. */
static int check_held(struct gpu_copy *copy, struct err *err)
{
    for (unsigned gpu = 0; gpu < copy->ngpus; gpu++) {
        if (!((volatile int *)copy->expired)[gpu])
            continue;
        copy->selected = gpu;
        return err_set(err, -ETIME,
                       "copies were to begin together and did not: queueing them took more than "
                       "%.0f s (CUDA_LAUNCH_BLOCKING or a debugger makes each launch wait, or the "
                       "process was stopped)",
                       (double)hold_limit_ns * 1e-9);
    }
    return 0;
}

int gpu_copy_time(struct gpu_copy *copy, const struct gpu_copy_flow *flows, unsigned nflows,
                  unsigned copies, struct gpu_copy_progress *progress, struct err *err)
{
    volatile int *latch = copy->latch;
    for (unsigned i = 0; i < nflows; i++)
        if (stream_of(flows, i) >= GPU_COPY_STREAMS) {
            return err_set(err, -EINVAL, "more than %d copies at once", GPU_COPY_STREAMS);
        }
    memset(copy->expired, 0, GPU_COPY_GPUS * sizeof(*copy->expired));
    *latch = 0;
    cudaError_t error = queue_all(copy, flows, nflows, copies, progress);
    unsigned at = copy->selected;
    /* Release the streams also after an error: they would block their GPUs. */
    *latch = 1;
    for (unsigned i = 0; i < nflows; i++) {
        cudaError_t own = wait_and_read(copy, flows, i, &progress[i]);
        if (error != cudaSuccess || own == cudaSuccess)
            continue;
        error = own;
        at = copy->selected;
    }
    copy->selected = at;
    return error == cudaSuccess ? check_held(copy, err) : gpu_fail(error, "timing of copies", err);
}

static double now_ns()
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC_RAW, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

int gpu_copy_latency(struct gpu_copy *copy, const struct gpu_copy_flow *flow, unsigned samples,
                     double *ns, struct err *err)
{
    const struct gpu_copy_device *device = &copy->device[flow->gpu];
    cudaStream_t stream = device->stream[0];
    cudaError_t error = gpu_copy_select(copy, flow->gpu);
    for (unsigned i = 0; i < LATENCY_WARMUP + samples && error == cudaSuccess; i++) {
        double start_ns = now_ns();
        error = queue_copy(device, stream, flow, flow->bytes);
        if (error == cudaSuccess)
            error = cudaStreamSynchronize(stream);
        if (i >= LATENCY_WARMUP)
            ns[i - LATENCY_WARMUP] = now_ns() - start_ns;
    }
    return gpu_checked(error, "latency of copies", err);
}

static void close_device(struct gpu_copy_device *device)
{
    /* A device that was never opened has no stream, and selecting it would create a context. */
    if (!device->stream[0] || cudaSetDevice(device->ordinal) != cudaSuccess)
        return;
    (void)cudaDeviceSynchronize();
    if (device->wrong)
        (void)cudaFree(device->wrong);
    for (int i = BUFFERS; i-- > 0;)
        if (device->buffer[i])
            (void)cudaFree(device->buffer[i]);
    for (int i = GPU_COPY_STREAMS; i-- > 0;) {
        for (int k = GPU_COPY_MARKS; k-- > 0;)
            if (device->mark[i][k])
                (void)cudaEventDestroy(device->mark[i][k]);
        if (device->begin[i])
            (void)cudaEventDestroy(device->begin[i]);
        if (device->stream[i])
            (void)cudaStreamDestroy(device->stream[i]);
    }
}

void gpu_copy_close(struct gpu_copy *copy)
{
    if (!copy)
        return;
    for (unsigned gpu = copy->ngpus; gpu-- > 0;)
        close_device(&copy->device[gpu]);
    if (copy->latch)
        (void)cudaFreeHost(copy->latch);
    (void)cudaGetLastError();
    free(copy);
}
