#include "tests/lib/fake_gpu_kernels.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "kernels/gpu/copy/gpu_copy.h"
#include "kernels/gpu/gpu_canary.h"
#include "kernels/gpu/gpu_chase.h"
#include "kernels/gpu/gpu_common.h"
#include "kernels/gpu/gpu_launch.h"
#include "kernels/gpu/gpu_memory.h"
#include "kernels/gpu/gpu_stream.h"
#include "kernels/matmul/gpu_matmul.h"

/* Fakes need little of what they are told. */
#pragma GCC diagnostic ignored "-Wunused-parameter"

enum { GPUS = 16, CALLS = 64 };

static struct fake_trouble trouble;
static struct matmul_shape opened;

static struct {
    const char *call;
    unsigned count[GPUS];
} calls[CALLS];

/* Replaces libc's: time passes faster, since points wait at least 0.1 s for clocks to settle. */
int clock_gettime(clockid_t clock, struct timespec *now)
{
    enum { FASTER = 20, NS = 1000000000 };
    int rc = (int)syscall(SYS_clock_gettime, clock, now);
    if (rc || clock != CLOCK_MONOTONIC_RAW)
        return rc;
    long ns = FASTER * now->tv_nsec;
    now->tv_sec = FASTER * now->tv_sec + ns / NS;
    now->tv_nsec = ns % NS;
    return 0;
}

void fake_gpu_set_trouble(const struct fake_trouble *wanted)
{
    trouble = *wanted;
    memset(calls, 0, sizeof(calls));
}

/* The counter of a call. Calls are identified by their __func__, so by pointer. */
static unsigned *counter(const char *call, unsigned gpu)
{
    unsigned i = 0;
    while (i + 1 < CALLS && calls[i].call && strcmp(calls[i].call, call) != 0)
        i++;
    calls[i].call = call;
    return &calls[i].count[gpu % GPUS];
}

unsigned fake_gpu_calls(const char *call, unsigned gpu)
{
    return *counter(call, gpu);
}

static int answer(const char *call, unsigned gpu, struct err *err)
{
    unsigned count = (*counter(call, gpu))++;
    if (!trouble.call || strcmp(call, trouble.call) != 0 || gpu != trouble.gpu ||
        count < trouble.from)
        return 0;
    return err_set(err, trouble.rc, "it broke");
}

#define ANSWER(gpu) answer(__func__, gpu, err)

static unsigned number(const char *pci_bdf)
{
    return (unsigned)(pci_bdf[6] - '0');
}

/* A handle of any kind: the GPU's number first. */
#define HANDLE(kind, ...)                                                                          \
    struct kind {                                                                                  \
        unsigned gpu;                                                                              \
        __VA_ARGS__                                                                                \
    };                                                                                             \
    void kind##_close(struct kind *gpu)                                                            \
    {                                                                                              \
        free(gpu);                                                                                 \
    }
HANDLE(gpu_launch, uint64_t launched;)
HANDLE(gpu_stream)
HANDLE(gpu_canary)
HANDLE(gpu_matmul)
HANDLE(gpu_memory)

static void *new_handle(int rc, const char *pci_bdf, size_t bytes)
{
    unsigned *handle = rc ? NULL : calloc(1, bytes);
    if (handle)
        *handle = number(pci_bdf);
    return handle;
}

#define OPEN(kind, pci, ...)                                                                       \
    int kind##_open(__VA_ARGS__, struct kind **gpu, struct err *err)                               \
    {                                                                                              \
        int rc = ANSWER(number(pci));                                                              \
        *gpu = new_handle(rc, pci, sizeof(**gpu));                                                 \
        return rc;                                                                                 \
    }
OPEN(gpu_launch, bdf, const char *bdf)
OPEN(gpu_canary, bdf, const char *bdf)
OPEN(gpu_memory, bdf, const char *bdf, uint64_t bytes)
OPEN(gpu_stream, config->pci_bdf, const struct gpu_stream_config *config)

/* A call that only answers. */
#define CALL(name, gpu, ...)                                                                       \
    int name(__VA_ARGS__, struct err *err)                                                         \
    {                                                                                              \
        return ANSWER(gpu);                                                                        \
    }
CALL(gpu_check, number(pci_bdf), const char *pci_bdf)
CALL(gpu_launch_set_wait, gpu->gpu, struct gpu_launch *gpu, enum gpu_wait wait)
CALL(gpu_launch_delay, gpu->gpu, struct gpu_launch *gpu, uint64_t delay_ns)
CALL(gpu_launch_wait, gpu->gpu, struct gpu_launch *gpu)
CALL(gpu_stream_queue, gpu->gpu, struct gpu_stream *gpu, unsigned slot, enum gpu_stream_op op,
     unsigned shape, unsigned count)
CALL(gpu_stream_poison, gpu->gpu, struct gpu_stream *gpu)
CALL(gpu_memory_queue, gpu->gpu, struct gpu_memory *gpu, enum gpu_memory_pattern pattern,
     uint64_t seed)
