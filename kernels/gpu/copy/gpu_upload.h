/*
 * Copies of pieces from page-locked host memory to one GPU, several in flight, for a thread that
 * sleeps while it waits. Without CUDA types.
 *
 *   gpu_upload_open(bdf, 24 << 20, &upload, err);
 *   gpu_upload_queue(upload, 16 << 20, err);         at most DEPTH pieces in flight
 *   gpu_upload_wait(upload, &bytes, &took_ms, err);  the oldest piece
 *   gpu_upload_check(upload, err);                   the GPU holds what was copied last
 *   gpu_upload_close(upload);
 *
 * A handle belongs to the thread that opened it. Functions return 0 or a negative errno, and then
 * write one line to err, as gpu_common.h says.
 */
#ifndef CONTEND_KERNELS_GPU_COPY_GPU_UPLOAD_H
#define CONTEND_KERNELS_GPU_COPY_GPU_UPLOAD_H

#include <stddef.h>

#include "harness/lib/err.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { GPU_UPLOAD_DEPTH = 4 };

struct gpu_upload;

/* `most`: bytes of the largest piece, a multiple of 8. On an error *upload is NULL. */
int gpu_upload_open(const char *pci_bdf, size_t most, struct gpu_upload **upload, struct err *err);

/* Pieces in flight. */
unsigned gpu_upload_queued(const struct gpu_upload *upload);

/* Queues a piece: 8 to `most` bytes. -EINVAL: another size, or DEPTH pieces are in flight. */
int gpu_upload_queue(struct gpu_upload *upload, size_t bytes, struct err *err);

/*
 * Sleeps until the oldest piece in flight has arrived. took_ms: from the end of the piece before,
 * or its own start, by the GPU's clock; copies of other processes in between count. -EINVAL: none
 * is in flight.
 */
int gpu_upload_wait(struct gpu_upload *upload, size_t *bytes, float *took_ms, struct err *err);

/* Waits for all pieces, then reads the GPU's buffers back. -EBADMSG: one differs from the piece
 * that was copied there last. */
int gpu_upload_check(struct gpu_upload *upload, struct err *err);

/* NULL-safe. */
void gpu_upload_close(struct gpu_upload *upload);

#ifdef __cplusplus
}
#endif

#endif
