/*
 * The GPUs of this machine: which ones CUDA sees, in which order, and their NUMA nodes. Loads the
 * driver's libraries if needed (machine/gpu_driver.h); without them there are no GPUs, which is no
 * error.
 */
#ifndef CONTEND_MACHINE_TOPO_GPU_H
#define CONTEND_MACHINE_TOPO_GPU_H

#include <stdbool.h>
#include <stddef.h>

#include "harness/lib/pci.h"
#include "harness/machine/topo.h"

/* Appends a GPU, zeroed except for node and ordinal: unknown (-1). NULL: out of memory. */
struct topo_gpu *topo_add_gpu(struct topo *topo);

/*
 * Replaces topo->gpus (what hwloc found on the PCI bus) by what the drivers see, and reads the
 * GPUs' health. First come CUDA's devices in CUDA's order (CUDA_VISIBLE_DEVICES applies), then
 * NVML's others with ordinal -1. topo->gpu_note says why there is no GPU, or why CUDA or this
 * program cannot use it. `only_order`: as in struct topo_options. -ENOMEM only.
 */
int topo_probe_gpus(bool only_order, struct topo *topo, struct err *err);

/*
 * -ENOTSUP, with the reason in note, if the driver is too old for the CUDA runtime `built_with`,
 * such as "13.0.48". `driver`: topo.cuda_driver. CUDA promises that a runtime works with every
 * driver of its major version and later ones ("Minor version compatibility", CUDA Compatibility).
 * Pure.
 */
int topo_check_cuda(int driver, const char *built_with, char *note, size_t size);

/* "GPU 2 (0000:00:08.0)", or "GPU 0000:00:08.0" if CUDA does not see it. */
const char *topo_gpu_name(const struct topo_gpu *gpu);

/* The same by CUDA's ordinal; false, and buf is as it was: no such GPU. */
bool topo_gpu_name_ordinal(const struct topo *topo, int cuda_ordinal, char *buf, size_t size);

/* "0000:01:00.0@0,0000:02:00.0@1" adds GPUs near os_node 0 and 1; without @NODE: unknown. */
int topo_fake_gpus(struct topo *topo, const char *text, struct err *err);

/* Each source's answer about a GPU: an os_node, or a NODE_ value below. */
enum { NODE_REPORTED_UNKNOWN = -1, NODE_NO_ANSWER = -2 };
struct gpu_evidence {
    int sysfs_node; /* /sys/bus/pci/devices/BDF/numa_node; -1 on many VMs */
    int nvml_node;
    int hwloc_node;
};

/*
 * Decides the GPU's node, source, CPUs and note. Pure. sysfs comes first, as the kernel places
 * memory by it; then NVML; then hwloc. A contradiction goes to the note.
 */
void topo_locate_gpu(const struct topo *topo, const struct gpu_evidence *evidence,
                     struct topo_gpu *gpu);

#endif
