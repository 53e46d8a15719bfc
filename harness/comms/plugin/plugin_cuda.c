#include "harness/comms/plugin/plugin_cuda.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>

#include "harness/comms/logs/preload.h"

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

/* Written once, then only read: ranks of one process join from threads of their own, all at once.
 */
static struct plugin_cuda *found;

/* The library stays: NCCL and the program use it to the end. */
static void look(void)
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
        free(mine); /* another thread was first: the same */
}

const struct plugin_cuda *plugin_cuda(void)
{
    if (!__atomic_load_n(&found, __ATOMIC_ACQUIRE))
        look();
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
