/*
 * The links of this machine's GPUs: NVLink to another GPU or to a switch, and PCIe. Read through
 * NVML, which on virtual machines may hide where a link ends.
 */
#ifndef CONTEND_MACHINE_GPU_LINKS_H
#define CONTEND_MACHINE_GPU_LINKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "harness/lib/err.h"
#include "harness/lib/pci.h"

enum gpu_way {
    GPU_WAY_NVLINK, /* to the GPU `to` */
    GPU_WAY_SWITCH, /* NVLink to a switch, and so to all GPUs with such links */
    GPU_WAY_PCIE,
    GPU_WAYS
};
/* "nvlink", "nvswitch", "pcie" */
const char *gpu_way_name(enum gpu_way way);

struct gpu_link {
    char pci[PCI_BDF_MAX], to[PCI_BDF_MAX]; /* to: "" unless GPU_WAY_NVLINK */
    enum gpu_way way;
    unsigned links; /* number of parallel links; for PCIe, lanes */
    double gbps;    /* nominal, all links, one direction, GB/s; 0 = unknown */
};

/* Reads up to `most` links of all GPUs, PCIe after NVLink. Returns the number; 0 without NVML. */
size_t gpu_links_read(struct gpu_link *link, size_t most);

/*
 * GB/s of one NVLink in one direction, by NVML's version number (nvml.h, nvmlNvlinkVersion_t); 0 =
 * unknown, also for 5, which was 3.1 and may be 5.0. Sources: NVIDIA Tesla P100, V100, A100, H100
 * white papers and Blackwell's brief: 20, 25, 25, 25 and 50.
 */
double gpu_nvlink_gbps(unsigned version);

/* GB/s of a PCIe lane in one direction, encoding included; 0 = unknown. PCI Express base
 * specification 1.0 to 6.0. */
double gpu_pcie_lane_gbps(int generation);

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
