/*
 * One fixed kernel: on every SM a block whose threads each go through a chain of integer
 * multiplications and additions, modulo 2^32. It touches no memory on its way, so that its time is
 * a number of clock cycles that never changes, divided by the clock: a GPU whose clock is held back
 * takes longer for as many cycles, and one whose SMs are shared takes more cycles.
 *
 * One handle belongs to one thread. Functions return 0 or a code of gpu_common.h with its message.
 * Source: constants of W. Press et al., "Numerical Recipes" (ranqd1); CUDA C++ Programming Guide,
 * time function.
 *
 *   gpu_canary_open("0000:00:06.0", &gpu, msg, sizeof(msg));
 *   gpu_canary_run(gpu, &seconds, &cycles, msg, sizeof(msg));
 *   gpu_canary_check(gpu, &wrong, msg, sizeof(msg));
 *   gpu_canary_close(gpu);
 */
#ifndef CONTEND_KERNELS_GPU_GPU_CANARY_H
#define CONTEND_KERNELS_GPU_GPU_CANARY_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

struct gpu_canary;

/* The context and a stream. *gpu is NULL after an error. */
int gpu_canary_open(const char *pci_bdf, struct gpu_canary **gpu, char *msg, size_t size);

/*
 * Runs it once, some 0.5 ms, and waits: its time by device events, and the most cycles of the SM's
 * clock that any block took.
 */
int gpu_canary_run(struct gpu_canary *gpu, double *seconds, double *cycles, char *msg, size_t size);

/* How many threads of the last run ended at another number than they should. */
int gpu_canary_check(struct gpu_canary *gpu, unsigned *wrong, char *msg, size_t size);

/* NULL-safe. */
void gpu_canary_close(struct gpu_canary *gpu);

#ifdef __cplusplus
}
#endif

#endif
