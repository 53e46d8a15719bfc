/*
 * One fixed kernel, the control: one block on every SM, whose threads each compute a chain of
 * integer multiplications and additions modulo 2^32. The chain touches no memory, so its time is a
 * constant number of clock cycles divided by the clock rate. A GPU with a reduced clock takes
 * longer for the same number of cycles; a GPU with shared SMs takes more cycles.
 *
 * One handle belongs to one thread. Functions return 0 or a code of gpu_common.h with its message.
 * Source: constants of W. Press et al., "Numerical Recipes" (ranqd1); CUDA C++ Programming Guide,
 * time function.
 *
 *   gpu_canary_open("0000:00:06.0", &gpu, &err);
 *   gpu_canary_run(gpu, &seconds, &cycles, &err);
 *   gpu_canary_check(gpu, &wrong, &err);
 *   gpu_canary_close(gpu);
 */
#ifndef CONTEND_KERNELS_GPU_GPU_CANARY_H
#define CONTEND_KERNELS_GPU_GPU_CANARY_H

#include <stddef.h>

#include "harness/lib/err.h"

#ifdef __cplusplus
extern "C" {
#endif

struct gpu_canary;

/* Creates the context and a stream. *gpu is NULL after an error. */
int gpu_canary_open(const char *pci_bdf, struct gpu_canary **gpu, struct err *err);

/*
 * Runs the kernel once, for some 0.5 ms, and waits. *seconds: its time by device events; *cycles:
 * of the SM's clock, the highest of all blocks.
 */
int gpu_canary_run(struct gpu_canary *gpu, double *seconds, double *cycles, struct err *err);

/* *wrong: how many threads of the last run have a wrong result. */
int gpu_canary_check(struct gpu_canary *gpu, unsigned *wrong, struct err *err);

/* NULL-safe. */
void gpu_canary_close(struct gpu_canary *gpu);

#ifdef __cplusplus
}
#endif

#endif
