/*
 * In place of libcuda.so.1, whose name it bears: what the profiler plugin asks of a driver that the
 * program has loaded. stub_nccl.c loads it and says which GPU the thread uses.
 */
#include <stdio.h>

int cuCtxGetDevice(int *device);
int cuDeviceGetPCIBusId(char *text, int size, int device);
void stub_cuda_use(int device);

static int used;

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