CALL(gpu_matmul_queue, gpu->gpu, struct gpu_matmul *gpu, unsigned slot, unsigned count)
CALL(gpu_matmul_poison, gpu->gpu, struct gpu_matmul *gpu)
CALL(gpu_matmul_check, gpu->gpu, struct gpu_matmul *gpu)

/* A call that says every other time that work is done, and one that waits for it. */
#define WORK(kind)                                                                                 \
    int kind##_done(struct kind *gpu, unsigned slot, bool *done, struct err *err)                  \
    {                                                                                              \
        *done = *counter(__func__, gpu->gpu) % 2;                                                  \
        return ANSWER(gpu->gpu);                                                                   \
    }                                                                                              \
    int kind##_wait(struct kind *gpu, unsigned slot, double *seconds, struct err *err)             \
    {                                                                                              \
        *seconds = 0.01;                                                                           \
        return ANSWER(gpu->gpu);                                                                   \
    }
WORK(gpu_stream)
WORK(gpu_matmul)

int gpu_count(struct err *err)
{
    return GPUS;
}

int gpu_launch_kernels(struct gpu_launch *gpu, unsigned count, struct err *err)
{
    gpu->launched += count;
    return ANSWER(gpu->gpu);
}

int gpu_launch_graphs(struct gpu_launch *gpu, enum gpu_graph graph, unsigned count, struct err *err)
{
    gpu->launched += graph == GPU_GRAPH_ONE ? count : count * GPU_GRAPH_KERNELS;
    return ANSWER(gpu->gpu);
}

/* This trouble is no failed call: a kernel did not run. */
int gpu_launch_count(struct gpu_launch *gpu, uint64_t *ran, uint64_t *launched, struct err *err)
{
    *launched = gpu->launched;
    *ran = gpu->launched - (ANSWER(gpu->gpu) != 0);
    return 0;
}

/* GPU N runs at 1 / (N + 1) of its clock. */
int gpu_canary_run(struct gpu_canary *gpu, double *seconds, double *cycles, struct err *err)
{
    *seconds = 0.0005 * (gpu->gpu + 1);
    *cycles = 1e6;
    return ANSWER(gpu->gpu);
}

/* This trouble is no failed call: a thread computed wrongly. */
int gpu_canary_check(struct gpu_canary *gpu, unsigned *wrong, struct err *err)
{
    *wrong = ANSWER(gpu->gpu) != 0;
    return 0;
}

int gpu_stream_memory(const char *pci_bdf, uint64_t *free_bytes, uint64_t *l2_bytes,
                      struct err *err)
{
    *free_bytes = UINT64_C(64) << 30;
    *l2_bytes = UINT64_C(48) << 20;
    return ANSWER(number(pci_bdf));
}

const char *gpu_stream_shape_name(unsigned shape)
{
    return shape == GPU_STREAM_DRIVER ? "driver" : "flat";
}

const char *gpu_stream_op_name(enum gpu_stream_op op)
{
    static const char *const names[] = {"copy", "scale", "add", "triad", "read", "write"};
    return names[op];
}

unsigned gpu_stream_op_bytes(enum gpu_stream_op op)
{
    return op >= GPU_STREAM_READ ? 8 : op >= GPU_STREAM_ADD ? 24 : 16;
}

/* This trouble is no failed call: two elements are wrong. */
int gpu_stream_check(struct gpu_stream *gpu, enum gpu_stream_op op, uint64_t *wrong,
                     struct err *err)
{
    *wrong = ANSWER(gpu->gpu) ? 2 : 0;
    return 0;
}

uint64_t gpu_memory_bytes(const struct gpu_memory *gpu)
{
    return UINT64_C(80) << 30;
}

/* This trouble is no failed call: a bit is wrong. */
int gpu_memory_wait(struct gpu_memory *gpu, double *seconds, struct gpu_memory_wrong *wrong,
                    struct err *err)
{
    *seconds = 0.1;
    *wrong = (struct gpu_memory_wrong){0};
    if (ANSWER(gpu->gpu))
        *wrong = (struct gpu_memory_wrong){
            .words = 1, .at_byte = 0x12340, .expected = 0x12340, .actual = 0x12341};
    return 0;
}

int gpu_matmul_load(struct err *err)
{
    return ANSWER(0);
}

char *gpu_matmul_library(char *buf, size_t size)
{
    (void)snprintf(buf, size, "13.0.0");
    return buf;
}

int gpu_matmul_device(const char *pci_bdf, struct gpu_matmul_device *device, struct err *err)
{
    *device = (struct gpu_matmul_device){.name = "Fake GPU", .cc = 90};
    return ANSWER(number(pci_bdf));
}

int gpu_matmul_free_bytes(const char *pci_bdf, uint64_t *bytes, struct err *err)
{
    *bytes = UINT64_C(64) << 30;
    return ANSWER(number(pci_bdf));
}

