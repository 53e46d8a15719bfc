#include "harness/machine/gpu_watch.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/lib/sys/clock.h"
#include "harness/lib/text.h"
#include "harness/machine/gpu_driver.h"
#include "harness/machine/gpu_health.h"

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

/*
 * Turns a GPU's health and changes into findings, and health into one line. See gpu_health.h,
 * job.h.
 */

const char *gpu_compute_mode_name(enum gpu_compute_mode mode)
{
    static const char *const names[] = {"default", "exclusive thread", "prohibited", "exclusive"};
    return mode < GPU_MODE_DEFAULT || mode > GPU_MODE_EXCLUSIVE ? NULL : names[mode];
}

static const char *plural(int64_t n)
{
    return n == 1 ? "" : "s";
}

static void judge_links(const struct gpu_health *h, const struct findings_about *about)
{
    if (h->pcie_width > 0 && h->pcie_width < h->pcie_width_max)
        findings_report(about, "gpu_pcie", FINDING_BAD, "PCIe width is x%d of x%d", h->pcie_width,
                        h->pcie_width_max);
    if (h->pcie_generation_link > 0 && h->pcie_generation_link < h->pcie_generation_gpu)
        findings_report(about, "gpu_pcie", FINDING_NOTE,
                        "PCIe: slot and board allow gen %d, the GPU gen %d",
                        h->pcie_generation_link, h->pcie_generation_gpu);
    if (h->nvlinks > 0 && h->nvlinks_active == 0)
        findings_report(
            about, "gpu_nvlink", FINDING_NOTE,
            "none of its %d NVLinks is active: no bridge or switch, or it has not started",
            h->nvlinks);
    else if (h->nvlinks_active < h->nvlinks)
        findings_report(about, "gpu_nvlink", FINDING_BAD, "%d of %d NVLinks are down",
                        h->nvlinks - h->nvlinks_active, h->nvlinks);
}

static void judge_ecc(const struct gpu_health *h, const struct findings_about *about)
{
    if (h->ecc == 0)
        findings_report(about, "gpu_ecc", FINDING_NOTE, "ECC is off%s",
                        h->ecc_pending == 1 ? " until the next reset" : "");
    else if (h->ecc == 1 && h->ecc_pending == 0)
        findings_report(about, "gpu_ecc", FINDING_NOTE, "ECC will be off after the next reset");
    if (h->ecc_uncorrected > 0)
        findings_report(about, "gpu_ecc", FINDING_BAD,
                        "%lld uncorrected ECC error%s since the driver was loaded",
                        (long long)h->ecc_uncorrected, plural(h->ecc_uncorrected));
    if (h->ecc_uncorrected_life > 0 && h->ecc_uncorrected_life > h->ecc_uncorrected)
        findings_report(about, "gpu_ecc", FINDING_NOTE, "%lld uncorrected ECC error%s in its life",
                        (long long)h->ecc_uncorrected_life, plural(h->ecc_uncorrected_life));
    if (h->ecc_corrected > 0)
        findings_report(about, "gpu_ecc", FINDING_NOTE,
                        "%lld corrected ECC error%s since the driver was loaded",
                        (long long)h->ecc_corrected, plural(h->ecc_corrected));
}

static void judge_memory(const struct gpu_health *h, const struct findings_about *about)
{
    if (h->rows_failed == 1)
        findings_report(about, "gpu_memory", FINDING_BAD,
                        "remapping of a bad memory row has failed");
    if (h->rows_pending == 1)
        findings_report(about, "gpu_memory", FINDING_BAD,
                        "row remapping pending: bad memory is in use until the GPU is reset");
    if (h->pages_pending == 1 && h->rows_pending != 1)
        findings_report(about, "gpu_memory", FINDING_BAD,
                        "page retirement pending: bad memory is in use until the GPU is reset");
    if (h->rows_uncorrected > 0)
        findings_report(about, "gpu_memory", FINDING_NOTE,
                        "%d memory row%s remapped after uncorrected errors", h->rows_uncorrected,
                        plural(h->rows_uncorrected));
}

