/*
 * Matrix entries as stored in memory, one at a time on the host; gpu_matmul_entries.cuh does the
 * same on the device. Uses nothing of CUDA.
 */
#ifndef CONTEND_TESTS_LIB_FIXTURE_STORAGE_H
#define CONTEND_TESTS_LIB_FIXTURE_STORAGE_H

#include <stddef.h>

#include "kernels/matmul/gpu_matmul_ref.h"

#ifdef __cplusplus
extern "C" {
#endif

enum matmul_storage {
    MATMUL_AS_DOUBLE,
    MATMUL_AS_FLOAT,
    MATMUL_AS_BF16,
    MATMUL_AS_FP16,
    MATMUL_AS_E4M3,
    MATMUL_AS_INT8,
    MATMUL_AS_INT32
};

enum matmul_storage matmul_storage_in(enum matmul_type type);  /* of A and B */
enum matmul_storage matmul_storage_out(enum matmul_type type); /* of C */

size_t matmul_storage_bytes(enum matmul_storage storage);

/* NaN if the entry is not a finite number. */
double matmul_storage_get(enum matmul_storage storage, const void *from);

/* Stores the nearest value, ties to even, and the largest finite value for larger ones. Only
 * floating-point types take NaN. */
void matmul_storage_put(enum matmul_storage storage, void *to, double value);

#ifdef __cplusplus
}
#endif

#endif
