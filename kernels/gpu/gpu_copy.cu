#include "kernels/gpu/gpu_copy.h"

#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <ctime>

#include "kernels/cpu/mix64.h"
#include "kernels/gpu/gpu_common.cuh"

/* Two blocks a multiprocessor with 8 loads of 16 bytes a thread in flight keep any link busy. */
enum { BLOCK_THREADS = 512, BLOCKS_PER_SM = 2, UNROLL = 8 };

enum { LEAD_BYTES = 1 << 20, LATENCY_WARMUP = 20 };

/* A held stream goes on by itself after this, or a host that died would leave a busy GPU. */
static const uint64_t hold_limit_ns = 5000000000;

enum { SOURCE, TARGET, SCRATCH, BUFFERS };

struct device {
    int ordinal;
    unsigned blocks; /* of a grid that fills the GPU */
    cudaStream_t stream[GPU_COPY_STREAMS];
    cudaEvent_t begin[GPU_COPY_STREAMS];
    cudaEvent_t mark[GPU_COPY_STREAMS][GPU_COPY_MARKS]; /* between copies, and behind the last */
    char *buffer[BUFFERS];
    unsigned long long *wrong; /* on the device: index of the first wrong word */
};

struct gpu_copy {
    unsigned ngpus;
    size_t bytes; /* of a buffer */
    int *latch;   /* in host memory that all GPUs read: 0 holds streams up */
    struct device device[GPU_COPY_GPUS];
    bool reaches[GPU_COPY_GPUS][GPU_COPY_GPUS]; /* the first can access the second's memory */
};

__device__ static uint64_t device_time_ns()
{
    uint64_t now_ns;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now_ns));
    return now_ns;
}

__global__ void hold(const volatile int *latch, uint64_t limit_ns)
{
    uint64_t start_ns = device_time_ns();
    while (!*latch && device_time_ns() - start_ns < limit_ns)
        ;
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

__host__ __device__ static uint64_t pattern(uint64_t index, uint64_t salt)
{
    return mix64(index + (salt << 40));
}

__global__ void fill_words(uint64_t *to, size_t n, uint64_t salt)
{
    size_t step = (size_t)gridDim.x * blockDim.x;
    for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += step)
        to[i] = pattern(i, salt);
}

__global__ void find_wrong(const uint64_t *words, size_t n, uint64_t salt,
                           unsigned long long *wrong)
{
    size_t step = (size_t)gridDim.x * blockDim.x;
    for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += step)
        if (words[i] != pattern(i, salt))
            atomicMin(wrong, (unsigned long long)i);
}

/*
 * A kernel's code is loaded at its first use, and loading can wait for all that runs: behind a held
 * stream, for ever (CUDA programming guide, "Lazy Loading").
 */
static cudaError_t load_kernels()
{
    const void *kernels[] = {(const void *)hold, (const void *)copy_words, (const void *)fill_words,
                             (const void *)find_wrong};
    cudaFuncAttributes attributes;
    cudaError_t error = cudaSuccess;
    for (const void *kernel : kernels)
        if (error == cudaSuccess)
            error = cudaFuncGetAttributes(&attributes, kernel);
    return error;
}

static cudaError_t open_queues(struct device *device)
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

static int open_device(struct gpu_copy *copy, unsigned gpu, const char *pci_bdf, char *msg,
                       size_t size)
{
    struct device *device = &copy->device[gpu];
    char what[80];
    int rc = gpu_open(pci_bdf, cudaDeviceScheduleSpin, &device->ordinal, msg, size);
    if (!rc)
        rc = gpu_checked(open_queues(device), "streams of the GPU", msg, size);
    (void)snprintf(what, sizeof(what), "buffer of %zu bytes on GPU %u", copy->bytes, gpu);
    for (int i = 0; i < BUFFERS && !rc; i++)
        rc = gpu_checked(cudaMalloc(&device->buffer[i], copy->bytes), what, msg, size);
    if (!rc)
        rc = gpu_checked(cudaMalloc(&device->wrong, sizeof(*device->wrong)), what, msg, size);
    return rc;
}

/* Opens the way from one GPU into another's memory, where the machine has one. */
static int open_way(struct gpu_copy *copy, unsigned a, unsigned b, char *msg, size_t size)
{
    int can = 0;
    int to = copy->device[b].ordinal;
    int rc = gpu_checked(cudaDeviceCanAccessPeer(&can, copy->device[a].ordinal, to),
                         "access between GPUs", msg, size);
    if (rc || !can)
        return rc;
    cudaError_t error = cudaDeviceEnablePeerAccess(to, 0);
    (void)cudaGetLastError();
    copy->reaches[a][b] = error == cudaSuccess || error == cudaErrorPeerAccessAlreadyEnabled;
    /* A GPU has room for so many peers only: the pair is staged then, and reported so. */
    if (copy->reaches[a][b] || error == cudaErrorTooManyPeers)
        return 0;
    return gpu_fail(error, "access between GPUs", msg, size);
}

