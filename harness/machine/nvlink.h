/*
 * Bytes that each GPU of this machine has sent and received over NVLink since its driver was
 * loaded: hardware counters, for all processes together.
 *
 * Reads NVML_FI_DEV_NVLINK_THROUGHPUT_DATA_TX and _RX (138 and 139: payload in KiB, as `nvidia-smi
 * nvlink -gt d` shows), or, if a GPU lacks them, NVML_FI_DEV_NVLINK_COUNT_XMIT_BYTES and _RCV_BYTES
 * (202 and 204: bytes, NVLink 5). Scope UINT_MAX means all links; NVML's reference promises that
 * only for the former, so the latter are summed over links if needed: NVML API reference, "Field
 * Value Enums".
 */
#ifndef CONTEND_MACHINE_NVLINK_H
#define CONTEND_MACHINE_NVLINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "harness/lib/err.h"
#include "harness/lib/pci.h"

enum { NVLINK_GPUS = 64 };

struct nvlink_gpu {
    char pci_bdf[PCI_BDF_MAX];          /* "0000:00:06.0" */
    int64_t sent_bytes, received_bytes; /* -1 = unknown: no NVLink, or no such counter */
};

/* In NVML's order: a GPU's position is its index in NVML, and so in NCCL. */
struct nvlink_counts {
    size_t n;
    bool leaves; /* NVLink reaches other machines' GPUs: the fabric has an identity (NVL72) */
    struct nvlink_gpu gpu[NVLINK_GPUS];
};

/* -ENOTSUP, with the reason: there is no driver, or it lists no GPU. */
int nvlink_read(struct nvlink_counts *counts, struct err *why);

/* Turns *after into the growth since *before; -1 if either is unknown or the counter was reset. */
void nvlink_since(const struct nvlink_counts *before, struct nvlink_counts *after);

#endif
