/*
 * The vendor's two libraries, loaded on first use: libcuda.so.1 (which GPUs a process sees, in
 * which order) and libnvidia-ml.so.1 (NUMA nodes and state of GPUs). So one binary also runs
 * without them. Only the calls below are declared, by their documented C ABI: CUDA driver API
 * reference and NVML API reference, docs.nvidia.com.
 *
 * For tests, CONTEND_LIBCUDA and CONTEND_LIBNVML name other libraries to load.
 */
#ifndef CONTEND_MACHINE_GPU_DRIVER_H
#define CONTEND_MACHINE_GPU_DRIVER_H

#include <stdint.h>

#include "harness/lib/err.h"

/* CUresult and nvmlReturn_t: 0 is success in both. CUdevice is an int. */
struct cuda_uuid {
    unsigned char bytes[16];
};

/* Calls that a library may lack are NULL; those marked * always exist. */
struct cuda_api {
    int (*init)(unsigned flags);                       /* * */
    int (*device_count)(int *count);                   /* * */
    int (*device_get)(int *device, int ordinal);       /* * */
    int (*pci_bus_id)(char *bdf, int len, int device); /* * */
    int (*name)(char *name, int len, int device);
    int (*uuid)(struct cuda_uuid *uuid, int device);
    int (*error_string)(int error, const char **text);
    int (*driver_version)(int *version); /* the newest CUDA it supports: 12040 is 12.4 */
};

struct nvml_device; /* nvmlDevice_t is a pointer to it */

struct nvml_pci {
    char bus_id_legacy[16];
    unsigned domain, bus, device, pci_device_id, pci_subsystem_id;
    char bus_id[32];
};

enum { NVML_SCOPE_NODE = 0, NVML_CLOCK_SM = 1, NVML_CLOCK_MEMORY = 2, NVML_TEMPERATURE_GPU = 0 };

/* nvmlMemory_t: bytes. */
struct nvml_memory {
    unsigned long long total, free, used;
};

/* nvmlProcessInfo_v1_t has only the first two fields, later versions all four. */
struct nvml_process_v1 {
    unsigned pid;
    unsigned long long memory_bytes; /* all ones = unknown */
};
struct nvml_process {
    unsigned pid;
    unsigned long long memory_bytes;
    unsigned gpu_instance, compute_instance;
};

/* For ecc_errors: the kind, and the period: since the driver was loaded, or the GPU's life. */
enum { NVML_ECC_CORRECTED = 0, NVML_ECC_UNCORRECTED = 1 };
enum { NVML_ECC_VOLATILE = 0, NVML_ECC_AGGREGATE = 1 };
enum { NVML_INSUFFICIENT_SIZE = 7 };
enum { NVML_REMOTE_SWITCH = 2, NVML_REMOTE_UNKNOWN = 255 }; /* nvmlIntNvLinkDeviceType_t */
enum { NVML_NVLINKS = 18 }; /* maximum of a GPU: NVML_NVLINK_MAX_LINKS */

/* nvmlClocksEventReason*, NVML API reference. */
enum {
    NVML_THROTTLE_GPU_IDLE = 0x1,           /* nothing runs */
    NVML_THROTTLE_APPLICATION_CLOCKS = 0x2, /* the user set a clock */
    NVML_THROTTLE_SW_POWER_CAP = 0x4,       /* at its power limit: usual under heavy load */
    NVML_THROTTLE_HW_SLOWDOWN = 0x8,        /* clocks halved or worse: heat or power brake */
    NVML_THROTTLE_SYNC_BOOST = 0x10,        /* held to the clock of its group */
    NVML_THROTTLE_SW_THERMAL = 0x20,        /* the driver cools the GPU or its memory */
    NVML_THROTTLE_HW_THERMAL = 0x40,        /* the hardware protects itself */
    NVML_THROTTLE_HW_POWER_BRAKE = 0x80,    /* the power supply asked for less */
    NVML_THROTTLE_DISPLAY_CLOCK_SETTING = 0x100
};

/* nvmlFieldValue_t */
struct nvml_field {
    unsigned field, scope;
    long long timestamp, latency_us;
    int type, status;
    union {
        double d;
        unsigned u;
        unsigned long long ull;
    } value;
};
/* Integer types of its value. */
enum { NVML_VALUE_UNSIGNED = 1, NVML_VALUE_UNSIGNED_LONG, NVML_VALUE_UNSIGNED_LONG_LONG };