static int open_ways(struct gpu_copy *copy, char *msg, size_t size)
{
    int rc = 0;
    for (unsigned a = 0; a < copy->ngpus && !rc; a++) {
        rc = gpu_checked(cudaSetDevice(copy->device[a].ordinal), "cannot use the GPU", msg, size);
        copy->reaches[a][a] = true;
        for (unsigned b = 0; b < copy->ngpus && !rc; b++)
            if (a != b)
                rc = open_way(copy, a, b, msg, size);
    }
    return rc;
}

static int open_all(struct gpu_copy *copy, const char *const *pci_bdf, char *msg, size_t size)
{
    int rc = 0;
    for (unsigned gpu = 0; gpu < copy->ngpus && !rc; gpu++)
        rc = open_device(copy, gpu, pci_bdf[gpu], msg, size);
    if (!rc)
        rc = open_ways(copy, msg, size);
    if (!rc)
        rc = gpu_checked(cudaHostAlloc(&copy->latch, sizeof(*copy->latch),
                                       cudaHostAllocPortable | cudaHostAllocMapped),
                         "latch of the streams", msg, size);
    for (unsigned gpu = 0; gpu < copy->ngpus && !rc; gpu++)
        rc = gpu_copy_fill(copy, gpu, gpu_copy_source(copy, gpu), copy->bytes, gpu_copy_salt(gpu),
                           msg, size);
    return rc;
}

