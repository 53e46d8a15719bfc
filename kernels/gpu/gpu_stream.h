/*
 * STREAM's four kernels in a GPU's memory, in double precision and in several shapes; also reads
 * alone, writes alone, and the driver's own copy. Arrays x and y hold a pattern and are only read;
 * z is only written:
 *
 *   copy z = x (16 B/element)   scale z = 3 x (16)   add z = x + y (24)   triad z = x + 3 y (24)
 *   read, the sum of x (8)      write z = 3 (8)
 *
 * A read writes one number per block to z, up to 1/512 of the bytes that it reads.
 *
 * Each access of a thread moves 16 bytes. Shapes differ in how many loads of one array a thread has
 * in flight (1 to 8), in whether each block does one tile ("flat") or as many blocks as fit on the
 * GPU loop over all tiles ("loop"), and in whether accesses are marked as not used again ("-cs",
 * evict first). Which shape is fastest depends on the GPU.
 *
 * One handle belongs to one thread. Functions return 0 or a code of gpu_common.h with its message.
 * Source: J. McCalpin, "Memory Bandwidth and Machine Balance in Current High Performance
 * Computers", IEEE TCCA Newsletter 1995; CUDA C++ Programming Guide, load functions using cache
 * hints.
 *
 *   gpu_stream_open(&config, &gpu, &err);
 *   gpu_stream_queue(gpu, 0, GPU_STREAM_TRIAD, shape, 10, &err);
 *   gpu_stream_wait(gpu, 0, &seconds, &err);
 *   gpu_stream_close(gpu);
 */
#ifndef CONTEND_KERNELS_GPU_GPU_STREAM_H
#define CONTEND_KERNELS_GPU_GPU_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "harness/lib/err.h"

#ifdef __cplusplus
extern "C" {
#endif

struct gpu_stream;

enum gpu_stream_op {
    GPU_STREAM_COPY,
    GPU_STREAM_SCALE,
    GPU_STREAM_ADD,
    GPU_STREAM_TRIAD,
    GPU_STREAM_READ,
    GPU_STREAM_WRITE,
    GPU_STREAM_OPS
};

enum {
    GPU_STREAM_SLOTS = 2, /* one is queued while the other runs, so that the GPU never waits */
    GPU_STREAM_SHAPES = 12,
    GPU_STREAM_DRIVER = GPU_STREAM_SHAPES, /* cudaMemcpyAsync: copy only */
    GPU_STREAM_GRAIN = 1 << 20             /* sizes of arrays are multiples of it, in bytes */
};

struct gpu_stream_config {
    const char *pci_bdf; /* NULL or "" = the first GPU that CUDA shows */
    uint64_t bytes;      /* of each of the three arrays: a multiple of GPU_STREAM_GRAIN, > 0 */
    uint64_t seed;       /* of the pattern */
};

/* Free memory and L2 size, from which the caller chooses `bytes`. Creates the context. */
int gpu_stream_memory(const char *pci_bdf, uint64_t *free_bytes, uint64_t *l2_bytes,
                      struct err *err);

/* Fills x and y, poisons z. *gpu is NULL after an error. */
int gpu_stream_open(const struct gpu_stream_config *config, struct gpu_stream **gpu,
                    struct err *err);

/* "flat4", "loop8-cs", ..; "driver" for GPU_STREAM_DRIVER. */
const char *gpu_stream_shape_name(unsigned shape);

/* "copy", "scale", "add", "triad", "read", "write"; bytes per element, as STREAM counts. */
const char *gpu_stream_op_name(enum gpu_stream_op op);
unsigned gpu_stream_op_bytes(enum gpu_stream_op op);

/* Queues `count` passes between the two events of an idle slot. */
int gpu_stream_queue(struct gpu_stream *gpu, unsigned slot, enum gpu_stream_op op, unsigned shape,
                     unsigned count, struct err *err);

/* *done: the slot's passes are done; does not wait. */
int gpu_stream_done(struct gpu_stream *gpu, unsigned slot, bool *done, struct err *err);

/* Sleeps until the slot's passes are done; *seconds: time between its two events. */
int gpu_stream_wait(struct gpu_stream *gpu, unsigned slot, double *seconds, struct err *err);

/* Overwrites z with NaN. All slots must be idle. */
int gpu_stream_poison(struct gpu_stream *gpu, struct err *err);

/*
 * *wrong: elements of z that differ from the result of `op` on the pattern, counted on the GPU. For
 * a read, which must have been queued last: 0, or all elements if the sum is wrong.
 */
int gpu_stream_check(struct gpu_stream *gpu, enum gpu_stream_op op, uint64_t *wrong,
                     struct err *err);

/* Waits for queued work and frees everything. NULL-safe. */
void gpu_stream_close(struct gpu_stream *gpu);

#ifdef __cplusplus
}
#endif

#endif