/*
 * NVML_FI_DEV_*: counters since the driver was loaded, which only grow, except for resets. Clock
 * event reasons have their older names here, for the same counters: the newer ones changed their
 * numbers from driver 575 to 580.
 */
enum {
    NVML_FIELD_ECC_CORRECTED = 3,
    NVML_FIELD_ECC_UNCORRECTED = 4,
    NVML_FIELD_NVLINK_CRC_FLIT = 38, /* of all links, like the next three */
    NVML_FIELD_NVLINK_CRC_DATA = 45,
    NVML_FIELD_NVLINK_REPLAYS = 52,
    NVML_FIELD_NVLINK_RECOVERIES = 59,
    NVML_FIELD_LIMITED_BY_POWER = 74, /* nanoseconds, like the next five */
    NVML_FIELD_LIMITED_BY_HEAT = 75,
    NVML_FIELD_LIMITED_BY_SYNC_BOOST = 76,
    NVML_FIELD_LIMITED_BY_BOARD = 77,
    NVML_FIELD_LIMITED_BY_LOW_USE = 78,
    NVML_FIELD_LIMITED_BY_RELIABILITY = 79,
    NVML_FIELD_ENERGY = 83, /* millijoules */
    NVML_FIELD_PCIE_REPLAYS = 94,
    NVML_FIELD_NVLINK_SENT_KIB = 138, /* of link `scope`, UINT_MAX = all */
    NVML_FIELD_NVLINK_RECEIVED_KIB = 139,
    NVML_FIELD_ROWS_CORRECTED = 142, /* remapped after corrected errors */
    NVML_FIELD_ROWS_UNCORRECTED = 143,
    NVML_FIELD_NVLINK_SENT = 202, /* bytes, NVLink 5; `scope` as above */
    NVML_FIELD_NVLINK_RECEIVED = 204,
    NVML_FIELDS_AT_ONCE = 16
};

/* nvmlEventSet_t is a pointer to it; its events are nvmlEventData_t. */
struct nvml_event_set;
struct nvml_event {
    struct nvml_device *device;
    unsigned long long type, data; /* data: the number of an Xid */
    unsigned gpu_instance, compute_instance;
};
enum { NVML_EVENT_XID = 0x8 };

/* nvmlGpuFabricInfo_t: progress of the fabric manager in adding the GPU to the NVLink fabric. */
enum {
    NVML_FABRIC_NOT_SUPPORTED,
    NVML_FABRIC_NOT_STARTED,
    NVML_FABRIC_IN_PROGRESS,
    NVML_FABRIC_DONE
};
struct nvml_fabric {
    unsigned char cluster_uuid[16];
    int status; /* nvmlReturn_t, valid with NVML_FABRIC_DONE */
    unsigned clique;
    unsigned char state;
};

/* nvmlUtilization_t: percent of the time since it was last sampled. */
struct nvml_utilization {
    unsigned gpu, memory;
};

