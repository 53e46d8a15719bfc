/*
 * How the GPUs of this machine are joined: NVLink to another GPU or to a switch, and PCIe. Read
 * through NVML, which on virtual machines may hide where a link ends.
 */
#ifndef CONTEND_MACHINE_GPU_LINKS_H
#define CONTEND_MACHINE_GPU_LINKS_H

#include <stddef.h>

#include "harness/machine/gpu/pci.h"

enum gpu_way {
    GPU_WAY_NVLINK, /* to the GPU `to` */
    GPU_WAY_SWITCH, /* NVLink to a switch, and by it to all others that have this */
    GPU_WAY_PCIE,
    GPU_WAYS
};
/* "nvlink", "nvswitch", "pcie" */
const char *gpu_way_name(enum gpu_way way);

struct gpu_link {
    char pci[PCI_BDF_MAX], to[PCI_BDF_MAX]; /* to: "" unless GPU_WAY_NVLINK */
    enum gpu_way way;
    unsigned links; /* side by side; of PCIe lanes */
    double gbps;    /* of all together in one direction, as they are specified; 0 = unknown */
};

/* Reads the links of all GPUs: at most `most`, PCIe behind NVLink; 0 without NVML. */
size_t gpu_links_read(struct gpu_link *link, size_t most);

/*
 * GB/s of one NVLink in one direction, by NVML's number of its version (nvml.h,
 * nvmlNvlinkVersion_t); 0 = unknown, as 5 is, which was 3.1 and may be 5.0. NVIDIA Tesla P100,
 * V100, A100, H100 white papers and Blackwell's brief: 20, 25, 25, 25 and 50.
 */
double gpu_nvlink_gbps(unsigned version);

/* GB/s of a lane of PCIe in one direction, with its encoding; 0 = unknown. PCI Express base
 * specification 1.0 to 6.0. */
double gpu_pcie_lane_gbps(int generation);

#endif
