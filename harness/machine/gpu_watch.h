/*
 * Watches GPUs under load: growth of error counters, Xid errors, time throttled by heat, and the
 * state of PCIe links. A value that a driver lacks, or a counter that was reset meanwhile, is
 * unknown, and no error. Source: NVML API reference, docs.nvidia.com.
 *
 *   struct gpu_watch watch = {0};
 *   rc = gpu_watch_open(&watch, bdfs, n, err);   before the load
 *   gpu_watch_start(&watch);                     the load begins
 *   gpu_watch_sample(&watch);                    under load, any number of times
 *   gpu_watch_stop(&watch);                      the load ends
 *   changes = gpu_watch_close(&watch, &n);       at the end; free() them
 */
#ifndef CONTEND_MACHINE_GPU_WATCH_H
#define CONTEND_MACHINE_GPU_WATCH_H

#include <stdint.h>

#include "harness/lib/err.h"
#include "harness/lib/finding.h"
#include "harness/lib/pci.h"

enum gpu_counter {
    GPU_ECC_CORRECTED,
    GPU_ECC_UNCORRECTED,
    GPU_ROWS_CORRECTED, /* memory rows remapped after corrected errors */
    GPU_ROWS_UNCORRECTED,
    GPU_PCIE_REPLAYS,
    GPU_NVLINK_CRC_FLIT,
    GPU_NVLINK_CRC_DATA,
    GPU_NVLINK_REPLAYS,
    GPU_NVLINK_RECOVERIES,
    GPU_COUNTERS
};
extern const char *const gpu_counter_names[GPU_COUNTERS]; /* "ecc_corrected", for scripts */

/* Plain data that is sent between processes. Unknown: -1, NaN for doubles. */
struct gpu_change {
    char pci_bdf[PCI_BDF_MAX];
    char host[64];                /* host of a job's rank; "" = this one */
    int64_t gained[GPU_COUNTERS]; /* between open and close */
    int xid;                      /* the first Xid; 0 = none or unknown */
    double thermal_share; /* share of the time from start to stop that heat limited clocks */
    /* The best seen under load, and the maximum of link and device. */
    int pcie_generation, pcie_generation_most, pcie_width, pcie_width_most;
};

/* Zeroed = closed. */
struct gpu_watch {
    unsigned n;
    struct gpu_watched *gpus; /* owned */
    struct nvml_event_set *events;
};

/* Without NVML, or if it knows none of the GPUs, watches nothing. -ENOMEM only. */
int gpu_watch_open(struct gpu_watch *watch, const char (*pci_bdfs)[PCI_BDF_MAX], unsigned n,
                   struct err *err);
void gpu_watch_start(struct gpu_watch *watch);

/* Skips GPUs that NVML reports idle, as they lower their link's generation. */
void gpu_watch_sample(struct gpu_watch *watch);
void gpu_watch_stop(struct gpu_watch *watch);

/* Returns the changes, NULL for none. Call it also after an error of gpu_watch_open. */
struct gpu_change *gpu_watch_close(struct gpu_watch *watch, unsigned *n);

/* Kinds of changes: a counter's growth, GPU_XID, GPU_LINK. */
enum gpu_kind { GPU_XID = GPU_COUNTERS, GPU_LINK, GPU_KINDS };

/* A copy in which only that kind is known; GPU_KINDS: nothing. */
struct gpu_change gpu_change_only(const struct gpu_change *change, enum gpu_kind kind);

/* Adds the known values of `change` to *sum; of thermal_share and links, keeps the worse state. */
void gpu_change_add(struct gpu_change *sum, const struct gpu_change *change);

/*
 * Appends findings on what a user should know, such as "2 uncorrected ECC errors during none, 2
 * workers". Pure. FINDING_BAD costs speed or correct results. Ids: gpu_ecc,
 * gpu_memory, gpu_nvlink, gpu_pcie, gpu_xid. `during` names the load; all findings get `evidence`.
 */
void gpu_change_judge(const struct gpu_change *change, const char *subject, const char *during,
                      const char *evidence, struct findings *findings);

#endif
