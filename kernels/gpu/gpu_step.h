/*
 * One GPU's side of a training step, without CUDA types: copies a batch from a host buffer, runs
 * `work` passes of a tiled matrix product and an element-wise function over it (the formula is in
 * gpu_ref.h), and copies one row of the result back. With `prep` the batch is raw and the GPU first
 * preprocesses it (kernels/prep/prep_gpu.h); the passes then use the smoothed values. Batches are
 * in slots and run in the order of submission; the copy of a batch overlaps the kernels of the
 * previous batch.
 *
 * One handle belongs to one thread. Functions that can fail return 0 or a negative errno and then
 * write one line to err, as gpu_common.h says. After -EIO only close may follow.
 *
 *   struct gpu_step_config config = {.rows = 4096, .cols = 512, .slots = 2, .work = 1};
 *   gpu_step_open(&config, &gpu, &err);
 *   for (;;) { fill config.host[slot]; gpu_step_submit(gpu, slot, ...);
 *              gpu_step_wait(gpu, other_slot, &took, ...); }
 *   gpu_step_close(gpu);
 */
#ifndef CONTEND_KERNELS_GPU_GPU_STEP_H
#define CONTEND_KERNELS_GPU_GPU_STEP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "harness/lib/err.h"
#include "kernels/prep/prep_gpu.h"

#ifdef __cplusplus
extern "C" {
#endif

struct gpu_step;

struct gpu_step_config {
    const char *pci_bdf; /* "0000:00:06.0"; NULL or "" = the first GPU that CUDA shows */
    size_t rows, cols;   /* of a batch of float, row-major */
    unsigned slots;      /* batches that can be in flight, >= 1 */
    unsigned work;       /* passes, >= 1; one costs 2 rows cols^2 floating-point operations */
    bool pinned;         /* page-locks the host buffers (cudaHostRegister) until close */
    bool spin;           /* wait polls on the CPU; else it sleeps until the driver's interrupt */
    bool in_order;       /* a copy waits for the kernels of the previous batch: no overlap */
    const struct prep_gpu_params *prep; /* NULL: batches are already preprocessed */
    /* By slot: rows * cols floats, the caller's, valid until close; the array only during open. */
    float *const *host;
};

/* Creates the context, buffers and weights. *gpu is NULL after an error. */
int gpu_step_open(const struct gpu_step_config *config, struct gpu_step **gpu, struct err *err);

/*
 * Queues copy, passes and the copy back. The slot must be idle, and its host buffer must not change
 * until wait returns. With pageable buffers CUDA stages the copy through its own memory, on the
 * calling CPU.
 */
int gpu_step_submit(struct gpu_step *gpu, unsigned slot, struct err *err);

/* Times of a batch on the GPU, by events. They include the time slices of other processes. */
struct gpu_step_took {
    uint64_t copy_ns; /* from when the stream reached the copy until its end */
    uint64_t prep_ns; /* preprocessing, from the start of its first kernel; 0 without `prep` */
    uint64_t work_ns; /* the passes, from the start of the first to the end of the last */
};

/* Waits for the slot. */
int gpu_step_wait(struct gpu_step *gpu, unsigned slot, struct gpu_step_took *took, struct err *err);

/* Row 0 of the slot's result (cols floats), valid after wait until the slot's next submit. */
const float *gpu_step_result(const struct gpu_step *gpu, unsigned slot);

/* For checks: `count` rows from row `first` of the last batch's result. All slots must be idle. */
int gpu_step_read(struct gpu_step *gpu, size_t first, size_t count, float *rows, struct err *err);

/* With `prep`: copies the preprocessed last submitted batch into the caller's arrays. */
int gpu_step_read_prep(struct gpu_step *gpu, const struct prep_gpu_arrays *arrays, struct err *err);

/*
 * The GPU's peaks at its highest clocks, without its matrix units: float operations and bytes of
 * its memory per second; 0 = unknown. Source: CUDA's attributes, and the CUDA programming guide
 * (arithmetic instructions by compute capability).
 */
void gpu_step_peak(const struct gpu_step *gpu, double *flops, double *bytes);

/* Overwrites the device's buffers and the rows copied back with NaN. All slots must be idle. */
int gpu_step_poison(struct gpu_step *gpu, struct err *err);

/* Waits for work in flight and frees everything. NULL-safe. */
void gpu_step_close(struct gpu_step *gpu);

#ifdef __cplusplus
}
#endif

#endif
