#include "harness/comms/plugin/plugin_timing.h"

#include <dlfcn.h>
#include <stddef.h>
#include <stdlib.h>

#include "harness/comms/plugin/preload.h"

/*
 * The CUDA driver that the watched program has loaded. The plugin loads nothing; without a driver,
 * GPUs are unknown and nothing is timed. Only calls of the driver API are used, by their documented
 * C ABI (CUDA Driver API Reference, docs.nvidia.com), since the runtime may be linked statically.
 */
/* CUresult: 0 is success. CUdevice is an int. */
struct plugin_cuda {
    int (*context_device)(int *device);
    int (*pci_bus_id)(char *text, int size, int device);
    /* For timing: all of these, or none. CUevent and CUstream are pointers. */
    int (*stream_is_capturing)(void *stream, int *status); /* 0 = CU_STREAM_CAPTURE_STATUS_NONE */
    int (*exchange_capture_mode)(int *mode);
    int (*event_create)(void **event, unsigned flags);
    int (*event_destroy)(void *event);
    int (*event_record)(void *event, void *stream);
    int (*event_query)(void *event); /* 600 = CUDA_ERROR_NOT_READY */
    int (*event_elapsed)(float *ms, void *start, void *end);
};

static const struct preload_symbol symbols[] = {
    {"cuCtxGetDevice", offsetof(struct plugin_cuda, context_device)},
    {"cuDeviceGetPCIBusId", offsetof(struct plugin_cuda, pci_bus_id)},
};
static const struct preload_symbol timing[] = {
    {"cuStreamIsCapturing", offsetof(struct plugin_cuda, stream_is_capturing)},
    {"cuThreadExchangeStreamCaptureMode", offsetof(struct plugin_cuda, exchange_capture_mode)},
    {"cuEventCreate", offsetof(struct plugin_cuda, event_create)},
    {"cuEventDestroy_v2", offsetof(struct plugin_cuda, event_destroy)},
    {"cuEventRecord", offsetof(struct plugin_cuda, event_record)},
    {"cuEventQuery", offsetof(struct plugin_cuda, event_query)},
    {"cuEventElapsedTime", offsetof(struct plugin_cuda, event_elapsed)},
};

/* Written once, then only read: ranks of one process may join at once, from several threads. */
static struct plugin_cuda *found;

/* Does not close the library: NCCL and the program use it to the end. */
static void find_driver(void)
{
    struct plugin_cuda api = {0}, *mine = malloc(sizeof(*mine)), *none = NULL;
    void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
    if (!mine || !library ||
        !preload_find_symbols(library, symbols, sizeof(symbols) / sizeof(symbols[0]), &api)) {
        free(mine);
        return;
    }
    (void)preload_find_symbols(library, timing, sizeof(timing) / sizeof(timing[0]), &api);
    *mine = api;
    if (!__atomic_compare_exchange_n(&found, &none, mine, false, __ATOMIC_ACQ_REL,
                                     __ATOMIC_ACQUIRE))
        free(mine); /* another thread was first, with the same content */
}

/* NULL until the program has loaded a driver. No lock, no CUDA call. */
static const struct plugin_cuda *plugin_cuda(void)
{
    if (!__atomic_load_n(&found, __ATOMIC_ACQUIRE))
        find_driver();
    return __atomic_load_n(&found, __ATOMIC_ACQUIRE);
}

void plugin_cuda_find_gpu(char gpu[static COMMS_GPU_MAX])
{
    int device;
    const struct plugin_cuda *cuda = plugin_cuda();
    gpu[0] = '\0';
    if (!cuda || cuda->context_device(&device) || cuda->pci_bus_id(gpu, COMMS_GPU_MAX, device))
        gpu[0] = '\0';
    gpu[COMMS_GPU_MAX - 1] = '\0';
}

/* ---- samples ---- */

enum { SAMPLES = 256, SAMPLES_OF_MEMBER = 8 };

