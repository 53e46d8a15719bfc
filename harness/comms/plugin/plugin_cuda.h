/*
 * The CUDA driver as the watched program has loaded it: nothing is loaded, and without it nothing
 * is known. Only calls of the driver API are used, by their documented C ABI (CUDA Driver API
 * Reference, docs.nvidia.com), since the runtime may be linked statically.
 */
#ifndef CONTEND_COMMS_PLUGIN_PLUGIN_CUDA_H
#define CONTEND_COMMS_PLUGIN_PLUGIN_CUDA_H

#include "harness/comms/logs/record.h"

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

/* NULL until the program has loaded a driver. No lock, no CUDA call. */
const struct plugin_cuda *plugin_cuda(void);

/* The PCI address of this thread's GPU; "" where it has none. */
void plugin_cuda_find_gpu(char gpu[static COMMS_GPU_MAX]);

#endif
