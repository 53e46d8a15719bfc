/*
 * The processes that use GPUs, by NVML: for compute and graphics. In a container with its own pid
 * namespace, some drivers report pids of that namespace, some none, and some pids of the host,
 * which belong to other processes or to none there.
 */
#ifndef CONTEND_MACHINE_PROCESSES_H
#define CONTEND_MACHINE_PROCESSES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "harness/lib/bitset.h"
#include "harness/lib/err.h"
#include "harness/machine/gpu_driver.h"

enum { GPU_LIST_MAX = 64, GPU_USERS_MAX = 256 };

struct gpu_users {
    char pci_bdf[32];   /* "0000:01:00.0", as in sysfs */
    char name[64];      /* "" = unknown */
    struct bitset cpus; /* CPUs near it; empty = unknown */
    unsigned n;
    unsigned pids[GPU_USERS_MAX];
    uint64_t bytes[GPU_USERS_MAX]; /* memory of each on this GPU; UINT64_MAX = unknown */
};

/*
 * True if a pid from NVML is the process with that pid in /proc here: always in the host's pid
 * namespace, else if that process has a device of the driver open. False if we may not see its
 * files.
 */
bool gpu_pid_is_ours(unsigned pid);

/*
 * True if it has a device of the driver open, also one inherited by fork; false if we may not see.
 */
bool gpu_has_device_open(unsigned pid);

/* Lists processes by one of NVML's two calls, either of which may be NULL. Returns NVML's error. */
int gpu_list_processes(struct nvml_device *device,
                       int (*now)(struct nvml_device *, unsigned *, struct nvml_process *),
                       int (*v1)(struct nvml_device *, unsigned *, struct nvml_process_v1 *),
                       struct nvml_process list[GPU_USERS_MAX], unsigned *n);

/*
 * Returns all GPUs that NVML knows in a new array *gpus of *n, which the caller frees, with those
 * users that pass gpu_pid_is_ours. -ENOTSUP without NVML, with the reason; -ENOMEM.
 */
int gpu_users_read(struct gpu_users **gpus, size_t *n, struct err *err);

#endif