/* A thread owns a sample after one atomic exchange of its state, from FREE, IDLE or WAITING to
 * TAKEN. */
enum sample_state {
    FREE,   /* without events */
    IDLE,   /* with events of its member */
    TAKEN,  /* by a thread */
    WAITING /* for its events */
};

struct sample {
    int state;
    int member;
    void *start, *end; /* events */
    void *stream;
    struct plugin_counted counted;
};

static struct sample samples[SAMPLES];
static uint64_t timed_every;

/* This thread's last kernel, and the work reported since. */
static _Thread_local struct {
    struct sample *sample;
    struct plugin_counted counted;
    unsigned works;
    bool is_open;
} launched;

void plugin_timing_set(uint64_t every)
{
    __atomic_store_n(&timed_every, every, __ATOMIC_RELAXED);
}

static bool claim(struct sample *sample, int from)
{
    return __atomic_load_n(&sample->state, __ATOMIC_RELAXED) == from &&
           __atomic_compare_exchange_n(&sample->state, &from, TAKEN, false, __ATOMIC_ACQUIRE,
                                       __ATOMIC_RELAXED);
}

static void release(struct sample *sample, int state)
{
    __atomic_store_n(&sample->state, state, __ATOMIC_RELEASE);
}

static bool belongs_to(const struct sample *sample, int member)
{
    return __atomic_load_n(&sample->member, __ATOMIC_RELAXED) == member;
}

/* ---- CUDA: while another thread captures, only a relaxed thread may make these calls ---- */

enum { CAPTURE_RELAXED = 2 };

static void exchange_mode(const struct plugin_cuda *cuda, int *mode)
{
    (void)cuda->exchange_capture_mode(mode);
}

static bool is_captured(const struct plugin_cuda *cuda, void *stream)
{
    int status = 0;
    return cuda->stream_is_capturing(stream, &status) != 0 || status != 0;
}

/* True: the sample is over, or failed. False: it is still running. */
static bool collect(const struct plugin_cuda *cuda, struct sample *sample)
{
    enum { NOT_READY = 600 };
    float ms = 0;
    int rc = cuda->event_query(sample->end);
    if (rc == NOT_READY)
        return false;
    if (!rc && !cuda->event_elapsed(&ms, sample->start, sample->end) && ms > 0)
        plugin_log_time(&sample->counted, (uint64_t)((double)ms * 1e6));
    else
        plugin_log_untimed();
    return true;
}

static void collect_all(const struct plugin_cuda *cuda, int member)
{
    for (size_t i = 0; i < SAMPLES; i++)
        if (belongs_to(&samples[i], member) && claim(&samples[i], WAITING))
            release(&samples[i], collect(cuda, &samples[i]) ? IDLE : WAITING);
}

static bool make_events(const struct plugin_cuda *cuda, struct sample *sample)
{
    if (cuda->event_create(&sample->start, 0))
        return false;
    if (!cuda->event_create(&sample->end, 0))
        return true;
    (void)cuda->event_destroy(sample->start);
    return false;
}

/* Takes an idle sample of this member, or a new one; NULL: no sample is free. */
static struct sample *find(const struct plugin_cuda *cuda, int member)
{
    int own = 0;
    for (size_t i = 0; i < SAMPLES; i++) {
        if (!belongs_to(&samples[i], member))
            continue;
        own += __atomic_load_n(&samples[i].state, __ATOMIC_RELAXED) != FREE;
        if (claim(&samples[i], IDLE))
            return &samples[i];
    }
    for (size_t i = 0; i < SAMPLES && own < SAMPLES_OF_MEMBER; i++) {
        if (!claim(&samples[i], FREE))
            continue;
        if (make_events(cuda, &samples[i])) {
            __atomic_store_n(&samples[i].member, member, __ATOMIC_RELAXED);
            return &samples[i];
        }
        release(&samples[i], FREE);
        return NULL;
    }
    return NULL;
}

