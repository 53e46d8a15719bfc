/*
 * The GPUs of this machine: which ones CUDA sees and in what order, and what they are near.
 * The driver's libraries are loaded when needed (machine/gpu/driver.h); without them there are no
 * GPUs, which is no error.
 */
#ifndef CONTEND_MACHINE_TOPO_TOPO_GPU_H
#define CONTEND_MACHINE_TOPO_TOPO_GPU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "harness/machine/gpu/pci.h"
#include "harness/machine/topo/topo.h"

/* Appends a zeroed GPU with unknown node and ordinal. NULL: no memory. */
struct topo_gpu *topo_add_gpu(struct topo *topo);

/*
 * Replaces topo->gpus, on entry what hwloc found on the PCI bus, by what the drivers see: first
 * CUDA's devices in CUDA's order (CUDA_VISIBLE_DEVICES applies), then NVML's others with ordinal
 * -1; and reads their health. topo->gpu_note says why there is none, or why CUDA uses none or this
 * program cannot. `only_order`: as in struct topo_options. -ENOMEM only.
 */
int topo_probe_gpus(bool only_order, struct topo *topo, struct err *err);

/*
 * `driver` as in struct topo, `built_with` such as "13.0.48". CUDA promises that a runtime works on
 * every driver of its major version and later ones ("Minor version compatibility", CUDA
 * Compatibility). -ENOTSUP with the reason in note where this driver is older. Pure.
 */
int topo_check_cuda(int driver, const char *built_with, char *note, size_t size);

/* "GPU 2 (0000:00:08.0)", or "GPU 0000:00:08.0" of one that CUDA does not see. Returns buf. */
char *topo_gpu_name(const struct topo_gpu *gpu, char *buf, size_t size);

/* "0000:01:00.0@0,0000:02:00.0@1" adds GPUs near os_node 0 and 1; without @NODE: unknown. */
int topo_fake_gpus(struct topo *topo, const char *text, struct err *err);

/* The answer of each source about one GPU: an os_node, or one of the negative values. */
enum { NODE_REPORTED_UNKNOWN = -1, NODE_NO_ANSWER = -2 };
struct gpu_evidence {
    int sysfs_node; /* /sys/bus/pci/devices/BDF/numa_node; -1 is what many VMs have there */
    int nvml_node;
    int hwloc_node;
};

/*
 * Decides the GPU's node, source, CPUs and note. Pure. sysfs comes first: it is the kernel's view,
 * by which memory will be placed; then NVML; then hwloc. A contradiction is a note.
 */
void topo_locate_gpu(const struct topo *topo, const struct gpu_evidence *evidence,
                     struct topo_gpu *gpu);

#endif
