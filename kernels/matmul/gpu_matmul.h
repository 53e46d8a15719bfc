/*
 * Matrix products C = A B by cuBLASLt, which is loaded at run time, on data close to a normal
 * distribution (gpu_matmul_data.h), with the algorithm of cuBLASLt that is fastest here.
 *
 * One handle holds matrices of one type on one GPU, and belongs to one thread. Functions return 0
 * or a code of gpu/gpu_common.h with its message; -ENOTSUP: no cuBLASLt, or it does not support
 * this type and shape here. Source: cuBLAS documentation, "Using the cuBLASLt API".
 *
 *   gpu_matmul_load(&err);
 *   gpu_matmul_open(&config, &gpu, &err);
 *   gpu_matmul_queue(gpu, 0, 10, &err);
 *   gpu_matmul_wait(gpu, 0, &seconds, &err);
 *   gpu_matmul_close(gpu);
 */
#ifndef CONTEND_KERNELS_MATMUL_GPU_MATMUL_H
#define CONTEND_KERNELS_MATMUL_GPU_MATMUL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernels/matmul/gpu_matmul_ref.h"

#ifdef __cplusplus
extern "C" {
#endif

struct gpu_matmul;

/* Slots: products between two events. Two can be queued, so that the GPU never waits. */
enum { GPU_MATMUL_SLOTS = 2 };

struct gpu_matmul_config {
    const char *pci_bdf; /* NULL or "" = the first GPU that CUDA shows */
    enum matmul_type type;
    struct matmul_shape shape;
    uint64_t seed;
    const struct gpu_matmul
        *same_as; /* use its algorithm (same type, shape, model); NULL = measure */
};

struct gpu_matmul_device {
    char name[96];
    int cc; /* compute capability: 90 for 9.0 */
};

/*
 * Loads cuBLASLt once per process. It opens the file that CONTEND_CUBLASLT names; without that,
 * libcublasLt.so of the CUDA version that built this program, then .13 and .12. Each is searched
 * where the loader looks, then in lib64 of $CUDA_HOME, $CUDA_PATH and /usr/local/cuda. If the first
 * gpu_matmul_open finds that a library does not start, it tries the next.
 */
int gpu_matmul_load(struct err *err);

/* The version of the loaded library, "13.0.2", in buf; "" = none. */
char *gpu_matmul_library(char *buf, size_t size);

/* Reads name and compute capability. Creates no context. */
int gpu_matmul_device(const char *pci_bdf, struct gpu_matmul_device *device, struct err *err);

/* The free memory of the GPU. Creates the context. */
int gpu_matmul_free_bytes(const char *pci_bdf, uint64_t *bytes, struct err *err);

/* True if GPUs of that compute capability have units for the type. */
bool gpu_matmul_has(enum matmul_type type, int cc);

/* Bytes of GPU memory that a handle takes. */
uint64_t gpu_matmul_bytes(enum matmul_type type, const struct matmul_shape *shape);

/* Opens a handle; call gpu_matmul_load first. Fills A and B, poisons C, chooses the algorithm. *gpu
 * is NULL after an error. k is at most MATMUL_K_MAX. */
int gpu_matmul_open(const struct gpu_matmul_config *config, struct gpu_matmul **gpu,
                    struct err *err);

/* Seconds per product, as measured when the algorithm was chosen. */
double gpu_matmul_estimate_s(const struct gpu_matmul *gpu);

/* The same for cuBLASLt's first proposal; 0 = not tried (`same_as`), or the proposal does not work.
 */
double gpu_matmul_first_s(const struct gpu_matmul *gpu);

/* Queues `count` products between the two events of an idle slot. */
int gpu_matmul_queue(struct gpu_matmul *gpu, unsigned slot, unsigned count, struct err *err);

/* Tests whether the slot's products are done; does not wait. */
int gpu_matmul_done(struct gpu_matmul *gpu, unsigned slot, bool *done, struct err *err);

/* Sleeps until the slot's products are done; *seconds is the time between the events. */
int gpu_matmul_wait(struct gpu_matmul *gpu, unsigned slot, double *seconds, struct err *err);

/* Overwrites C with NaN, or for int8 with a value that no sum can have. All slots must be idle. */
int gpu_matmul_poison(struct gpu_matmul *gpu, struct err *err);

/* C on the device, for tests that read or corrupt it. All slots must be idle. */
void *gpu_matmul_c(struct gpu_matmul *gpu);

/*
 * Checks all of C against A and B (gpu_matmul_freivalds.h). All slots must be idle. -EBADMSG, with
 * the place in err: C is not their product. Takes about as long as a few products in double.
 */
int gpu_matmul_check(struct gpu_matmul *gpu, struct err *err);

/* Waits for what is queued and frees everything. NULL-safe. */
void gpu_matmul_close(struct gpu_matmul *gpu);

#ifdef __cplusplus
}
#endif

#endif
