/*
 * How many bytes each GPU of this machine has sent and received over NVLink since its driver was
 * loaded: counters of the hardware, of all processes together.
 *
 * NVML_FI_DEV_NVLINK_THROUGHPUT_DATA_TX and _RX (138 and 139: payload in KiB) or, where a GPU has
 * none of them, NVML_FI_DEV_NVLINK_COUNT_XMIT_BYTES and _RCV_BYTES (202 and 204: bytes, NVLink 5),
 * of all links together (scope UINT_MAX), or, since NVML's reference promises that of the former
 * alone, of the latter the sum over links: NVML API reference, "Field Value Enums". The former are
 * what `nvidia-smi nvlink -gt d` shows.
 */
#ifndef CONTEND_MACHINE_GPU_NVLINK_H
#define CONTEND_MACHINE_GPU_NVLINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "harness/contract/bench.h"

enum { NVLINK_GPUS = 64 };

struct nvlink_gpu {
    char pci_bdf[PCI_BDF_MAX];          /* "0000:00:06.0" */
    int64_t sent_bytes, received_bytes; /* -1 = not told: it has no NVLink, or no such counter */
};

/* In NVML's order, so that a GPU's place is what NVML, and NCCL after it, calls its index. */
struct nvlink_counts {
    size_t n;
    bool leaves; /* NVLink also goes to GPUs of other machines: of a fabric with an identity (NVL72)
                  */
    struct nvlink_gpu gpu[NVLINK_GPUS];
};

/* -ENOTSUP with the reason: there is no driver, or it lists no GPU. */
int nvlink_read(struct nvlink_counts *counts, struct err *why);

/* Counts from `before` to `after`; -1 where either is unknown, or the counter was reset. */
void nvlink_since(const struct nvlink_counts *before, struct nvlink_counts *after);

#endif
