/*
 * Turns a GPU's health and changes into findings, and health into one line. See health.h, watch.h.
 */
#include <math.h>
#include <stdio.h>

#include "harness/lib/str.h"
#include "harness/lib/text.h"
#include "harness/lib/units.h"
#include "harness/machine/gpu_health.h"
#include "harness/machine/gpu_watch.h"
#include "harness/machine/state.h"

const char *gpu_compute_mode_name(enum gpu_compute_mode mode)
{
    static const char *const names[] = {"default", "exclusive thread", "prohibited", "exclusive"};
    return mode < GPU_MODE_DEFAULT || mode > GPU_MODE_EXCLUSIVE ? NULL : names[mode];
}

static const char *plural(int64_t n)
{
    return n == 1 ? "" : "s";
}

static void judge_links(const struct gpu_health *h, struct findings_about *about)
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

static void judge_ecc(const struct gpu_health *h, struct findings_about *about)
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

static void judge_memory(const struct gpu_health *h, struct findings_about *about)
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

static void judge_modes(const struct gpu_health *h, struct findings_about *about)
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

static void judge_processes(const struct gpu_health *h, struct findings_about *about)
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

static void judge_mig(const struct gpu_health *h, struct findings_about *about)
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

static void judge_power(const struct gpu_health *h, struct findings_about *about)
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

int gpu_health_judge(const struct gpu_health *health, const char *subject,
                     struct findings *findings, struct err *err)
{
    struct findings_about about = {findings, err, subject};
    judge_links(health, &about);
    judge_ecc(health, &about);
    judge_memory(health, &about);
    judge_modes(health, &about);
    judge_processes(health, &about);
    judge_mig(health, &about);
    judge_power(health, &about);
    return about.rc;
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
                       struct findings_about *about)
{
    if (change->pcie_generation > 0 && change->pcie_generation < change->pcie_generation_most)
        findings_report(about, "gpu_pcie", FINDING_BAD, "PCIe gen %d of %d under load, during %s",
                        change->pcie_generation, change->pcie_generation_most, during);
    if (change->pcie_width > 0 && change->pcie_width < change->pcie_width_most)
        findings_report(about, "gpu_pcie", FINDING_BAD,
                        "PCIe width x%d of x%d under load, during %s", change->pcie_width,
                        change->pcie_width_most, during);
}

int gpu_change_judge(const struct gpu_change *change, const char *subject, const char *during,
                     const char *evidence, struct findings *findings, struct err *err)
{
    struct findings_about about = {findings, err, subject, evidence};
    for (int i = 0; i < GPU_COUNTERS; i++)
        if (change->gained[i] > 0)
            findings_report(&about, gains[i].id, gains[i].severity, "%lld %s%s%s during %s",
                            (long long)change->gained[i], gains[i].what, plural(change->gained[i]),
                            gains[i].behind, during);
    if (change->xid)
        findings_report(&about, "gpu_xid", FINDING_BAD,
                        "Xid %d during %s: the kernel's log says more", change->xid, during);
    judge_load(change, during, &about);
    return about.rc;
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
