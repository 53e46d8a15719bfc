/*
 * Latency of memory as one thread of a GPU sees it: a chain of dependent loads, each of an address
 * that the one before it gave, in random order over lines that are far apart, none of them twice.
 * The memory is any that the GPU reaches: its own, page-locked memory of the host, another GPU's.
 *
 *   rc = gpu_chase("0000:00:06.0", memory, bytes, seed, &ns, msg, sizeof(msg));
 *
 * Source: NVIDIA's nvbandwidth, kernels.cu (ptrChasingKernel); S. Sattolo, "An algorithm to
 * generate a random cyclic permutation", Information Processing Letters 22 (1986).
 */
#ifndef CONTEND_KERNELS_GPU_GPU_CHASE_H
#define CONTEND_KERNELS_GPU_GPU_CHASE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Lines of a GPU's L2; a chain has at most LINKS loads, and at least 16. */
enum { GPU_CHASE_LINE = 128, GPU_CHASE_LINKS = 4096 };

/*
 * Overwrites the memory (aligned to LINE) with a chain, walks it once for the translation of
 * addresses, throws what both GPUs' L2 holds of it out, and walks it again: *ns is the time of one
 * load of that walk, by device events. -EBADMSG where the walk ends elsewhere than the chain. With
 * codes of gpu_common.h. Takes some 20 ms.
 */
int gpu_chase(const char *pci_bdf, void *memory, size_t bytes, uint64_t seed, double *ns, char *msg,
              size_t size);

#ifdef __cplusplus
}
#endif

#endif