static struct sample *begin(const struct plugin_cuda *cuda, int member, void *stream)
{
    if (is_captured(cuda, stream))
        return NULL;
    collect_all(cuda, member);
    struct sample *sample = find(cuda, member);
    if (!sample) {
        plugin_log_untimed();
        return NULL;
    }
    sample->stream = stream;
    if (!cuda->event_record(sample->start, stream))
        return sample;
    release(sample, IDLE);
    plugin_log_untimed();
    return NULL;
}

/* ---- which ---- */

/* By multiplicative hashing (Knuth, The Art of Computer Programming 3, 6.4): a training step
 * repeats its calls, so every N-th call could be the same call each time. */
static bool is_due(uint64_t sequence)
{
    uint64_t every = __atomic_load_n(&timed_every, __ATOMIC_RELAXED);
    return every && sequence > 1 && ((sequence * 0x9e3779b97f4a7c15u) >> 32) % every == 0;
}

/* Forgets an earlier launch without reported work. */
static void forget_launch(void)
{
    if (!launched.sample)
        return;
    release(launched.sample, IDLE);
    launched.sample = NULL;
    plugin_log_untimed();
}

void *plugin_timing_launch(int member, uint64_t sequence, void *stream)
{
    if (member < 0 || !is_due(sequence))
        return NULL;
    const struct plugin_cuda *cuda = plugin_cuda();
    forget_launch();
    if (!cuda || !cuda->event_record)
        return NULL;
    int mode = CAPTURE_RELAXED;
    exchange_mode(cuda, &mode);
    struct sample *sample = begin(cuda, member, stream);
    exchange_mode(cuda, &mode);
    return sample;
}

void plugin_timing_launched(void *handle)
{
    struct sample *sample = NULL;
    for (size_t i = 0; i < SAMPLES && !sample; i++)
        sample = handle == &samples[i] ? &samples[i] : NULL;
    if (!sample)
        return;
    const struct plugin_cuda *cuda = plugin_cuda();
    int mode = CAPTURE_RELAXED;
    exchange_mode(cuda, &mode);
    launched.sample = sample;
    if (cuda->event_record(sample->end, sample->stream))
        forget_launch();
    exchange_mode(cuda, &mode);
}

bool plugin_timing_begin_work(int member)
{
    launched.works = 0;
    launched.is_open = launched.sample && belongs_to(launched.sample, member);
    return launched.is_open;
}

void plugin_timing_add_work(const struct plugin_counted *counted)
{
    if (!launched.is_open)
        return;
    launched.works++;
    launched.counted = counted ? *counted : (struct plugin_counted){0};
}

void plugin_timing_end_work(void)
{
    struct sample *sample = launched.sample;
    if (!launched.is_open || !sample)
        return;
    launched.is_open = false;
    if (launched.works != 1 || !launched.counted.counter) {
        forget_launch();
        return;
    }
    launched.sample = NULL;
    sample->counted = launched.counted;
    release(sample, WAITING);
}

void plugin_timing_leave(int member)
{
    const struct plugin_cuda *cuda = plugin_cuda();
    if (member < 0 || !cuda || !cuda->event_record)
        return;
    int mode = CAPTURE_RELAXED;
    exchange_mode(cuda, &mode);
    collect_all(cuda, member);
    for (size_t i = 0; i < SAMPLES; i++) {
        struct sample *sample = &samples[i];
        bool was_waiting = belongs_to(sample, member) && claim(sample, WAITING);
        if (!was_waiting && !(belongs_to(sample, member) && claim(sample, IDLE)))
            continue;
        if (was_waiting)
            plugin_log_untimed();
        (void)cuda->event_destroy(sample->start);
        (void)cuda->event_destroy(sample->end);
        release(sample, FREE);
    }
    exchange_mode(cuda, &mode);
}