static void judge_modes(const struct gpu_health *h, const struct findings_about *about)
{
    const char *mode = gpu_compute_mode_name(h->compute_mode);
    if (h->persistence == 0)
        findings_report(about, "gpu_persistence", FINDING_NOTE,
                        "persistence mode off: an idle GPU is shut down, and slow to start");
    if (h->compute_mode == GPU_MODE_PROHIBITED)
        findings_report(
            about, "gpu_compute_mode", FINDING_BAD,
            "compute mode prohibited: no process can use it ('nvidia-smi -c 0' opens it)");
    else if (h->compute_mode == GPU_MODE_EXCLUSIVE && h->mps)
        findings_report(
            about, "gpu_compute_mode", FINDING_NOTE,
            "compute mode exclusive, with an MPS daemon: processes share it by way of MPS");
    else if (mode && h->compute_mode != GPU_MODE_DEFAULT)
        findings_report(
            about, "gpu_compute_mode", FINDING_BAD,
            "compute mode %s: one process at a time can use it ('nvidia-smi -c 0' opens it)", mode);
}

static void judge_processes(const struct gpu_health *h, const struct findings_about *about)
{
    char list[200] = "";
    size_t used = 0;
    if (h->nprocesses < 1)
        return;
    for (int i = 0; i < h->nprocesses && i < GPU_PROCESSES_MAX && used < sizeof(list); i++) {
        const struct gpu_process *process = &h->processes[i];
        bool named = process->name[0] != '\0';
        const char *bytes =
            process->memory_bytes >= 0 ? units_bytes((uint64_t)process->memory_bytes) : "";
        used += (size_t)snprintf(list + used, sizeof(list) - used, "%s%u%s%s%s%s%s", i ? "; " : "",
                                 process->pid, named ? " (" : "", process->name, named ? ")" : "",
                                 bytes[0] ? ", " : "", bytes);
    }
    bool all = h->nprocesses <= GPU_PROCESSES_MAX && used < sizeof(list);
    if (h->nprocesses == 1)
        findings_report(about, "gpu_processes", FINDING_BAD, "another process uses it: %s", list);
    else
        findings_report(about, "gpu_processes", FINDING_BAD, "%d other processes use it: %s%s",
                        h->nprocesses, list, all ? "" : "; ...");
}

static void judge_mig(const struct gpu_health *h, const struct findings_about *about)
{
    char list[160] = "";
    size_t used = 0;
    if (h->mig >= 0 && h->mig_pending >= 0 && h->mig != h->mig_pending)
        findings_report(about, "gpu_mig", FINDING_NOTE, "MIG will be %s after the next reset",
                        h->mig_pending ? "on" : "off");
    if (h->mig != 1)
        return;
    for (int i = 0; i < h->ninstances && i < GPU_INSTANCES_MAX && used < sizeof(list); i++)
        used += (size_t)snprintf(list + used, sizeof(list) - used, "%s%s", i ? ", " : ": ",
                                 h->instances[i].name[0] ? h->instances[i].name : "unnamed");
    if (h->ninstances == 0)
        findings_report(about, "gpu_mig", FINDING_BAD,
                        "MIG on without an instance: CUDA cannot use it");
    else if (h->ninstances < 0)
        findings_report(about, "gpu_mig", FINDING_NOTE,
                        "MIG on; what CUDA shows of it is what is measured");
    else
        findings_report(about, "gpu_mig", FINDING_NOTE,
                        "MIG on: %d instance%s%s; what CUDA shows of them is what is measured",
                        h->ninstances, plural(h->ninstances), list);
}

static void judge_power(const struct gpu_health *h, const struct findings_about *about)
{
    /* Limits are whole watts, so a difference of 1% is deliberate. */
    if (h->power_limit_w < 0.99 * h->power_limit_default_w)
        findings_report(about, "gpu_power", FINDING_NOTE, "its power is limited to %.0f of %.0f W",
                        h->power_limit_w, h->power_limit_default_w);
    if (gpu_throttle_is_noise(h->throttle_reasons))
        findings_report(about, "gpu_slowdown", FINDING_BAD,
                        "slowed down right now, by heat or the power supply (reasons 0x%llx)",
                        (unsigned long long)h->throttle_reasons);
}

void gpu_health_judge(const struct gpu_health *health, const char *subject,
                      struct findings *findings)
{
    const struct findings_about about = {findings, subject};
    judge_links(health, &about);
    judge_ecc(health, &about);
    judge_memory(health, &about);
    judge_modes(health, &about);
    judge_processes(health, &about);
    judge_mig(health, &about);
    judge_power(health, &about);
}

