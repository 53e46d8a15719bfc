#include "harness/machine/gpu_health.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/lib/sys/proc.h"
#include "harness/lib/text.h"

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

/*
 * True if a pid from NVML is the process with that pid in /proc here: always in the host's pid
 * namespace, else if that process has a device of the driver open. False if we may not see its
 * files.
 */
static bool gpu_pid_is_ours(unsigned pid)
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

/* Lists processes by one of NVML's two calls, either of which may be NULL. Returns NVML's error. */
/* The list may change between calls, so one call with enough room reads it. Some drivers of 2023
 * wrote larger entries: there is room for twice as many. */
static int gpu_list_processes(struct nvml_device *device,
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
        text_set(gpu->pci_bdf, "%04x:%02x:%02x.0", pci.domain, pci.bus, pci.device);
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

/* Larger values are garbage, as broken firmware and virtual devices report. */
enum {
    GENERATION_MOST = 16,
    LANES_MOST = 32,
    ROWS_MOST = 1 << 20,
    MHZ_MOST = 20000,
    BUS_BITS_MOST = 1 << 16,
    CELSIUS_MOST = 250,
    MILLIWATTS_MOST = 100 * 1000 * 1000
};

/* Most NVML calls take a device and return a number. */
typedef int one_number(struct nvml_device *device, unsigned *value);

static int ask(one_number *call, struct nvml_device *device, unsigned least, unsigned most)
{
    unsigned value = UINT_MAX;
    if (!call || call(device, &value) || value < least || value > most)
        return -1;
    return (int)value;
}

/* All bits set is -1 as an integer and NaN as a double: both mean unknown. */
void gpu_health_init(struct gpu_health *health)
{
    memset(health, 0xff, sizeof(*health));
    memset(health->instances, 0, sizeof(health->instances));
    memset(health->processes, 0, sizeof(health->processes));
    health->mps = false;
    health->throttle_reasons = 0;
}

static void read_pcie(const struct nvml_api *nvml, struct nvml_device *device,
                      struct gpu_health *health)
{
    health->pcie_generation = ask(nvml->pcie_generation, device, 1, GENERATION_MOST);
    health->pcie_generation_link = ask(nvml->pcie_generation_max, device, 1, GENERATION_MOST);
    health->pcie_generation_gpu = ask(nvml->pcie_generation_device, device, 1, GENERATION_MOST);
    health->pcie_width = ask(nvml->pcie_width, device, 1, LANES_MOST);
    health->pcie_width_max = ask(nvml->pcie_width_max, device, 1, LANES_MOST);
}

/* The call fails for a link that does not exist, and succeeds for one that is down. */
static void read_nvlinks(const struct nvml_api *nvml, struct nvml_device *device,
                         struct gpu_health *health)
{
    if (!nvml->nvlink_state)
        return;
    health->nvlinks = health->nvlinks_active = 0;
    for (unsigned link = 0; link < NVML_NVLINKS; link++) {
        unsigned active = 0, version = 0;
        if (nvml->nvlink_state(device, link, &active) || active > 1)
            continue;
        health->nvlinks++;
        health->nvlinks_active += active == 1;
        if (active && nvml->nvlink_version && !nvml->nvlink_version(device, link, &version) &&
            version >= 1 && version <= GENERATION_MOST)
            health->nvlink_version = (int)version;
    }
}

static void read_fabric(const struct nvml_api *nvml, struct nvml_device *device,
                        struct gpu_health *health)
{
    struct nvml_fabric fabric = {.state = UCHAR_MAX};
    if (!nvml->fabric || nvml->fabric(device, &fabric) || fabric.state > NVML_FABRIC_DONE)
        return;
    health->fabric_state = fabric.state;
    if (fabric.state == NVML_FABRIC_DONE)
        health->fabric_status = fabric.status;
}

static int64_t read_ecc_errors(const struct nvml_api *nvml, struct nvml_device *device, int kind,
                               int since)
{
    unsigned long long count = ULLONG_MAX;
    if (!nvml->ecc_errors || nvml->ecc_errors(device, kind, since, &count) || count > INT64_MAX)
        return -1;
    return (int64_t)count;
}

static void read_flags(int (*call)(struct nvml_device *, unsigned *, unsigned *),
                       struct nvml_device *device, int *now, int *pending)
{
    unsigned a = UINT_MAX, b = UINT_MAX;
    if (!call || call(device, &a, &b))
        return;
    *now = a <= 1 ? (int)a : -1;
    *pending = b <= 1 ? (int)b : -1;
}

static void read_memory(const struct nvml_api *nvml, struct nvml_device *device,
                        struct gpu_health *health)
{
    unsigned corrected = UINT_MAX, uncorrected = UINT_MAX, pending = UINT_MAX, failed = UINT_MAX;
    struct nvml_memory memory = {0};
    read_flags(nvml->ecc_mode, device, &health->ecc, &health->ecc_pending);
    health->ecc_corrected = read_ecc_errors(nvml, device, NVML_ECC_CORRECTED, NVML_ECC_VOLATILE);
    health->ecc_uncorrected =
        read_ecc_errors(nvml, device, NVML_ECC_UNCORRECTED, NVML_ECC_VOLATILE);
    health->ecc_corrected_life =
        read_ecc_errors(nvml, device, NVML_ECC_CORRECTED, NVML_ECC_AGGREGATE);
    health->ecc_uncorrected_life =
        read_ecc_errors(nvml, device, NVML_ECC_UNCORRECTED, NVML_ECC_AGGREGATE);
    health->pages_pending = ask(nvml->retired_pending, device, 0, 1);
    if (nvml->memory && !nvml->memory(device, &memory) && memory.total)
        health->memory_bytes = (double)memory.total;
    if (!nvml->remapped_rows ||
        nvml->remapped_rows(device, &corrected, &uncorrected, &pending, &failed))
        return;
    health->rows_corrected = corrected <= ROWS_MOST ? (int)corrected : -1;
    health->rows_uncorrected = uncorrected <= ROWS_MOST ? (int)uncorrected : -1;
    health->rows_pending = pending <= 1 ? (int)pending : -1;
    health->rows_failed = failed <= 1 ? (int)failed : -1;
}

static void read_instance(const struct nvml_api *nvml, struct nvml_device *device,
                          struct gpu_instance *instance)
{
    char name[96] = "", uuid[96] = "";
    if (nvml->name && nvml->name(device, name, sizeof(name)))
        name[0] = '\0';
    if (nvml->uuid && nvml->uuid(device, uuid, sizeof(uuid)))
        uuid[0] = '\0';
    /* Drops the GPU's name from "NVIDIA H200 MIG 1g.18gb". */
    const char *profile = strstr(name, "MIG ");
    text_set(instance->name, "%.47s", profile ? profile : name);
    text_set(instance->uuid, "%.63s", uuid);
    gpu_driver_clean(instance->name);
    gpu_driver_clean(instance->uuid);
}

static void read_mig(const struct nvml_api *nvml, struct nvml_device *device,
                     struct gpu_health *health)
{
    unsigned most = 0;
    read_flags(nvml->mig_mode, device, &health->mig, &health->mig_pending);
    if (health->mig != 1 || !nvml->mig_most || !nvml->mig_by_index ||
        nvml->mig_most(device, &most) || most > 64)
        return;
    health->ninstances = 0;
    for (unsigned i = 0; i < most; i++) {
        struct nvml_device *instance = NULL;
        if (nvml->mig_by_index(device, i, &instance) || !instance)
            continue;
        if (health->ninstances < GPU_INSTANCES_MAX)
            read_instance(nvml, instance, &health->instances[health->ninstances]);
        health->ninstances++;
    }
}

/* Leaves the name empty if /proc has another process with that pid. */
static void name_process(struct gpu_process *process)
{
    if (gpu_pid_is_ours(process->pid) &&
        PROC_TEXT("", process->name, "/proc/%u/comm", process->pid))
        gpu_driver_clean(process->name);
}

static void add_process(struct gpu_health *health, unsigned pid, unsigned long long memory_bytes)
{
    struct gpu_process process = {.pid = pid, .memory_bytes = (int64_t)memory_bytes};
    if (pid == 0 || pid > INT_MAX || (pid_t)pid == getpid())
        return;
    if (memory_bytes > INT64_MAX)
        process.memory_bytes = -1;
    name_process(&process);
    /* MPS serves processes that are listed themselves. The kernel cuts its name: "..-server". */
    if (strncmp(process.name, "nvidia-cuda-mps", strlen("nvidia-cuda-mps")) == 0)
        return;
    if (health->nprocesses < GPU_PROCESSES_MAX)
        health->processes[health->nprocesses] = process;
    health->nprocesses++;
}

/* Looks for the control daemon's pipe: NVIDIA Multi-Process Service, "Environment Variables". */
static bool has_mps(void)
{
    char path[512];
    const char *folder = getenv("CUDA_MPS_PIPE_DIRECTORY");
    text_set(path, "%s/control", folder && folder[0] ? folder : "/tmp/nvidia-mps");
    return access(path, F_OK) == 0;
}

static void read_processes(const struct nvml_api *nvml, struct nvml_device *device,
                           struct gpu_health *health)
{
    struct nvml_process list[GPU_USERS_MAX];
    unsigned n;
    if (gpu_list_processes(device, nvml->processes, nvml->processes_v1, list, &n))
        return;
    health->nprocesses = 0;
    for (unsigned i = 0; i < n; i++)
        add_process(health, list[i].pid, list[i].memory_bytes);
}

static double ask_clock(int (*call)(struct nvml_device *, int, unsigned *),
                        struct nvml_device *device, int which, unsigned most)
{
    unsigned value = UINT_MAX;
    return !call || call(device, which, &value) || value > most ? (double)NAN : value;
}

static double ask_watts(one_number *call, struct nvml_device *device)
{
    int milliwatts = ask(call, device, 0, MILLIWATTS_MOST);
    return milliwatts < 0 ? (double)NAN : milliwatts / 1e3;
}

static void read_load(const struct nvml_api *nvml, struct nvml_device *device,
                      struct gpu_health *health)
{
    unsigned long long reasons = 0;
    health->clock_mhz = ask_clock(nvml->clock, device, NVML_CLOCK_SM, MHZ_MOST);
    health->clock_max_mhz = ask_clock(nvml->clock_max, device, NVML_CLOCK_SM, MHZ_MOST);
    health->memory_clock_mhz = ask_clock(nvml->clock, device, NVML_CLOCK_MEMORY, MHZ_MOST);
    health->memory_clock_max_mhz = ask_clock(nvml->clock_max, device, NVML_CLOCK_MEMORY, MHZ_MOST);
    health->memory_bus_bits = ask(nvml->memory_bus_bits, device, 1, BUS_BITS_MOST);
    health->temperature_c =
        ask_clock(nvml->temperature, device, NVML_TEMPERATURE_GPU, CELSIUS_MOST);
    health->power_w = ask_watts(nvml->power, device);
    health->power_limit_w = ask_watts(nvml->power_limit, device);
    health->power_limit_default_w = ask_watts(nvml->power_limit_default, device);
    if (nvml->throttle && nvml->throttle(device, &reasons) == 0)
        health->throttle_reasons = reasons;
}

int gpu_health_read(const char *pci_bdf, struct gpu_health *health)
{
    struct nvml_device *device;
    gpu_health_init(health);
    const struct nvml_api *nvml = nvml_driver(NULL);
    if (!nvml)
        return -ENOTSUP;
    if (nvml->by_pci(pci_bdf, &device))
        return -ENODEV;
    read_pcie(nvml, device, health);
    read_nvlinks(nvml, device, health);
    read_fabric(nvml, device, health);
    read_memory(nvml, device, health);
    health->persistence = ask(nvml->persistence, device, 0, 1);
    health->compute_mode =
        (enum gpu_compute_mode)ask(nvml->compute_mode, device, 0, GPU_MODE_EXCLUSIVE);
    health->mps = has_mps();
    read_mig(nvml, device, health);
    read_processes(nvml, device, health);
    read_load(nvml, device, health);
    return 0;
}

int gpu_state_read(const char *pci_bdf, struct gpu_state *out)
{
    struct nvml_device *device;
    unsigned value;
    struct nvml_utilization used;
    unsigned long long reasons = 0;
    *out = (struct gpu_state){.clock_mhz = NAN, .temperature_c = NAN, .busy = NAN};
    const struct nvml_api *nvml = nvml_driver(NULL);
    if (!nvml)
        return -ENOTSUP;
    if (nvml->by_pci(pci_bdf, &device))
        return -ENODEV;
    if (nvml->clock && nvml->clock(device, NVML_CLOCK_SM, &value) == 0)
        out->clock_mhz = value;
    if (nvml->temperature && nvml->temperature(device, NVML_TEMPERATURE_GPU, &value) == 0)
        out->temperature_c = value;
    if (nvml->utilization && nvml->utilization(device, &used) == 0 && used.gpu <= 100)
        out->busy = used.gpu / 100.0;
    if (nvml->throttle && nvml->throttle(device, &reasons) == 0)
        out->throttle_reasons = reasons;
    return 0;
}

int gpu_driver_version(char *version, size_t size)
{
    const struct nvml_api *nvml = nvml_driver(NULL);
    version[0] = '\0';
    if (!nvml || !nvml->driver_version || nvml->driver_version(version, (unsigned)size)) {
        version[0] = '\0';
        return -ENOTSUP;
    }
    gpu_driver_clean(version);
    return 0;
}

bool gpu_throttle_is_noise(uint64_t reasons)
{
    return reasons & (NVML_THROTTLE_HW_SLOWDOWN | NVML_THROTTLE_SW_THERMAL |
                      NVML_THROTTLE_HW_THERMAL | NVML_THROTTLE_HW_POWER_BRAKE);
}
