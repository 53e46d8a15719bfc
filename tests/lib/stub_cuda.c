/*
 * A stub of libcuda.so.1 with the same name: the calls that the profiler plugin makes to a driver
 * that the program has loaded. stub_nccl.c loads it and sets the thread's GPU, how long kernels run
 * and whether the stream is captured. Time advances by kernels alone; the first query of an event
 * says that it is not yet over. Calls that a capture elsewhere would forbid, and records into a
 * captured stream, end the program.
 */
#include <stdio.h>
#include <stdlib.h>

int cuCtxGetDevice(int *device);
int cuDeviceGetPCIBusId(char *text, int size, int device);
int cuDriverGetVersion(int *version);
void stub_cuda_use(int device);

void stub_cuda_capture(int on);
void stub_cuda_run(int us);
int cuStreamIsCapturing(void *stream, int *status);
int cuThreadExchangeStreamCaptureMode(int *mode);
int cuEventCreate(void **event, unsigned flags);
int cuEventDestroy_v2(void *event);
int cuEventRecord(void *event, void *stream);
int cuEventQuery(void *event);
int cuEventElapsedTime(float *ms, void *start, void *end);

enum { RELAXED = 2, NOT_READY = 600 };
struct event {
    long us;
    int asked;
};
static _Thread_local int used;
static int captured, mode;
static long now_us;

void stub_cuda_use(int device)
{
    used = device;
}

/* 201: no context. */
int cuCtxGetDevice(int *device)
{
    *device = used;
    return used < 0 ? 201 : 0;
}

int cuDeviceGetPCIBusId(char *text, int size, int device)
{
    return snprintf(text, (size_t)size, "BEEF:%02X:00.0", 7 + device) < 0;
}

int cuDriverGetVersion(int *version)
{
    *version = 13000;
    return 0;
}

void stub_cuda_capture(int on)
{
    captured = on;
}

void stub_cuda_run(int us)
{
    now_us += us;
}

static void need(int good, const char *what)
{
    if (good)
        return;
    (void)fprintf(stderr, "stub_cuda: %s\n", what);
    exit(1);
}

int cuThreadExchangeStreamCaptureMode(int *other)
{
    int before = mode;
    mode = *other;
    *other = before;
    return 0;
}

int cuStreamIsCapturing(void *stream, int *status)
{
    (void)stream;
    *status = captured;
    return 0;
}

int cuEventCreate(void **event, unsigned flags)
{
    need(mode == RELAXED, "an event is made while a capture may be under way");
    *event = calloc(1, sizeof(struct event));
    return !*event || flags;
}

int cuEventDestroy_v2(void *event)
{
    free(event);
    return 0;
}

int cuEventRecord(void *event, void *stream)
{
    (void)stream;
    need(mode == RELAXED && !captured, "an event is recorded into a capture");
    *(struct event *)event = (struct event){now_us, 0};
    return 0;
}

int cuEventQuery(void *event)
{
    need(mode == RELAXED, "an event is asked while a capture may be under way");
    return ((struct event *)event)->asked++ ? 0 : NOT_READY;
}

int cuEventElapsedTime(float *ms, void *start, void *end)
{
    *ms = (float)(((struct event *)end)->us - ((struct event *)start)->us) / 1000;
    return 0;
}
