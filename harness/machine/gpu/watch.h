/*
 * GPUs while something runs on them: what their error counters gained, Xid errors, how long heat
 * held their clocks back, and their PCIe links as they are under load. A value that a driver
 * lacks, and a counter that was reset meanwhile, is unknown, and no error. Source: NVML API
 * reference, docs.nvidia.com.
 *
 *   struct gpu_watch watch = {0};
 *   rc = gpu_watch_open(&watch, bdfs, n, err);   before anything runs
 *   gpu_watch_go(&watch);                        the load begins
 *   gpu_watch_look(&watch);                      under load, as often as one likes
 *   gpu_watch_stop(&watch);                      its end
 *   changes = gpu_watch_close(&watch, &n);       behind everything; free() them
 */
#ifndef CONTEND_MACHINE_GPU_WATCH_H
#define CONTEND_MACHINE_GPU_WATCH_H

#include <stddef.h>
#include <stdint.h>

#include "harness/contract/bench.h"
#include "harness/contract/finding.h"
#include "harness/lib/base/err.h"

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

/* Plain data, which crosses processes. -1 = unknown; of doubles, NaN. */
struct gpu_change {
    char pci_bdf[PCI_BDF_MAX];
    char host[64];                /* of a rank of a job; "" = this one */
    int64_t gained[GPU_COUNTERS]; /* between open and close */
    int xid;                      /* the first there was; 0 = none, or not told */
    double heat;                  /* share of the time from go to stop */
    /* The best that was seen under load, and the most that device and link can do. */
    int pcie_generation, pcie_generation_most, pcie_width, pcie_width_most;
};

/* Zeroed = closed. */
struct gpu_watch {
    unsigned n;
    struct gpu_watched *gpus; /* owned */
    struct nvml_event_set *events;
};

/* Without NVML, or where it knows none of them, it watches nothing. -ENOMEM only. */
int gpu_watch_open(struct gpu_watch *watch, const char (*pci_bdfs)[PCI_BDF_MAX], unsigned n,
                   struct err *err);
void gpu_watch_go(struct gpu_watch *watch);

/* A GPU that NVML calls idle just now is not looked at: it lowers the generation of its link. */
void gpu_watch_look(struct gpu_watch *watch);
void gpu_watch_stop(struct gpu_watch *watch);

/* NULL for none. Also after an error of open. */
struct gpu_change *gpu_watch_close(struct gpu_watch *watch, unsigned *n);

/* The kinds of a change: a counter gained, GPU_XID, GPU_LINK. */
enum gpu_kind { GPU_XID = GPU_COUNTERS, GPU_LINK, GPU_KINDS };

/* The change with nothing known but that kind; of GPU_KINDS nothing. */
struct gpu_change gpu_change_only(const struct gpu_change *change, enum gpu_kind kind);

/* Adds what is known of the one to the other: of links the worst is kept. */
void gpu_change_add(struct gpu_change *sum, const struct gpu_change *change);

/*
 * Appends what of it a user should know, "2 uncorrected ECC errors during none, 2 workers"; -ENOMEM
 * only. Pure. FINDING_BAD is what costs speed or correct results. Ids: gpu_ecc, gpu_memory,
 * gpu_nvlink, gpu_pcie, gpu_xid. `evidence` is that of all of them.
 */
int gpu_change_judge(const struct gpu_change *change, const char *subject, const char *during,
                     const char *evidence, struct findings *findings, struct err *err);

#endif
