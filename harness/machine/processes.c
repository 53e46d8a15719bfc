#include "harness/machine/processes.h"

#include <dirent.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/lib/str.h"
#include "harness/machine/gpu_driver.h"

static bool is_outermost(void)
{
    static const char initial[] = "pid:[4026531836]"; /* PROC_PID_INIT_INO, linux/proc_ns.h */
    char link[64] = "";
    ssize_t n = readlink("/proc/self/ns/pid", link, sizeof(link) - 1);
    return n > 0 && strcmp(link, initial) == 0;
}

/* Looks for /dev/nvidia0, /dev/nvidiactl, /dev/nvidia-uvm: CUDA opens them first. */
bool gpu_has_device_open(unsigned pid)
{
    static const char device[] = "/dev/nvidia";
    char link[sizeof(device)];
    bool has = false;
    const char *path = str_fmt("/proc/%u/fd", pid);
    DIR *dir = opendir(path);
    if (!dir)
        return false;
    for (struct dirent *entry = readdir(dir); entry && !has; entry = readdir(dir)) {
        ssize_t n = readlinkat(dirfd(dir), entry->d_name, link, sizeof(link) - 1);
        has = n == sizeof(link) - 1 && memcmp(link, device, sizeof(link) - 1) == 0;
    }
    (void)closedir(dir);
    return has;
}

bool gpu_pid_is_ours(unsigned pid)
{
    return is_outermost() || gpu_has_device_open(pid);
}

static void add_pid(struct gpu_users *gpu, unsigned pid, uint64_t bytes)
{
    for (unsigned i = 0; i < gpu->n; i++)
        if (gpu->pids[i] == pid)
            return;
    if (!pid || gpu->n == GPU_USERS_MAX || !gpu_pid_is_ours(pid))
        return;
    gpu->pids[gpu->n] = pid;
    gpu->bytes[gpu->n++] = bytes;
}

/* The list may change between calls, so one call with enough room reads it. Some drivers of 2023
 * wrote larger entries: there is room for twice as many. */
int gpu_list_processes(struct nvml_device *device,
                       int (*now)(struct nvml_device *, unsigned *, struct nvml_process *),
                       int (*v1)(struct nvml_device *, unsigned *, struct nvml_process_v1 *),
                       struct nvml_process list[GPU_USERS_MAX], unsigned *n)
{
    union {
        struct nvml_process now[GPU_USERS_MAX];
        struct nvml_process_v1 v1[GPU_USERS_MAX];
    } *read = calloc(2, sizeof(*read));
    unsigned count = GPU_USERS_MAX;
    int rc = !read ? -ENOMEM
             : now ? now(device, &count, read->now)
             : v1  ? v1(device, &count, read->v1)
                   : -ENOTSUP;
    *n = rc ? 0 : count < GPU_USERS_MAX ? count : GPU_USERS_MAX;
    for (unsigned i = 0; i < *n; i++)
        list[i] = now ? read->now[i]
                      : (struct nvml_process){.pid = read->v1[i].pid,
                                              .memory_bytes = read->v1[i].memory_bytes};
    free(read);
    return rc;
}

static void add_list(struct gpu_users *gpu, struct nvml_device *device,
                     int (*now)(struct nvml_device *, unsigned *, struct nvml_process *),
                     int (*v1)(struct nvml_device *, unsigned *, struct nvml_process_v1 *))
{
    struct nvml_process list[GPU_USERS_MAX];
    unsigned n;
    (void)gpu_list_processes(device, now, v1, list, &n);
    for (unsigned i = 0; i < n; i++)
        add_pid(gpu, list[i].pid, list[i].memory_bytes);
}

/* NVML writes eight digits of the domain, sysfs four. */
static void read_bdf(const struct nvml_api *nvml, struct nvml_device *device, struct gpu_users *gpu)
{
    struct nvml_pci pci = {0};
    if (nvml->pci_info && nvml->pci_info(device, &pci) == 0)
        (void)snprintf(gpu->pci_bdf, sizeof(gpu->pci_bdf), "%04x:%02x:%02x.0", pci.domain, pci.bus,
                       pci.device);
}

static void read_gpu(const struct nvml_api *nvml, struct nvml_device *device, struct gpu_users *gpu)
{
    unsigned long cpus[BITSET_BITS / (8 * sizeof(unsigned long))] = {0};
    read_bdf(nvml, device, gpu);
    if (!nvml->name || nvml->name(device, gpu->name, sizeof(gpu->name) - 1))
        gpu->name[0] = '\0';
    gpu_driver_clean(gpu->name);
    if (nvml->cpu_affinity && nvml->cpu_affinity(device, sizeof(cpus) / sizeof(cpus[0]), cpus) == 0)
        memcpy(gpu->cpus.word, cpus, sizeof(gpu->cpus.word));
    add_list(gpu, device, nvml->processes, nvml->processes_v1);
    add_list(gpu, device, nvml->graphics, nvml->graphics_v1);
}

int gpu_users_read(struct gpu_users **gpus, size_t *n, struct err *err)
{
    unsigned count = 0;
    const struct nvml_api *nvml = nvml_driver(err);
    *gpus = NULL;
    *n = 0;
    if (!nvml)
        return -ENOTSUP;
    if (!nvml->count || !nvml->by_index || nvml->count(&count))
        return err_set(err, -ENOTSUP, "NVML does not list its GPUs");
    count = count < GPU_LIST_MAX ? count : GPU_LIST_MAX;
    *gpus = calloc((size_t)count + 1, sizeof(**gpus));
    if (!*gpus)
        return err_set(err, -ENOMEM, "out of memory for %u GPUs", count);
    for (unsigned i = 0; i < count; i++) {
        struct nvml_device *device;
        if (nvml->by_index(i, &device) == 0)
            read_gpu(nvml, device, &(*gpus)[(*n)++]);
    }
    return 0;
}
