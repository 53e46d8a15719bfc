/*
 * Which processes use which GPUs, by NVML: those that compute and those that draw. A container sees
 * numbers of its own where the driver knows it, none of others, or numbers of the host that mean
 * nothing to it.
 */
#ifndef CONTEND_GPU_PROCESSES_H
#define CONTEND_GPU_PROCESSES_H

#include <stddef.h>
#include <stdint.h>

#include "harness/base/bitset.h"
#include "harness/base/err.h"

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
 * All GPUs that NVML knows into a new array *gpus of *n, which the caller frees. -ENOTSUP without
 * NVML, with the reason; -ENOMEM.
 */
int gpu_users_read(struct gpu_users **gpus, size_t *n, struct err *err);

#endif