int gpu_copy_open(const char *const *pci_bdf, unsigned ngpus, size_t bytes, struct gpu_copy **copy,
                  char *msg, size_t size)
{
    *copy = NULL;
    if (ngpus == 0 || ngpus > GPU_COPY_GPUS || bytes == 0 || bytes % GPU_COPY_GRAIN) {
        (void)snprintf(msg, size, "%u GPUs, %zu bytes: at most %d GPUs, multiples of %d bytes",
                       ngpus, bytes, GPU_COPY_GPUS, GPU_COPY_GRAIN);
        return -EINVAL;
    }
    struct gpu_copy *opened = (struct gpu_copy *)calloc(1, sizeof(*opened));
    if (!opened) {
        (void)snprintf(msg, size, "cannot allocate the state of %u GPUs", ngpus);
        return -ENOMEM;
    }
    opened->ngpus = ngpus;
    opened->bytes = bytes;
    int rc = open_all(opened, pci_bdf, msg, size);
    if (rc)
        gpu_copy_close(opened);
    else
        *copy = opened;
    return rc;
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

int gpu_copy_pin(void *base, size_t bytes, char *msg, size_t size)
{
    return gpu_checked(
        cudaHostRegister(base, bytes, cudaHostRegisterPortable | cudaHostRegisterMapped),
        "page-locking of host memory", msg, size);
}

void gpu_copy_unpin(void *base)
{
    (void)cudaHostUnregister(base);
}

int gpu_copy_alloc_combined(size_t bytes, void **base, char *msg, size_t size)
{
    unsigned flags = cudaHostAllocPortable | cudaHostAllocMapped | cudaHostAllocWriteCombined;
    return gpu_checked(cudaHostAlloc(base, bytes, flags), "write-combined host memory", msg, size);
}

void gpu_copy_free_combined(void *base)
{
    if (base)
        (void)cudaFreeHost(base);
}

/* The GPU on which an address of its source or target lies; NULL for host memory. */
static struct device *owner(struct gpu_copy *copy, const void *address)
{
    const char *at = (const char *)address;
    for (unsigned gpu = 0; gpu < copy->ngpus; gpu++)
        for (int i = SOURCE; i <= TARGET; i++) {
            const char *base = copy->device[gpu].buffer[i];
            if (at >= base && at < base + copy->bytes)
                return &copy->device[gpu];
        }
    return NULL;
}

int gpu_copy_fill(struct gpu_copy *copy, unsigned gpu, void *base, size_t bytes, uint64_t salt,
                  char *msg, size_t size)
{
    struct device *home = owner(copy, base), *device = home ? home : &copy->device[gpu];
    cudaStream_t stream = device->stream[0];
    uint64_t *words = (uint64_t *)(home ? base : device->buffer[SCRATCH]);
    cudaError_t error = cudaSetDevice(device->ordinal);
    if (error == cudaSuccess) {
        fill_words<<<device->blocks, BLOCK_THREADS, 0, stream>>>(words, bytes / sizeof(*words),
                                                                 salt);
        error = cudaGetLastError();
    }
    if (error == cudaSuccess && !home)
        error = cudaMemcpyAsync(base, words, bytes, cudaMemcpyDefault, stream);
    if (error == cudaSuccess)
        error = cudaStreamSynchronize(stream);
    return gpu_checked(error, "filling of a buffer", msg, size);
}

int gpu_copy_poison(struct gpu_copy *copy, const struct gpu_copy_flow *flow, char *msg, size_t size)
{
    struct device *home = owner(copy, flow->to), *device = home ? home : &copy->device[flow->gpu];
    cudaStream_t stream = device->stream[0];
    void *all_set = home ? flow->to : device->buffer[SCRATCH];
    cudaError_t error = cudaSetDevice(device->ordinal);
    if (error == cudaSuccess)
        error = cudaMemsetAsync(all_set, 0xff, flow->bytes, stream);
    if (error == cudaSuccess && !home)
        error = cudaMemcpyAsync(flow->to, all_set, flow->bytes, cudaMemcpyDefault, stream);
    if (error == cudaSuccess)
        error = cudaStreamSynchronize(stream);
    return gpu_checked(error, "poisoning of a buffer", msg, size);
}

/* The first wrong word's index, or one far beyond the end. */
static cudaError_t search(struct device *device, const uint64_t *words, size_t n, uint64_t salt,
                          unsigned long long *wrong)
{
    cudaStream_t stream = device->stream[0];
    cudaError_t error = cudaMemsetAsync(device->wrong, 0xff, sizeof(*wrong), stream);
    if (error == cudaSuccess) {
        find_wrong<<<device->blocks, BLOCK_THREADS, 0, stream>>>(words, n, salt, device->wrong);
        error = cudaGetLastError();
    }
    if (error == cudaSuccess)
        error = cudaMemcpyAsync(wrong, device->wrong, sizeof(*wrong), cudaMemcpyDefault, stream);
    return error == cudaSuccess ? cudaStreamSynchronize(stream) : error;
}

/* What the host wrote to scratch is poisoned first: a copy that does nothing must not pass. */
static cudaError_t fetch(struct device *device, const struct gpu_copy_flow *flow)
{
    void *scratch = device->buffer[SCRATCH];
    cudaStream_t stream = device->stream[0];
    cudaError_t error = cudaMemsetAsync(scratch, 0xff, flow->bytes, stream);
    return error == cudaSuccess
               ? cudaMemcpyAsync(scratch, flow->to, flow->bytes, cudaMemcpyDefault, stream)
               : error;
}

int gpu_copy_check(struct gpu_copy *copy, const struct gpu_copy_flow *flow, uint64_t salt,
                   char *msg, size_t size)
{
    struct device *home = owner(copy, flow->to), *device = home ? home : &copy->device[flow->gpu];
    const uint64_t *words = (const uint64_t *)(home ? flow->to : device->buffer[SCRATCH]);
    size_t n = flow->bytes / sizeof(*words);
    unsigned long long wrong = 0;
    uint64_t got = 0;
    cudaError_t error = cudaSetDevice(device->ordinal);
    if (error == cudaSuccess && !home)
        error = fetch(device, flow);
    if (error == cudaSuccess)
        error = search(device, words, n, salt, &wrong);
    if (error == cudaSuccess && wrong < n)
        error = cudaMemcpy(&got, words + wrong, sizeof(got), cudaMemcpyDeviceToHost);
    if (error != cudaSuccess)
        return gpu_fail(error, "check of a copy", msg, size);
    if (wrong >= n)
        return 0;
    (void)snprintf(msg, size, "wrong data: word %llu of %zu is 0x%016" PRIx64 ", not 0x%016" PRIx64,
                   wrong, n, got, pattern(wrong, salt));
    return -EBADMSG;
}

/* Which of its GPU's streams flow i uses: flows of one GPU take them in turn. */
static unsigned stream_of(const struct gpu_copy_flow *flows, unsigned i)
{
    unsigned stream = 0;
    for (unsigned k = 0; k < i; k++)
        stream += flows[k].gpu == flows[i].gpu;
    return stream;
}

static cudaError_t queue_copy(const struct device *device, cudaStream_t stream,
                              const struct gpu_copy_flow *flow, size_t bytes)
{
    if (!flow->kernel)
        return cudaMemcpyAsync(flow->to, flow->from, bytes, cudaMemcpyDefault, stream);
    copy_words<<<device->blocks, BLOCK_THREADS, 0, stream>>>(
        (uint4 *)flow->to, (const uint4 *)flow->from, bytes / sizeof(uint4));
    return cudaGetLastError();
}

/*
 * Held until the host has queued everything. A short copy goes first, so that the interval does not
 * begin with the change from one engine to another; the other flows then start when the first does.
 */
static cudaError_t queue_begin(struct gpu_copy *copy, const struct gpu_copy_flow *flows, unsigned i)
{
    const struct device *first = &copy->device[flows[0].gpu], *device = &copy->device[flows[i].gpu];
    unsigned lane = stream_of(flows, i);
    cudaStream_t stream = device->stream[lane];
    cudaError_t error = cudaSetDevice(device->ordinal);
    if (error == cudaSuccess && !flows[i].staged) {
        hold<<<1, 1, 0, stream>>>(copy->latch, hold_limit_ns);
        error = cudaGetLastError();
    }
    if (error == cudaSuccess)
        error = queue_copy(device, stream, &flows[i],
                           flows[i].bytes < LEAD_BYTES ? flows[i].bytes : LEAD_BYTES);
    if (error == cudaSuccess && i > 0)
        error = cudaStreamWaitEvent(stream, first->begin[0], 0);
    return error == cudaSuccess ? cudaEventRecord(device->begin[lane], stream) : error;
}

/* The copies, with progress->n marks among them. */
static cudaError_t queue_flow(struct gpu_copy *copy, const struct gpu_copy_flow *flows, unsigned i,
                              unsigned copies, struct gpu_copy_progress *progress)
{
    const struct device *device = &copy->device[flows[i].gpu];
    unsigned lane = stream_of(flows, i), queued = 0;
    cudaError_t error = cudaSetDevice(device->ordinal);
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
    const struct device *device = &copy->device[flows[i].gpu];
    unsigned lane = stream_of(flows, i);
    cudaError_t error = cudaSetDevice(device->ordinal);
    if (error == cudaSuccess)
        error = cudaStreamSynchronize(device->stream[lane]);
    for (unsigned k = 0; k < progress->n && error == cudaSuccess; k++) {
        float took_ms = 0;
        error = cudaEventElapsedTime(&took_ms, device->begin[lane], device->mark[lane][k]);
        progress->seconds[k] = (double)took_ms * 1e-3;
    }
    return error;
}

int gpu_copy_time(struct gpu_copy *copy, const struct gpu_copy_flow *flows, unsigned nflows,
                  unsigned copies, struct gpu_copy_progress *progress, char *msg, size_t size)
{
    volatile int *latch = copy->latch;
    /* Each mark costs its stream a moment, which one flow alone need not pay. */
    unsigned marks = nflows == 1 ? 1 : copies < GPU_COPY_MARKS ? copies : GPU_COPY_MARKS;
    cudaError_t error = cudaSuccess;
    for (unsigned i = 0; i < nflows; i++)
        if (stream_of(flows, i) >= GPU_COPY_STREAMS) {
            (void)snprintf(msg, size, "more than %d copies at once on GPU %u", GPU_COPY_STREAMS,
                           flows[i].gpu);
            return -EINVAL;
        }
    *latch = 0;
    for (unsigned i = 0; i < nflows && error == cudaSuccess; i++)
        error = queue_begin(copy, flows, i);
    for (unsigned i = 0; i < nflows && error == cudaSuccess; i++) {
        progress[i].n = marks;
        error = queue_flow(copy, flows, i, copies, &progress[i]);
    }
    /* Also after an error, or what was queued would hold its GPUs up. */
    *latch = 1;
    for (unsigned i = 0; i < nflows && error == cudaSuccess; i++)
        error = wait_and_read(copy, flows, i, &progress[i]);
    return gpu_checked(error, "timing of copies", msg, size);
}

static double now_ns()
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC_RAW, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

int gpu_copy_latency(struct gpu_copy *copy, const struct gpu_copy_flow *flow, unsigned samples,
                     double *ns, char *msg, size_t size)
{
    const struct device *device = &copy->device[flow->gpu];
    cudaStream_t stream = device->stream[0];
    cudaError_t error = cudaSetDevice(device->ordinal);
    for (unsigned i = 0; i < LATENCY_WARMUP + samples && error == cudaSuccess; i++) {
        double start_ns = now_ns();
        error = queue_copy(device, stream, flow, flow->bytes);
        if (error == cudaSuccess)
            error = cudaStreamSynchronize(stream);
        if (i >= LATENCY_WARMUP)
            ns[i - LATENCY_WARMUP] = now_ns() - start_ns;
    }
    return gpu_checked(error, "latency of copies", msg, size);
}

static void close_device(struct device *device)
{
    /* What was never opened has no stream, and selecting it would create a context. */
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
