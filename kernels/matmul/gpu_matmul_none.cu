/* gpu_matmul.h where cublasLt.h was not there when this program was built. */
#include "kernels/matmul/gpu_matmul.h"

#include "kernels/matmul/cublaslt.cuh"

#ifndef CONTEND_HAVE_CUBLASLT

int gpu_matmul_open(const struct gpu_matmul_config *config, struct gpu_matmul **gpu, char *msg,
                    size_t size)
{
    (void)config;
    *gpu = NULL;
    return cublaslt_load(msg, size);
}

double gpu_matmul_guess(const struct gpu_matmul *gpu)
{
    (void)gpu;
    return 0;
}

double gpu_matmul_first(const struct gpu_matmul *gpu)
{
    (void)gpu;
    return 0;
}

int gpu_matmul_queue(struct gpu_matmul *gpu, unsigned slot, unsigned count, char *msg, size_t size)
{
    (void)gpu, (void)slot, (void)count;
    return cublaslt_load(msg, size);
}

int gpu_matmul_done(struct gpu_matmul *gpu, unsigned slot, bool *done, char *msg, size_t size)
{
    (void)gpu, (void)slot, (void)done;
    return cublaslt_load(msg, size);
}

int gpu_matmul_wait(struct gpu_matmul *gpu, unsigned slot, double *seconds, char *msg, size_t size)
{
    (void)gpu, (void)slot, (void)seconds;
    return cublaslt_load(msg, size);
}

int gpu_matmul_poison(struct gpu_matmul *gpu, char *msg, size_t size)
{
    (void)gpu;
    return cublaslt_load(msg, size);
}

int gpu_matmul_check(struct gpu_matmul *gpu, char *msg, size_t size)
{
    (void)gpu;
    return cublaslt_load(msg, size);
}

void *gpu_matmul_c(struct gpu_matmul *gpu)
{
    (void)gpu;
    return nullptr;
}

void gpu_matmul_close(struct gpu_matmul *gpu)
{
    (void)gpu;
}

#endif
