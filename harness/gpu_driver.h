/*
 * The vendor's two libraries, loaded when somebody asks: libcuda.so.1 (which GPUs a process sees,
 * and in which order) and libnvidia-ml.so.1 (what the GPUs are near, and how they are). The same
 * binary so runs without either. Only the calls below are declared, by their documented C ABI:
 * CUDA driver API reference and NVML API reference, docs.nvidia.com.
 *
 * For tests, CONTEND_LIBCUDA and CONTEND_LIBNVML name other libraries to load.
 */
#ifndef CONTEND_GPU_DRIVER_H
#define CONTEND_GPU_DRIVER_H

#include "harness/core/err.h"

/* CUresult and nvmlReturn_t: 0 is success in both. CUdevice is an int. */
struct cuda_uuid {
    unsigned char bytes[16];
};

/* Calls that a library may lack are NULL; those marked * are always there. */
struct cuda_api {
    int (*init)(unsigned flags);                       /* * */
    int (*device_count)(int *count);                   /* * */
    int (*device_get)(int *device, int ordinal);       /* * */
    int (*pci_bus_id)(char *bdf, int len, int device); /* * */
    int (*name)(char *name, int len, int device);
    int (*uuid)(struct cuda_uuid *uuid, int device);
    int (*error_string)(int error, const char **text);
};

struct nvml_device; /* nvmlDevice_t is a pointer to it */

struct nvml_pci {
    char bus_id_legacy[16];
    unsigned domain, bus, device, pci_device_id, pci_subsystem_id;
    char bus_id[32];
};

enum { NVML_SCOPE_NODE = 0, NVML_CLOCK_SM = 1, NVML_TEMPERATURE_GPU = 0 };

struct nvml_api {
    int (*init)(void); /* * */
    int (*count)(unsigned *count);
    int (*by_index)(unsigned index, struct nvml_device **device);
    int (*by_pci)(const char *bdf, struct nvml_device **device); /* * */
    int (*pci_info)(struct nvml_device *device, struct nvml_pci *pci);
    int (*name)(struct nvml_device *device, char *name, unsigned len);
    int (*uuid)(struct nvml_device *device, char *uuid, unsigned len);
    /* Bit masks in `words` longs: nodes and CPUs near the device. */
    int (*memory_affinity)(struct nvml_device *device, unsigned words, unsigned long *nodes,
                           int scope);
    int (*cpu_affinity)(struct nvml_device *device, unsigned words, unsigned long *cpus);
    int (*clock)(struct nvml_device *device, int clock, unsigned *mhz);
    int (*temperature)(struct nvml_device *device, int sensor, unsigned *celsius);
    int (*throttle)(struct nvml_device *device, unsigned long long *reasons);
    int (*driver_version)(char *version, unsigned len);
    const char *(*error_string)(int error);
};

/*
 * The library, loaded and initialised once a process; NULL with the reason in *why (-ENOTSUP) when
 * it is absent, lacks a call marked *, or does not start. Thread-safe.
 */
const struct cuda_api *cuda_driver(struct err *why);
const struct nvml_api *nvml_driver(struct err *why);

#endif
