#include "harness/machine/gpu_driver.h"

#include <assert.h>
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/lib/sys/signals.h"

/* A function of a library and its pointer. If two names share a pointer, the first found wins. */
struct symbol {
    const char *name; /* NULL ends the table */
    size_t offset;
    bool required;
};

static const struct symbol cuda_symbols[] = {
    {"cuInit", offsetof(struct cuda_api, init), true},
    {"cuDeviceGetCount", offsetof(struct cuda_api, device_count), true},
    {"cuDeviceGet", offsetof(struct cuda_api, device_get), true},
    {"cuDeviceGetPCIBusId", offsetof(struct cuda_api, pci_bus_id), true},
    {"cuDeviceGetName", offsetof(struct cuda_api, name), false},
    {"cuDeviceGetUuid_v2", offsetof(struct cuda_api, uuid), false},
    {"cuDeviceGetUuid", offsetof(struct cuda_api, uuid), false},
    {"cuGetErrorString", offsetof(struct cuda_api, error_string), false},
    {"cuDriverGetVersion", offsetof(struct cuda_api, driver_version), false},
    {NULL, 0, false}};

static const struct symbol nvml_symbols[] = {
    {"nvmlInit_v2", offsetof(struct nvml_api, init), false},
    {"nvmlInit", offsetof(struct nvml_api, init), true},
    {"nvmlDeviceGetCount_v2", offsetof(struct nvml_api, count), false},
    {"nvmlDeviceGetHandleByIndex_v2", offsetof(struct nvml_api, by_index), false},
    {"nvmlDeviceGetHandleByPciBusId_v2", offsetof(struct nvml_api, by_pci), false},
    {"nvmlDeviceGetHandleByPciBusId", offsetof(struct nvml_api, by_pci), true},
    {"nvmlDeviceGetPciInfo_v3", offsetof(struct nvml_api, pci_info), false},
    {"nvmlDeviceGetName", offsetof(struct nvml_api, name), false},
    {"nvmlDeviceGetUUID", offsetof(struct nvml_api, uuid), false},
    {"nvmlDeviceGetVbiosVersion", offsetof(struct nvml_api, vbios), false},
    {"nvmlDeviceGetMemoryAffinity", offsetof(struct nvml_api, memory_affinity), false},
    {"nvmlDeviceGetCpuAffinity", offsetof(struct nvml_api, cpu_affinity), false},
    {"nvmlDeviceGetClockInfo", offsetof(struct nvml_api, clock), false},
    {"nvmlDeviceGetTemperature", offsetof(struct nvml_api, temperature), false},
    {"nvmlDeviceGetUtilizationRates", offsetof(struct nvml_api, utilization), false},
    {"nvmlDeviceGetCurrentClocksEventReasons", offsetof(struct nvml_api, throttle), false},
    {"nvmlDeviceGetCurrentClocksThrottleReasons", offsetof(struct nvml_api, throttle), false},
    {"nvmlDeviceGetCurrPcieLinkGeneration", offsetof(struct nvml_api, pcie_generation), false},
    {"nvmlDeviceGetMaxPcieLinkGeneration", offsetof(struct nvml_api, pcie_generation_max), false},
    {"nvmlDeviceGetGpuMaxPcieLinkGeneration", offsetof(struct nvml_api, pcie_generation_device),
     false},
    {"nvmlDeviceGetCurrPcieLinkWidth", offsetof(struct nvml_api, pcie_width), false},
    {"nvmlDeviceGetMaxPcieLinkWidth", offsetof(struct nvml_api, pcie_width_max), false},
    {"nvmlDeviceGetNvLinkState", offsetof(struct nvml_api, nvlink_state), false},
    {"nvmlDeviceGetNvLinkVersion", offsetof(struct nvml_api, nvlink_version), false},
    {"nvmlDeviceGetNvLinkRemotePciInfo_v2", offsetof(struct nvml_api, nvlink_remote), false},
    {"nvmlDeviceGetNvLinkRemoteDeviceType", offsetof(struct nvml_api, nvlink_remote_type), false},
    {"nvmlDeviceGetEccMode", offsetof(struct nvml_api, ecc_mode), false},
    {"nvmlDeviceGetTotalEccErrors", offsetof(struct nvml_api, ecc_errors), false},
    {"nvmlDeviceGetRemappedRows", offsetof(struct nvml_api, remapped_rows), false},
    {"nvmlDeviceGetRetiredPagesPendingStatus", offsetof(struct nvml_api, retired_pending), false},
    {"nvmlDeviceGetPersistenceMode", offsetof(struct nvml_api, persistence), false},
    {"nvmlDeviceGetComputeMode", offsetof(struct nvml_api, compute_mode), false},
    {"nvmlDeviceGetMigMode", offsetof(struct nvml_api, mig_mode), false},
    {"nvmlDeviceGetMaxMigDeviceCount", offsetof(struct nvml_api, mig_most), false},
    {"nvmlDeviceGetMigDeviceHandleByIndex", offsetof(struct nvml_api, mig_by_index), false},
    {"nvmlDeviceGetComputeRunningProcesses_v3", offsetof(struct nvml_api, processes), false},
    {"nvmlDeviceGetComputeRunningProcesses_v2", offsetof(struct nvml_api, processes), false},
    {"nvmlDeviceGetComputeRunningProcesses", offsetof(struct nvml_api, processes_v1), false},
    {"nvmlDeviceGetGraphicsRunningProcesses_v3", offsetof(struct nvml_api, graphics), false},
    {"nvmlDeviceGetGraphicsRunningProcesses_v2", offsetof(struct nvml_api, graphics), false},
    {"nvmlDeviceGetGraphicsRunningProcesses", offsetof(struct nvml_api, graphics_v1), false},
    {"nvmlDeviceGetMaxClockInfo", offsetof(struct nvml_api, clock_max), false},
    {"nvmlDeviceGetPowerUsage", offsetof(struct nvml_api, power), false},
    {"nvmlDeviceGetFieldValues", offsetof(struct nvml_api, fields), false},
    {"nvmlDeviceGetEnforcedPowerLimit", offsetof(struct nvml_api, power_limit), false},
    {"nvmlDeviceGetPowerManagementDefaultLimit", offsetof(struct nvml_api, power_limit_default),
     false},
    {"nvmlEventSetCreate", offsetof(struct nvml_api, event_set_create), false},
    {"nvmlDeviceRegisterEvents", offsetof(struct nvml_api, event_register), false},
    {"nvmlEventSetWait_v2", offsetof(struct nvml_api, event_wait), false},
    {"nvmlEventSetFree", offsetof(struct nvml_api, event_set_free), false},
    {"nvmlDeviceGetMemoryBusWidth", offsetof(struct nvml_api, memory_bus_bits), false},
    {"nvmlDeviceGetMemoryInfo", offsetof(struct nvml_api, memory), false},
    {"nvmlDeviceGetGpuFabricInfo", offsetof(struct nvml_api, fabric), false},
    {"nvmlSystemGetDriverVersion", offsetof(struct nvml_api, driver_version), false},
    {"nvmlErrorString", offsetof(struct nvml_api, error_string), false},
    {NULL, 0, false}};

