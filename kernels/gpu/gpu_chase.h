/*
 * Latency of memory for one thread of a GPU: a chain of dependent loads, each from the address that
 * the previous load returned, in random order over lines that are far apart, each line once. The
 * memory can be any that the GPU reaches: its own, page-locked host memory, or another GPU's.
 *
 *   rc = gpu_chase("0000:00:06.0", memory, bytes, seed, &ns, &err);
 *
 * Source: NVIDIA's nvbandwidth, kernels.cu (ptrChasingKernel); S. Sattolo, "An algorithm to
 * generate a random cyclic permutation", Information Processing Letters 22 (1986).
 */
#ifndef CONTEND_KERNELS_GPU_GPU_CHASE_H
#define CONTEND_KERNELS_GPU_GPU_CHASE_H

#include <stddef.h>
#include <stdint.h>

#include "harness/lib/err.h"

#ifdef __cplusplus
extern "C" {
#endif

/* LINE: bytes of a line of the L2. A chain has 16 to LINKS links, and one load fewer. */
enum { GPU_CHASE_LINE = 128, GPU_CHASE_LINKS = 4096 };

/*
 * Overwrites the memory (aligned to LINE) with a chain, walks it once to warm the TLBs, evicts it
 * from the L2 of the GPU and of the GPU that owns the memory, and walks it again. *ns: time per
 * load of the second walk, by device events. -EBADMSG: the walk ends at a wrong place; -EINVAL: too
 * few bytes; else codes of gpu_common.h. Takes some 20 ms.
 */
int gpu_chase(const char *pci_bdf, void *memory, size_t bytes, uint64_t seed, double *ns,
              struct err *err);

#ifdef __cplusplus
}
#endif

#endif
