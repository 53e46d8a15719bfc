#include "harness/machine/gpu_watch.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/lib/sys/clock.h"
#include "harness/machine/gpu_driver.h"

struct gpu_watched {
    struct nvml_device *device;
    int64_t before[GPU_COUNTERS];
    int64_t thermal_ns; /* at gpu_watch_start */
    uint64_t start_ns;
    struct gpu_change change;
};

const char *const gpu_counter_names[GPU_COUNTERS] = {
    "ecc_corrected",   "ecc_uncorrected", "rows_corrected", "rows_uncorrected",  "pcie_replays",
    "nvlink_crc_flit", "nvlink_crc_data", "nvlink_replays", "nvlink_recoveries",
};

static const unsigned counter_fields[GPU_COUNTERS] = {
    NVML_FIELD_ECC_CORRECTED,    NVML_FIELD_ECC_UNCORRECTED, NVML_FIELD_ROWS_CORRECTED,
    NVML_FIELD_ROWS_UNCORRECTED, NVML_FIELD_PCIE_REPLAYS,    NVML_FIELD_NVLINK_CRC_FLIT,
    NVML_FIELD_NVLINK_CRC_DATA,  NVML_FIELD_NVLINK_REPLAYS,  NVML_FIELD_NVLINK_RECOVERIES,
};

static struct gpu_change unknown_change(const char *pci_bdf)
{
    struct gpu_change change = {.thermal_share = NAN,
                                .pcie_generation = -1,
                                .pcie_generation_most = -1,
                                .pcie_width = -1,
                                .pcie_width_most = -1};
    (void)snprintf(change.pci_bdf, sizeof(change.pci_bdf), "%s", pci_bdf);
    for (int i = 0; i < GPU_COUNTERS; i++)
        change.gained[i] = -1;
    return change;
}

static int query_number(int (*call)(struct nvml_device *, unsigned *), struct nvml_device *device)
{
    unsigned value = 0;
    return call && call(device, &value) == 0 && value >= 1 && value <= 32 ? (int)value : -1;
}

static int64_t read_thermal_ns(const struct nvml_api *nvml, struct nvml_device *device)
{
    static const unsigned field = NVML_FIELD_LIMITED_BY_HEAT;
    int64_t ns;
    nvml_read_counters(nvml, device, &field, 1, &ns);
    return ns;
}

static void watch_gpu(const struct nvml_api *nvml, struct gpu_watch *watch, const char *pci_bdf)
{
    struct gpu_watched *gpu = &watch->gpus[watch->n];
    if (nvml->by_pci(pci_bdf, &gpu->device))
        return;
    watch->n++;
    gpu->change = unknown_change(pci_bdf);
    gpu->change.pcie_generation_most = query_number(nvml->pcie_generation_max, gpu->device);
    gpu->change.pcie_width_most = query_number(nvml->pcie_width_max, gpu->device);
    nvml_read_counters(nvml, gpu->device, counter_fields, GPU_COUNTERS, gpu->before);
    if (watch->events)
        (void)nvml->event_register(gpu->device, NVML_EVENT_XID, watch->events);
}

int gpu_watch_open(struct gpu_watch *watch, const char (*pci_bdfs)[PCI_BDF_MAX], unsigned n,
                   struct err *err)
{
    *watch = (struct gpu_watch){0};
    const struct nvml_api *nvml = n ? nvml_driver(NULL) : NULL;
    if (!nvml)
        return 0;
    watch->gpus = calloc(n, sizeof(*watch->gpus));
    if (!watch->gpus)
        return err_set(err, -ENOMEM, "no memory to watch %u GPUs", n);
    bool has_events =
        nvml->event_set_create && nvml->event_register && nvml->event_wait && nvml->event_set_free;
    if (has_events && nvml->event_set_create(&watch->events))
        watch->events = NULL;
    for (unsigned i = 0; i < n; i++)
        watch_gpu(nvml, watch, pci_bdfs[i]);
    return 0;
}

void gpu_watch_start(struct gpu_watch *watch)
{
    for (unsigned i = 0; i < watch->n; i++) {
        struct gpu_watched *gpu = &watch->gpus[i];
        gpu->thermal_ns = read_thermal_ns(nvml_driver(NULL), gpu->device);
        gpu->start_ns = clock_now_ns();
    }
}

/* Skips a GPU whose link was seen at its maximum: a healthy GPU is queried once. */
static void sample_link(const struct nvml_api *nvml, struct gpu_watched *gpu)
{
    struct gpu_change *change = &gpu->change;
    unsigned long long reasons = NVML_THROTTLE_GPU_IDLE;
    if (change->pcie_generation >= change->pcie_generation_most &&
        change->pcie_width >= change->pcie_width_most)
        return;
    if (!nvml->throttle || nvml->throttle(gpu->device, &reasons) ||
        (reasons & NVML_THROTTLE_GPU_IDLE))
        return;
    int generation = query_number(nvml->pcie_generation, gpu->device);
    int width = query_number(nvml->pcie_width, gpu->device);
    if (generation > change->pcie_generation)
        change->pcie_generation = generation;
    if (width > change->pcie_width)
        change->pcie_width = width;
}

