#include "harness/comms/plugin_cuda.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

static const struct symbol {
    const char *name;
    size_t offset;
} symbols[] =
    {
        {"cuCtxGetDevice", offsetof(struct plugin_cuda, context_device)},
        {"cuDeviceGetPCIBusId", offsetof(struct plugin_cuda, pci_bus_id)},
},
  timing[] = {
      {"cuStreamIsCapturing", offsetof(struct plugin_cuda, stream_is_capturing)},
      {"cuThreadExchangeStreamCaptureMode", offsetof(struct plugin_cuda, exchange_capture_mode)},
      {"cuEventCreate", offsetof(struct plugin_cuda, event_create)},
      {"cuEventDestroy_v2", offsetof(struct plugin_cuda, event_destroy)},
      {"cuEventRecord", offsetof(struct plugin_cuda, event_record)},
      {"cuEventQuery", offsetof(struct plugin_cuda, event_query)},
      {"cuEventElapsedTime", offsetof(struct plugin_cuda, event_elapsed)},
};

static struct plugin_cuda found;
enum { NOT_YET, BEING_FILLED, HERE };
static int state;

static bool find_all(void *library, const struct symbol *wanted, size_t n, struct plugin_cuda *api)
{
    struct plugin_cuda with = *api;
    for (size_t i = 0; i < n; i++) {
        void *symbol = dlsym(library, wanted[i].name);
        if (!symbol)
            return false;
        memcpy((char *)&with + wanted[i].offset, &symbol, sizeof(symbol));
    }
    *api = with;
    return true;
}

/* The library stays: NCCL and the program use it to the end. */
static void look(void)
{
    struct plugin_cuda api = {0};
    void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
    int expected = NOT_YET;
    if (!library || !find_all(library, symbols, sizeof(symbols) / sizeof(symbols[0]), &api) ||
        !__atomic_compare_exchange_n(&state, &expected, BEING_FILLED, false, __ATOMIC_RELAXED,
                                     __ATOMIC_RELAXED))
        return;
    (void)find_all(library, timing, sizeof(timing) / sizeof(timing[0]), &api);
    found = api;
    __atomic_store_n(&state, HERE, __ATOMIC_RELEASE);
}

const struct plugin_cuda *plugin_cuda(void)
{
    if (__atomic_load_n(&state, __ATOMIC_ACQUIRE) == NOT_YET)
        look();
    return __atomic_load_n(&state, __ATOMIC_ACQUIRE) == HERE ? &found : NULL;
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