bool gpu_matmul_has(enum matmul_type type, int cc)
{
    return type != MATMUL_FP64;
}

uint64_t gpu_matmul_bytes(enum matmul_type type, const struct matmul_shape *shape)
{
    return (uint64_t)shape->m * shape->n * 24;
}

int gpu_matmul_open(const struct gpu_matmul_config *config, struct gpu_matmul **gpu,
                    struct err *err)
{
    int rc = matmul_takes(config->type, &config->shape, err);
    if (!rc)
        rc = ANSWER(number(config->pci_bdf));
    *gpu = new_handle(rc, config->pci_bdf, sizeof(**gpu));
    if (!rc)
        opened = config->shape;
    return rc;
}

struct matmul_shape fake_gpu_matmul_shape(void)
{
    return opened;
}

double gpu_matmul_estimate_s(const struct gpu_matmul *gpu)
{
    return 0.001;
}

double gpu_matmul_first_s(const struct gpu_matmul *gpu)
{
    return 0.002;
}

struct gpu_copy {
    unsigned at, ngpus;
    bool open[GPU_COPY_GPUS];
    char buffer[GPU_COPY_GPUS][2];
};

int gpu_copy_open(const char *const *pci_bdf, unsigned ngpus, size_t bytes, struct gpu_copy **copy,
                  unsigned *failed, struct err *err)
{
    int rc = 0;
    *failed = ngpus;
    *copy = calloc(1, sizeof(**copy));
    for (unsigned gpu = 0; gpu < ngpus && *copy && !rc; gpu++) {
        if (!pci_bdf[gpu])
            continue;
        (*copy)->open[gpu] = true;
        rc = ANSWER(gpu);
        *failed = rc ? gpu : ngpus;
    }
    if (rc) {
        free(*copy);
        *copy = NULL;
    }
    return rc;
}

unsigned gpu_copy_selected(const struct gpu_copy *copy)
{
    return copy->at;
}

void *gpu_copy_source(const struct gpu_copy *copy, unsigned gpu)
{
    return (void *)(uintptr_t)&copy->buffer[gpu][0];
}

uint64_t gpu_copy_salt(unsigned gpu)
{
    return 1 + gpu;
}

void *gpu_copy_target(const struct gpu_copy *copy, unsigned gpu)
{
    return (void *)(uintptr_t)&copy->buffer[gpu][1];
}

bool gpu_copy_is_direct(const struct gpu_copy *copy, unsigned a, unsigned b)
{
    return copy->open[a] && copy->open[b];
}

int gpu_copy_pin(void *base, size_t bytes, struct err *err)
{
    for (size_t at = 0; at < bytes; at += 4096)
        ((volatile char *)base)[at] = 0;
    return ANSWER(0);
}

void gpu_copy_unpin(void *base)
{
}

int gpu_copy_alloc_combined(size_t bytes, void **base, struct err *err)
{
    *base = malloc(bytes);
    return ANSWER(0);
}

void gpu_copy_free_combined(void *base)
{
    free(base);
}

int gpu_copy_fill(struct gpu_copy *copy, unsigned gpu, void *base, size_t bytes, uint64_t salt,
                  struct err *err)
{
    copy->at = gpu;
    return ANSWER(gpu);
}

int gpu_copy_poison(struct gpu_copy *copy, const struct gpu_copy_flow *flow, struct err *err)
{
    copy->at = flow->gpu;
    return ANSWER(flow->gpu);
}

int gpu_copy_check(struct gpu_copy *copy, const struct gpu_copy_flow *flow, uint64_t salt,
                   struct err *err)
{
    copy->at = flow->gpu;
    return ANSWER(flow->gpu);
}

int gpu_copy_time(struct gpu_copy *copy, const struct gpu_copy_flow *flows, unsigned nflows,
                  unsigned copies, struct gpu_copy_progress *progress, struct err *err)
{
    for (unsigned i = 0; i < nflows; i++) {
        int rc = copy->open[flows[i].gpu] ? ANSWER(flows[i].gpu) : -1;
        copy->at = flows[i].gpu;
        if (rc)
            return rc;
        progress[i] = (struct gpu_copy_progress){.n = 1, .copies = {copies}, .seconds = {0.01}};
    }
    return 0;
}

int gpu_copy_latency(struct gpu_copy *copy, const struct gpu_copy_flow *flow, unsigned samples,
                     double *ns, struct err *err)
{
    for (unsigned i = 0; i < samples; i++)
        ns[i] = 5000 + i;
    copy->at = flow->gpu;
    return ANSWER(flow->gpu);
}

int gpu_chase(const char *pci_bdf, void *memory, size_t bytes, uint64_t seed, double *ns,
              struct err *err)
{
    *ns = 600 + number(pci_bdf);
    return ANSWER(number(pci_bdf));
}

void gpu_copy_close(struct gpu_copy *copy)
{
    free(copy);
}
