#include "tests/lib/fake_gpus.h"

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <deque>
#include <mutex>
#include <thread>
#include <vector>

#include <unistd.h>

#include "fake_stream.h"
#include "kernels/collective/gpu_collective_data.cuh"
extern "C" {
#include "kernels/collective/collective_value.h"
}

struct fake_gpus fake_gpus;

struct fake_graph {
    std::vector<std::function<void()>> nodes;
};

struct fake_stream {
    std::mutex lock;
    std::condition_variable news;
    std::deque<std::function<void()>> queue; /* its front is in progress */
    fake_graph *capture = nullptr;
    bool ends = false;
    std::thread thread;
};

struct fake_event {
    std::atomic<int> pending{0};
    std::atomic<uint64_t> at_ns{0};
};

static thread_local int current;

static uint64_t now_ns()
{
    timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC_RAW, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

void fake_gpus_reset(void)
{
    fake_gpus = {};
    fake_gpus.capability = 9;
    fake_gpus.closed_gpu = fake_gpus.join_fails = fake_gpus.call_fails = fake_gpus.sleeps = -1;
    fake_gpus.copies_lost_from = -1;
}

/* For programs that cannot call our functions. */
__attribute__((constructor)) static void begin()
{
    const char *rank = getenv("FAKE_NCCL_JOIN_FAILS");
    fake_gpus_reset();
    fake_gpus.join_fails = rank ? atoi(rank) : -1;
}

static void serve(fake_stream *stream)
{
    std::unique_lock<std::mutex> held(stream->lock);
    while (true) {
        stream->news.wait(held, [=] { return stream->ends || !stream->queue.empty(); });
        if (stream->queue.empty())
            return;
        std::function<void()> task = stream->queue.front();
        held.unlock();
        task();
        held.lock();
        stream->queue.pop_front();
    }
}

void fake_enqueue(cudaStream_t stream, std::function<void()> task)
{
    std::lock_guard<std::mutex> held(stream->lock);
    if (stream->capture) {
        stream->capture->nodes.push_back(task);
        return;
    }
    stream->queue.push_back(task);
    stream->news.notify_one();
}

cudaError_t cudaGetLastError()
{
    return cudaSuccess;
}

const char *cudaGetErrorString(cudaError_t error)
{
    return error == cudaErrorDevicesUnavailable ? "device is busy" : "a made-up error";
}

const char *cudaGetErrorName(cudaError_t error)
{
    return error == cudaErrorDevicesUnavailable ? "cudaErrorDevicesUnavailable" : "cudaErrorFake";
}

cudaError_t cudaDriverGetVersion(int *version)
{
    *version = 99000;
    return cudaSuccess;
}

cudaError_t cudaRuntimeGetVersion(int *version)
{
    *version = 13000;
    return cudaSuccess;
}

cudaError_t cudaGetDeviceCount(int *count)
{
    *count = FAKE_GPUS;
    return cudaSuccess;
}

cudaError_t cudaDeviceGetByPCIBusId(int *ordinal, const char *pci_bdf)
{
    unsigned domain = 0, bus = 0;
    if (sscanf(pci_bdf, "%x:%x:", &domain, &bus) != 2)
        return cudaErrorInvalidValue;
    *ordinal = domain == 0xbeef ? 8 - (int)bus : (int)bus - 1;
    return *ordinal >= 0 && *ordinal < FAKE_GPUS ? cudaSuccess : cudaErrorInvalidDevice;
}

cudaError_t cudaDeviceGetAttribute(int *value, cudaDeviceAttr attribute, int)
{
    switch (attribute) {
    case cudaDevAttrComputeCapabilityMajor:
        *value = fake_gpus.capability;
        break;
    case cudaDevAttrComputeCapabilityMinor:
        *value = 0;
        break;
    default:
        *value = cudaComputeModeDefault;
    }
    return cudaSuccess;
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp *properties, int ordinal)
{
    (void)snprintf(properties->name, sizeof(properties->name), "Fake GPU %d", ordinal);
    properties->major = fake_gpus.capability;
    properties->minor = 0;
    return cudaSuccess;
}

cudaError_t cudaSetDevice(int ordinal)
{
    if (ordinal == fake_gpus.closed_gpu && fake_gpus.closes_after-- <= 0)
        return cudaErrorDevicesUnavailable;
    current = ordinal;
    return cudaSuccess;
}

cudaError_t cudaSetDeviceFlags(unsigned)
{
    return cudaSuccess;
}

cudaError_t cudaDeviceSynchronize()
{
    return cudaSuccess;
}

cudaError_t cudaMemGetInfo(size_t *unused, size_t *total)
{
    *unused = *total = (size_t)1 << 30;
    return cudaSuccess;
}

cudaError_t fake_allocate(void **pointer, size_t bytes)
{
    *pointer = malloc(bytes);
    return *pointer ? cudaSuccess : cudaErrorMemoryAllocation;
}

cudaError_t cudaFree(void *pointer)
{
    free(pointer);
    return cudaSuccess;
}

cudaError_t cudaFreeHost(void *pointer)
{
    free(pointer);
    return cudaSuccess;
}

cudaError_t cudaMemset(void *at, int value, size_t bytes)
{
    memset(at, value, bytes);
    return cudaSuccess;
}

cudaError_t cudaMemsetAsync(void *at, int value, size_t bytes, cudaStream_t stream)
{
    fake_enqueue(stream, [=] { memset(at, value, bytes); });
    return cudaSuccess;
}

cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes, cudaMemcpyKind)
{
    memcpy(to, from, bytes);
    return cudaSuccess;
}

cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, cudaMemcpyKind,
                            cudaStream_t stream)
{
    const int copy = __atomic_fetch_add(&fake_gpus.copies, 1, __ATOMIC_SEQ_CST);
    if (fake_gpus.copies_lost_from < 0 || copy < fake_gpus.copies_lost_from)
        fake_enqueue(stream, [=] { memcpy(to, from, bytes); });
    return cudaSuccess;
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned)
{
    *stream = new fake_stream;
    (*stream)->thread = std::thread(serve, *stream);
    return cudaSuccess;
}

cudaError_t cudaStreamDestroy(cudaStream_t stream)
{
    {
        std::lock_guard<std::mutex> held(stream->lock);
        stream->ends = true;
        stream->news.notify_one();
    }
    stream->thread.join();
    if (stream->capture)
        delete stream->capture;
    delete stream;
    return cudaSuccess;
}

cudaError_t cudaStreamQuery(cudaStream_t stream)
{
    (void)sched_yield(); /* yields to the stream's thread, since callers poll in a loop */
    std::lock_guard<std::mutex> held(stream->lock);
    return stream->queue.empty() ? cudaSuccess : cudaErrorNotReady;
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream)
{
    while (cudaStreamQuery(stream) == cudaErrorNotReady)
        (void)usleep(10);
    return cudaSuccess;
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned)
{
    fake_enqueue(stream, [=] {
        while (event->pending)
            (void)usleep(10);
    });
    return cudaSuccess;
}

cudaError_t cudaEventCreate(cudaEvent_t *event)
{
    return cudaEventCreateWithFlags(event, 0);
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned)
{
    *event = new fake_event;
    return cudaSuccess;
}

cudaError_t cudaEventDestroy(cudaEvent_t event)
{
    delete event;
    return cudaSuccess;
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream)
{
    event->pending++;
    fake_enqueue(stream, [=] {
        event->at_ns = now_ns();
        event->pending--;
    });
    return cudaSuccess;
}

cudaError_t cudaEventQuery(cudaEvent_t event)
{
    (void)sched_yield();
    return event->pending ? cudaErrorNotReady : cudaSuccess;
}

cudaError_t cudaEventSynchronize(cudaEvent_t event)
{
    while (cudaEventQuery(event) == cudaErrorNotReady)
        (void)usleep(10);
    return cudaSuccess;
}

cudaError_t cudaEventElapsedTime(float *ms, cudaEvent_t begin, cudaEvent_t end)
{
    *ms = (float)(1e-6 * (double)(int64_t)(end->at_ns - begin->at_ns));
    return cudaSuccess;
}

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode)
{
    std::lock_guard<std::mutex> held(stream->lock);
    stream->capture = new fake_graph;
    __atomic_add_fetch(&fake_gpus.open_captures, 1, __ATOMIC_SEQ_CST);
    return cudaSuccess;
}

cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *graph)
{
    std::lock_guard<std::mutex> held(stream->lock);
    *graph = stream->capture;
    stream->capture = nullptr;
    if (!*graph)
        return cudaErrorInvalidValue;
    __atomic_sub_fetch(&fake_gpus.open_captures, 1, __ATOMIC_SEQ_CST);
    return cudaSuccess;
}

cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t *exec, cudaGraph_t graph, unsigned)
{
    *exec = new fake_graph(*graph);
    return cudaSuccess;
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream)
{
    size_t n = exec->nodes.size(), from = fake_gpus.graph_drops_from;
    for (size_t i = 0; i < n - (from && n >= from); i++)
        fake_enqueue(stream, exec->nodes[i]);
    return cudaSuccess;
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph)
{
    delete graph;
    return cudaSuccess;
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec)
{
    delete exec;
    return cudaSuccess;
}

template <typename T>
static void put_sent(const gpu_collective_side *side, void *buffer, size_t n, cudaStream_t stream)
{
    fake_enqueue(stream, [=, of = *side] {
        for (size_t i = 0; i < n; i++)
            static_cast<T *>(buffer)[i] =
                (T)collective_sent(&of.call, of.rank, of.ranks, i, of.repetition);
    });
}

template <typename T>
static void find_wrong(const gpu_collective_side *side, const void *buffer, size_t n,
                       gpu_collective_found *found, cudaStream_t stream)
{
    fake_enqueue(stream, [=, of = *side] {
        for (size_t i = 0; i < n; i++) {
            double want = collective_expected(&of.call, of.rank, of.ranks, i, of.repetition);
            double got = (double)static_cast<const T *>(buffer)[i];
            if (!collective_is_wrong(&of.call, of.ranks, got, want))
                continue;
            *found = {found->wrong + 1, i, got, want};
        }
    });
}

cudaError_t gpu_collective_put_sent(const gpu_collective_side *side, void *buffer, size_t n,
                                    cudaStream_t stream)
{
    if (side->call.type == COLLECTIVE_FLOAT)
        put_sent<float>(side, buffer, n, stream);
    else if (side->call.type == COLLECTIVE_INT32)
        put_sent<int32_t>(side, buffer, n, stream);
    else if (side->call.type == COLLECTIVE_UINT8)
        put_sent<uint8_t>(side, buffer, n, stream);
    else
        return cudaErrorInvalidValue;
    return cudaSuccess;
}

cudaError_t gpu_collective_find_wrong(const gpu_collective_side *side, const void *buffer, size_t n,
                                      gpu_collective_found *found, cudaStream_t stream)
{
    if (side->call.type == COLLECTIVE_FLOAT)
        find_wrong<float>(side, buffer, n, found, stream);
    else if (side->call.type == COLLECTIVE_INT32)
        find_wrong<int32_t>(side, buffer, n, found, stream);
    else if (side->call.type == COLLECTIVE_UINT8)
        find_wrong<uint8_t>(side, buffer, n, found, stream);
    else
        return cudaErrorInvalidValue;
    return cudaSuccess;
}