struct nvml_api {
    int (*init)(void); /* * */
    int (*count)(unsigned *count);
    int (*by_index)(unsigned index, struct nvml_device **device);
    int (*by_pci)(const char *bdf, struct nvml_device **device); /* * */
    int (*pci_info)(struct nvml_device *device, struct nvml_pci *pci);
    int (*name)(struct nvml_device *device, char *name, unsigned len);
    int (*uuid)(struct nvml_device *device, char *uuid, unsigned len);
    int (*vbios)(struct nvml_device *device, char *version, unsigned len);
    /* Bit masks in `words` longs: nodes and CPUs near the device. */
    int (*memory_affinity)(struct nvml_device *device, unsigned words, unsigned long *nodes,
                           int scope);
    int (*cpu_affinity)(struct nvml_device *device, unsigned words, unsigned long *cpus);
    int (*clock)(struct nvml_device *device, int clock, unsigned *mhz);
    int (*temperature)(struct nvml_device *device, int sensor, unsigned *celsius);
    int (*utilization)(struct nvml_device *device, struct nvml_utilization *utilization);
    int (*throttle)(struct nvml_device *device, unsigned long long *reasons);
    /* Health. PCIe: now, maximum of link and device, maximum of the device. */
    int (*pcie_generation)(struct nvml_device *device, unsigned *generation);
    int (*pcie_generation_max)(struct nvml_device *device, unsigned *generation);
    int (*pcie_generation_device)(struct nvml_device *device, unsigned *generation);
    int (*pcie_width)(struct nvml_device *device, unsigned *lanes);
    int (*pcie_width_max)(struct nvml_device *device, unsigned *lanes);
    int (*nvlink_state)(struct nvml_device *device, unsigned link, unsigned *active);
    int (*nvlink_version)(struct nvml_device *device, unsigned link, unsigned *version);
    /* The other end of a link: its address and its kind. */
    int (*nvlink_remote)(struct nvml_device *device, unsigned link, struct nvml_pci *pci);
    int (*nvlink_remote_type)(struct nvml_device *device, unsigned link, unsigned *type);
    int (*ecc_mode)(struct nvml_device *device, unsigned *now, unsigned *pending);
    int (*ecc_errors)(struct nvml_device *device, int kind, int since, unsigned long long *count);
    int (*remapped_rows)(struct nvml_device *device, unsigned *corrected, unsigned *uncorrected,
                         unsigned *pending, unsigned *failed);
    int (*retired_pending)(struct nvml_device *device, unsigned *pending);
    int (*persistence)(struct nvml_device *device, unsigned *on);
    int (*compute_mode)(struct nvml_device *device, unsigned *mode);
    int (*mig_mode)(struct nvml_device *device, unsigned *now, unsigned *pending);
    int (*mig_most)(struct nvml_device *device, unsigned *count);
    int (*mig_by_index)(struct nvml_device *device, unsigned index, struct nvml_device **instance);
    /* *count: in, the room; out, the number of processes, also with NVML_INSUFFICIENT_SIZE. */
    int (*processes)(struct nvml_device *device, unsigned *count, struct nvml_process *list);
    int (*processes_v1)(struct nvml_device *device, unsigned *count, struct nvml_process_v1 *list);
    int (*graphics)(struct nvml_device *device, unsigned *count, struct nvml_process *list);
    int (*graphics_v1)(struct nvml_device *device, unsigned *count, struct nvml_process_v1 *list);
    int (*clock_max)(struct nvml_device *device, int clock, unsigned *mhz);
    int (*power)(struct nvml_device *device, unsigned *milliwatts);
    int (*fields)(struct nvml_device *device, int count, struct nvml_field *values);
    int (*power_limit)(struct nvml_device *device, unsigned *milliwatts);
    int (*power_limit_default)(struct nvml_device *device, unsigned *milliwatts);
    int (*event_set_create)(struct nvml_event_set **set);
    int (*event_register)(struct nvml_device *device, unsigned long long types,
                          struct nvml_event_set *set);
    int (*event_wait)(struct nvml_event_set *set, struct nvml_event *event, unsigned most_ms);
    int (*event_set_free)(struct nvml_event_set *set);
    int (*memory_bus_bits)(struct nvml_device *device, unsigned *bits);
    int (*memory)(struct nvml_device *device, struct nvml_memory *memory);
    int (*fabric)(struct nvml_device *device, struct nvml_fabric *fabric);
    int (*driver_version)(char *version, unsigned len);
    const char *(*error_string)(int error);
};

/*
 * Returns the library, loaded and initialised once per process. NULL with the reason in *why
 * (-ENOTSUP): it is absent, lacks a call marked *, or does not start. Thread-safe. NVML does not
 * survive a fork (nvmlDeviceGetCount fails after it), so a child starts NVML again on first use;
 * CUDA cannot be started again.
 */
const struct cuda_api *cuda_driver(struct err *why);
const struct nvml_api *nvml_driver(struct err *why);

/* Reads up to NVML_FIELDS_AT_ONCE fields with integer values; -1 = unknown. */
void nvml_read_counters(const struct nvml_api *nvml, struct nvml_device *device,
                        const unsigned *fields, unsigned n, int64_t *values);
/* The same for fields with scopes. */
void nvml_read_fields(const struct nvml_api *nvml, struct nvml_device *device,
                      struct nvml_field *fields, unsigned n, int64_t *values);

/* Replaces all but printable ASCII by '?', in place: text from a driver goes to terminals. */
void gpu_driver_clean(char *text);

#endif