void gpu_watch_sample(struct gpu_watch *watch)
{
    for (unsigned i = 0; i < watch->n; i++)
        sample_link(nvml_driver(NULL), &watch->gpus[i]);
}

void gpu_watch_stop(struct gpu_watch *watch)
{
    for (unsigned i = 0; i < watch->n; i++) {
        struct gpu_watched *gpu = &watch->gpus[i];
        int64_t thermal_ns = read_thermal_ns(nvml_driver(NULL), gpu->device);
        uint64_t now_ns = clock_now_ns();
        bool known = gpu->start_ns && now_ns > gpu->start_ns && gpu->thermal_ns >= 0;
        if (known && thermal_ns >= gpu->thermal_ns)
            gpu->change.thermal_share =
                (double)(thermal_ns - gpu->thermal_ns) / (double)(now_ns - gpu->start_ns);
    }
}

/*
 * Ignores Xid 45, "preemptive cleanup": it follows another error, or the end of a process, such as
 * a worker that contend ends at its limit.
 */
static void take_events(const struct nvml_api *nvml, struct gpu_watch *watch)
{
    enum { CLEANUP = 45, EVENTS_MOST = 1000 };
    struct nvml_event event = {0};
    for (int n = 0; n < EVENTS_MOST && nvml->event_wait(watch->events, &event, 0) == 0; n++)
        for (unsigned i = 0; i < watch->n; i++) {
            struct gpu_watched *gpu = &watch->gpus[i];
            if (gpu->device == event.device && event.type == NVML_EVENT_XID &&
                event.data != CLEANUP && event.data <= INT16_MAX && !gpu->change.xid)
                gpu->change.xid = (int)event.data;
        }
    (void)nvml->event_set_free(watch->events);
}

static void read_gains(const struct nvml_api *nvml, struct gpu_watched *gpu)
{
    int64_t after[GPU_COUNTERS];
    nvml_read_counters(nvml, gpu->device, counter_fields, GPU_COUNTERS, after);
    for (int i = 0; i < GPU_COUNTERS; i++)
        if (gpu->before[i] >= 0 && after[i] >= gpu->before[i]) /* else it is unknown, or reset */
            gpu->change.gained[i] = after[i] - gpu->before[i];
}

struct gpu_change *gpu_watch_close(struct gpu_watch *watch, unsigned *n)
{
    struct gpu_change *changes = watch->n ? calloc(watch->n, sizeof(*changes)) : NULL;
    if (watch->events)
        take_events(nvml_driver(NULL), watch);
    for (unsigned i = 0; changes && i < watch->n; i++) {
        read_gains(nvml_driver(NULL), &watch->gpus[i]);
        changes[i] = watch->gpus[i].change;
    }
    *n = changes ? watch->n : 0;
    free(watch->gpus);
    *watch = (struct gpu_watch){0};
    return changes;
}

struct gpu_change gpu_change_only(const struct gpu_change *change, enum gpu_kind kind)
{
    struct gpu_change only = unknown_change(change->pci_bdf);
    memcpy(only.host, change->host, sizeof(only.host));
    if ((int)kind < GPU_COUNTERS)
        only.gained[kind] = change->gained[kind];
    if (kind == GPU_XID)
        only.xid = change->xid;
    if (kind == GPU_LINK) {
        only.pcie_generation = change->pcie_generation;
        only.pcie_generation_most = change->pcie_generation_most;
        only.pcie_width = change->pcie_width;
        only.pcie_width_most = change->pcie_width_most;
    }
    return only;
}

/* The smaller known value; a negative one is unknown. */
static int lesser(int a, int b)
{
    return a < 0 || (b >= 0 && b < a) ? b : a;
}

void gpu_change_add(struct gpu_change *sum, const struct gpu_change *change)
{
    for (int i = 0; i < GPU_COUNTERS; i++)
        if (change->gained[i] >= 0)
            sum->gained[i] = change->gained[i] + (sum->gained[i] < 0 ? 0 : sum->gained[i]);
    if (!sum->xid)
        sum->xid = change->xid;
    sum->thermal_share = fmax(sum->thermal_share, change->thermal_share); /* fmax ignores NaN */
    sum->pcie_generation = lesser(sum->pcie_generation, change->pcie_generation);
    sum->pcie_width = lesser(sum->pcie_width, change->pcie_width);
    if (change->pcie_generation_most > sum->pcie_generation_most)
        sum->pcie_generation_most = change->pcie_generation_most;
    if (change->pcie_width_most > sum->pcie_width_most)
        sum->pcie_width_most = change->pcie_width_most;
}
