/*
 * Which processes use which GPUs, by NVML: those that compute and those that draw. To a container
 * with numbers of its own some drivers tell these, some nothing, and some the numbers of the host,
 * under which it has other processes, or none.
 */
#ifndef CONTEND_MACHINE_GPU_PROCESSES_H
#define CONTEND_MACHINE_GPU_PROCESSES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "harness/lib/base/bitset.h"
#include "harness/lib/base/err.h"
#include "harness/machine/gpu/driver.h"

enum { GPU_LIST_MAX = 64, GPU_USERS_MAX = 256 };

struct gpu_users {
    char pci_bdf[32];   /* "0000:01:00.0", as sysfs writes it */
    char name[64];      /* "" = unknown */
    struct bitset cpus; /* near it; empty = unknown */
    unsigned n;
    unsigned pids[GPU_USERS_MAX];
    uint64_t bytes[GPU_USERS_MAX]; /* that each has there; UINT64_MAX = unknown */
};

/*
 * Whether that number of NVML's is the process that /proc here has under it: always where our
 * numbers are the host's, and else where it has a device of the driver open. False also where that
 * is not ours to see.
 */
bool gpu_pid_is_ours(unsigned pid);

/* It has a device of the driver open, by itself or by a fork; false where that is not ours to see.
 */
bool gpu_has_device_open(unsigned pid);

/* The processes that one of NVML's two calls lists, either of which may be NULL; its error. */
int gpu_list_processes(struct nvml_device *device,
                       int (*now)(struct nvml_device *, unsigned *, struct nvml_process *),
                       int (*v1)(struct nvml_device *, unsigned *, struct nvml_process_v1 *),
                       struct nvml_process list[GPU_USERS_MAX], unsigned *n);

/*
 * All GPUs that NVML knows into a new array *gpus of *n, which the caller frees; with those of
 * their processes that are ours (gpu_pid_is_ours). -ENOTSUP without NVML, with the reason; -ENOMEM.
 */
int gpu_users_read(struct gpu_users **gpus, size_t *n, struct err *err);

#endif
