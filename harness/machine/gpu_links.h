/*
 * The links of this machine's GPUs: NVLink to another GPU or to a switch, and PCIe. Read through
 * NVML, which on virtual machines may hide where a link ends.
 */
#ifndef CONTEND_MACHINE_GPU_LINKS_H
#define CONTEND_MACHINE_GPU_LINKS_H

#include <stddef.h>

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

#endif
