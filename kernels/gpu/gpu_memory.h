/*
 * Tests a GPU's memory: moving inversions over one allocation of nearly all free memory. A pass
 * writes a pattern; reads it back and writes its complement, word by word; and reads the complement
 * back. So every bit is 0 once and 1 once, and every word changes while its neighbours change.
 *
 * Patterns: the word's own address, which finds stuck or swapped address lines, and words that look
 * random, from a seed. Source: van de Goor, "Testing Semiconductor Memories", 1991 (march tests);
 * memtest86's moving inversions.
 *
 * One handle belongs to one thread. Functions return 0 or a code of gpu_common.h with its message.
 *
 *   gpu_memory_open(bdf, 0, &gpu, &err);
 *   gpu_memory_queue(gpu, GPU_MEMORY_ADDRESS, 0, &err);
 *   gpu_memory_wait(gpu, &seconds, &wrong, &err);
 *   gpu_memory_close(gpu);
 */
#ifndef CONTEND_KERNELS_GPU_GPU_MEMORY_H
#define CONTEND_KERNELS_GPU_GPU_MEMORY_H

#include <stddef.h>
#include <stdint.h>

#include "harness/lib/err.h"
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

/* The value of word i in the first half of a pass; in the second half, its complement. */
static inline GPU_MEMORY_ANYWHERE uint64_t gpu_memory_word(enum gpu_memory_pattern pattern,
                                                           uint64_t seed, uint64_t i)
{
    return pattern == GPU_MEMORY_ADDRESS ? i * sizeof(i) : mix64(seed ^ mix64(i));
}

#undef GPU_MEMORY_ANYWHERE

/* words: how many reads were wrong. The rest describes the lowest address of the recorded ones. */
struct gpu_memory_wrong {
    uint64_t words, at_byte, expected, actual;
};

/*
 * bytes: 0 = free memory less 2% and 1 GiB, or half of it if about 2 GiB or less are free. May get
 * less, down to half, if free memory is fragmented. Creates the context.
 */
int gpu_memory_open(const char *pci_bdf, uint64_t bytes, struct gpu_memory **gpu, struct err *err);

/* The bytes that were allocated. */
uint64_t gpu_memory_bytes(const struct gpu_memory *gpu);

/* Queues a pass; call gpu_memory_wait before the next. */
int gpu_memory_queue(struct gpu_memory *gpu, enum gpu_memory_pattern pattern, uint64_t seed,
                     struct err *err);
int gpu_memory_wait(struct gpu_memory *gpu, double *seconds, struct gpu_memory_wrong *wrong,
                    struct err *err);

/* Waits for what is queued and frees everything. NULL-safe. */
void gpu_memory_close(struct gpu_memory *gpu);

#ifdef __cplusplus
}
#endif

#endif
