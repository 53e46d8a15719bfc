/*
 * A GPU's memory, written and read back: moving inversions over one allocation of nearly all that
 * is free. A pass writes a pattern; reads it back and writes its complement, word by word; reads
 * that back. So every bit is 0 and 1 once, and every word lies between others that change.
 *
 * Patterns: the word's own address, which finds address lines that are stuck or swapped, and words
 * that look random, by a seed. Source: van de Goor, "Testing Semiconductor Memories", 1991 (march
 * tests); memtest86's moving inversions.
 *
 * One handle belongs to one thread. Functions return 0 or a code of gpu_common.h with its message.
 *
 *   gpu_memory_open(bdf, 0, &gpu, msg, sizeof(msg));
 *   gpu_memory_queue(gpu, GPU_MEMORY_ADDRESS, 0, msg, sizeof(msg));
 *   gpu_memory_wait(gpu, &seconds, &wrong, msg, sizeof(msg));
 *   gpu_memory_close(gpu);
 */
#ifndef CONTEND_KERNELS_GPU_GPU_MEMORY_H
#define CONTEND_KERNELS_GPU_GPU_MEMORY_H

#include <stddef.h>
#include <stdint.h>

#include "kernels/cpu/mix64.h"

#ifdef __CUDACC__
#define GPU_MEMORY_ANYWHERE __host__ __device__
#else
#define GPU_MEMORY_ANYWHERE
#endif

#ifdef __cplusplus
extern "C" {
#endif

struct gpu_memory;

enum gpu_memory_pattern { GPU_MEMORY_ADDRESS, GPU_MEMORY_RANDOM, GPU_MEMORY_PATTERNS };

/* A pass writes each byte twice and reads it twice. `bytes` are multiples of GRAIN. */
enum { GPU_MEMORY_TIMES = 4, GPU_MEMORY_GRAIN = 1 << 20 };

/* What word i holds in the first half of a pass; its complement in the second. */
static inline GPU_MEMORY_ANYWHERE uint64_t gpu_memory_word(enum gpu_memory_pattern pattern,
                                                           uint64_t seed, uint64_t i)
{
    return pattern == GPU_MEMORY_ADDRESS ? i * sizeof(i) : mix64(seed ^ mix64(i));
}

#undef GPU_MEMORY_ANYWHERE

/* words: how many reads were wrong; of the lowest one that was recorded, where and what. */
struct gpu_memory_wrong {
    uint64_t words, at_byte, expected, actual;
};

/* bytes: 0 = all that is free but 1 GiB and a fiftieth of it. Creates the context. */
int gpu_memory_open(const char *pci_bdf, uint64_t bytes, struct gpu_memory **gpu, char *msg,
                    size_t size);

/* What it got. */
uint64_t gpu_memory_bytes(const struct gpu_memory *gpu);

/* A pass; then wait for it before the next. */
int gpu_memory_queue(struct gpu_memory *gpu, enum gpu_memory_pattern pattern, uint64_t seed,
                     char *msg, size_t size);
int gpu_memory_wait(struct gpu_memory *gpu, double *seconds, struct gpu_memory_wrong *wrong,
                    char *msg, size_t size);

/* Waits for what is queued and frees everything. NULL-safe. */
void gpu_memory_close(struct gpu_memory *gpu);

#ifdef __cplusplus
}
#endif

#endif