/* Resolves a table into `api`. A loaded library is never closed: it may run threads. */
static int load_library(const char *env, const char *name, const struct symbol *symbols, void *api,
                        struct err *why)
{
    const char *path = getenv(env);
    if (!path || !*path)
        path = name;
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library)
        return err_set(why, -ENOTSUP, "no NVIDIA driver here: %.160s", dlerror());
    for (const struct symbol *symbol = symbols; symbol->name; symbol++) {
        void *found = NULL, **pointer = (void **)(void *)((char *)api + symbol->offset);
        memcpy(&found, pointer, sizeof(found));
        if (!found)
            found = dlsym(library, symbol->name);
        if (!found && symbol->required)
            return err_set(why, -ENOTSUP, "%.100s has no %s: the driver is too old", path,
                           symbol->name);
        memcpy(pointer, &found, sizeof(found));
    }
    return 0;
}

static struct cuda_api cuda;
static struct err cuda_why;
static pthread_once_t cuda_once = PTHREAD_ONCE_INIT;

static void start_cuda(void)
{
    if (load_library("CONTEND_LIBCUDA", "libcuda.so.1", cuda_symbols, &cuda, &cuda_why))
        return;
    const char *text = NULL;
    sigset_t before;
    signals_block(&before);
    int rc = cuda.init(0);
    signals_restore(&before);
    if (rc && cuda.error_string && cuda.error_string(rc, &text))
        text = NULL;
    if (rc)
        (void)err_set(&cuda_why, -ENOTSUP, "cuInit failed: %.160s (%d)", text ? text : "error", rc);
}

const struct cuda_api *cuda_driver(struct err *why)
{
    (void)pthread_once(&cuda_once, start_cuda);
    if (cuda_why.code && why)
        *why = cuda_why;
    return cuda_why.code ? NULL : &cuda;
}

static struct nvml_api nvml;
static struct err nvml_why;
static pthread_once_t nvml_once = PTHREAD_ONCE_INIT;
static pid_t nvml_pid; /* the process that called nvmlInit */

static void init_nvml(void)
{
    sigset_t before;
    signals_block(&before);
    int rc = nvml.init();
    signals_restore(&before);
    if (rc)
        (void)err_set(&nvml_why, -ENOTSUP, "nvmlInit failed: %.160s (%d)",
                      nvml.error_string ? nvml.error_string(rc) : "error", rc);
    nvml_pid = getpid();
}

static void start_nvml(void)
{
    if (!load_library("CONTEND_LIBNVML", "libnvidia-ml.so.1", nvml_symbols, &nvml, &nvml_why))
        init_nvml();
}

const struct nvml_api *nvml_driver(struct err *why)
{
    (void)pthread_once(&nvml_once, start_nvml);
    if (!nvml_why.code && nvml_pid != getpid()) /* after a fork; the child has one thread */
        init_nvml();
    if (nvml_why.code && why)
        *why = nvml_why;
    return nvml_why.code ? NULL : &nvml;
}

static int64_t whole_number(const struct nvml_field *field)
{
    if (field->status)
        return -1;
    if (field->type == NVML_VALUE_UNSIGNED)
        return field->value.u;
    bool is_long =
        field->type == NVML_VALUE_UNSIGNED_LONG || field->type == NVML_VALUE_UNSIGNED_LONG_LONG;
    return is_long && field->value.ull <= INT64_MAX ? (int64_t)field->value.ull : -1;
}

void nvml_read_fields(const struct nvml_api *library, struct nvml_device *device,
                      struct nvml_field *fields, unsigned n, int64_t *values)
{
    bool told = library->fields && library->fields(device, (int)n, fields) == 0;
    for (unsigned i = 0; i < n; i++)
        values[i] = told ? whole_number(&fields[i]) : -1;
}

void nvml_read_counters(const struct nvml_api *library, struct nvml_device *device,
                        const unsigned *fields, unsigned n, int64_t *values)
{
    struct nvml_field read[NVML_FIELDS_AT_ONCE] = {0};
    assert(n <= NVML_FIELDS_AT_ONCE);
    for (unsigned i = 0; i < n; i++)
        read[i].field = fields[i];
    nvml_read_fields(library, device, read, n, values);
}

void gpu_driver_clean(char *text)
{
    for (; *text; text++)
        if (*text < ' ' || *text > '~')
            *text = '?';
}