/* The noun in the singular, and the text after it, also in the plural. */
static const struct gain {
    const char *id;
    enum finding_severity severity;
    const char *what, *behind;
} gains[GPU_COUNTERS] = {
    [GPU_ECC_CORRECTED] = {"gpu_ecc", FINDING_NOTE, "corrected ECC error", ""},
    [GPU_ECC_UNCORRECTED] = {"gpu_ecc", FINDING_BAD, "uncorrected ECC error", ""},
    [GPU_ROWS_CORRECTED] = {"gpu_memory", FINDING_NOTE, "memory row",
                            " remapped after corrected errors"},
    [GPU_ROWS_UNCORRECTED] = {"gpu_memory", FINDING_BAD, "memory row",
                              " remapped after uncorrected errors"},
    [GPU_PCIE_REPLAYS] = {"gpu_pcie", FINDING_NOTE, "PCIe replay", ""},
    [GPU_NVLINK_CRC_FLIT] = {"gpu_nvlink", FINDING_NOTE, "NVLink CRC error", " of flow control"},
    [GPU_NVLINK_CRC_DATA] = {"gpu_nvlink", FINDING_NOTE, "NVLink CRC error", " of data"},
    [GPU_NVLINK_REPLAYS] = {"gpu_nvlink", FINDING_NOTE, "NVLink replay", ""},
    [GPU_NVLINK_RECOVERIES] = {"gpu_nvlink", FINDING_BAD, "restart", " of an NVLink"},
};

static void judge_load(const struct gpu_change *change, const char *during,
                       const struct findings_about *about)
{
    if (change->pcie_generation > 0 && change->pcie_generation < change->pcie_generation_most)
        findings_report(about, "gpu_pcie", FINDING_BAD, "PCIe gen %d of %d under load, during %s",
                        change->pcie_generation, change->pcie_generation_most, during);
    if (change->pcie_width > 0 && change->pcie_width < change->pcie_width_most)
        findings_report(about, "gpu_pcie", FINDING_BAD,
                        "PCIe width x%d of x%d under load, during %s", change->pcie_width,
                        change->pcie_width_most, during);
}

void gpu_change_judge(const struct gpu_change *change, const char *subject, const char *during,
                      const char *evidence, struct findings *findings)
{
    const struct findings_about about = {findings, subject, evidence};
    for (int i = 0; i < GPU_COUNTERS; i++)
        if (change->gained[i] > 0)
            findings_report(&about, gains[i].id, gains[i].severity, "%lld %s%s%s during %s",
                            (long long)change->gained[i], gains[i].what, plural(change->gained[i]),
                            gains[i].behind, during);
    if (change->xid)
        findings_report(&about, "gpu_xid", FINDING_BAD,
                        "Xid %d during %s: the kernel's log says more", change->xid, during);
    judge_load(change, during, &about);
}

static void append_links(const struct gpu_health *h, const char **text)
{
    if (h->pcie_width > 0)
        str_add(text, "; ", "PCIe x%d", h->pcie_width);
    if (h->pcie_generation > 0)
        str_add(text, " ", "%sgen %d", (*text)[0] ? "" : "PCIe ", h->pcie_generation);
    if (h->pcie_generation > 0 && h->pcie_generation < h->pcie_generation_link)
        str_add(text, "", "/%d", h->pcie_generation_link);
    if (h->nvlinks > 0)
        str_add(text, "; ", "%d NVLink%s", h->nvlinks_active, plural(h->nvlinks_active));
}

/* "345/1980 MHz", now and maximum; nothing if unknown. */
static void append_part(double now, double most, const char *unit, const char **text)
{
    if (isnan(now))
        return;
    if (isnan(most))
        str_add(text, "; ", "%.0f %s", now, unit);
    else
        str_add(text, "; ", "%.0f/%.0f %s", now, most, unit);
}

const char *gpu_health_format(const struct gpu_health *health)
{
    const char *text = "";
    append_links(health, &text);
    if (health->ecc == 1)
        str_add(&text, "; ", "ECC");
    append_part(health->clock_mhz, health->clock_max_mhz, "MHz", &text);
    append_part(health->power_w, health->power_limit_w, "W", &text);
    append_part(health->temperature_c, NAN, "C", &text);
    return text;
}
