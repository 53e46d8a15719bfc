/* The data of gpu_copy.h: patterns, poison, and checks. */
#include <cerrno>
#include <cinttypes>

#include "kernels/cpu/mix64.h"
#include "kernels/gpu/copy/gpu_copy_device.cuh"

__host__ __device__ static uint64_t pattern(uint64_t index, uint64_t salt)
{
    return mix64(index + (salt << 40));
}

__global__ void fill_words(uint64_t *to, size_t n, uint64_t salt)
{
    size_t step = (size_t)gridDim.x * blockDim.x;
    for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += step)
        to[i] = pattern(i, salt);
}

__global__ void find_wrong(const uint64_t *words, size_t n, uint64_t salt,
                           unsigned long long *wrong)
{
    size_t step = (size_t)gridDim.x * blockDim.x;
    for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += step)
        if (words[i] != pattern(i, salt))
            atomicMin(wrong, (unsigned long long)i);
}

cudaError_t gpu_copy_data_load()
{
    cudaFuncAttributes attributes;
    cudaError_t error = cudaFuncGetAttributes(&attributes, (const void *)fill_words);
    return error == cudaSuccess ? cudaFuncGetAttributes(&attributes, (const void *)find_wrong)
                                : error;
}

/* The GPU whose source or target contains the address; ngpus: host memory. */
static unsigned owner(const struct gpu_copy *copy, const void *address)
{
    const char *at = (const char *)address;
    for (unsigned gpu = 0; gpu < copy->ngpus; gpu++)
        for (int i = SOURCE; i <= TARGET; i++) {
            const char *base = copy->device[gpu].buffer[i];
            if (base && at >= base && at < base + copy->bytes)
                return gpu;
        }
    return copy->ngpus;
}

/* Selects the owner of the address, or `gpu` for host memory. */
static cudaError_t select_owner(struct gpu_copy *copy, const void *address, unsigned gpu,
                                bool *is_home)
{
    unsigned home = owner(copy, address);
    *is_home = home < copy->ngpus;
    return gpu_copy_select(copy, *is_home ? home : gpu);
}

int gpu_copy_fill(struct gpu_copy *copy, unsigned gpu, void *base, size_t bytes, uint64_t salt,
                  struct err *err)
{
    bool home;
    cudaError_t error = select_owner(copy, base, gpu, &home);
    const struct gpu_copy_device *device = &copy->device[copy->selected];
    cudaStream_t stream = device->stream[0];
    uint64_t *words = (uint64_t *)(home ? base : device->buffer[SCRATCH]);
    if (error == cudaSuccess) {
        fill_words<<<device->blocks, BLOCK_THREADS, 0, stream>>>(words, bytes / sizeof(*words),
                                                                 salt);
        error = cudaGetLastError();
    }
    if (error == cudaSuccess && !home)
        error = cudaMemcpyAsync(base, words, bytes, cudaMemcpyDefault, stream);
    if (error == cudaSuccess)
        error = cudaStreamSynchronize(stream);
    return gpu_checked(error, "filling of a buffer", err);
}

int gpu_copy_poison(struct gpu_copy *copy, const struct gpu_copy_flow *flow, struct err *err)
{
    bool home;
    cudaError_t error = select_owner(copy, flow->to, flow->gpu, &home);
    const struct gpu_copy_device *device = &copy->device[copy->selected];
    cudaStream_t stream = device->stream[0];
    void *all_set = home ? flow->to : device->buffer[SCRATCH];
    if (error == cudaSuccess)
        error = cudaMemsetAsync(all_set, 0xff, flow->bytes, stream);
    if (error == cudaSuccess && !home)
        error = cudaMemcpyAsync(flow->to, all_set, flow->bytes, cudaMemcpyDefault, stream);
    if (error == cudaSuccess)
        error = cudaStreamSynchronize(stream);
    return gpu_checked(error, "poisoning of a buffer", err);
}

/* *wrong: index of the first wrong word; ~0 if all are right. */
static cudaError_t search(const struct gpu_copy_device *device, const uint64_t *words, size_t n,
                          uint64_t salt, unsigned long long *wrong)
{
    cudaStream_t stream = device->stream[0];
    cudaError_t error = cudaMemsetAsync(device->wrong, 0xff, sizeof(*wrong), stream);
    if (error == cudaSuccess) {
        find_wrong<<<device->blocks, BLOCK_THREADS, 0, stream>>>(words, n, salt, device->wrong);
        error = cudaGetLastError();
    }
    if (error == cudaSuccess)
        error = cudaMemcpyAsync(wrong, device->wrong, sizeof(*wrong), cudaMemcpyDefault, stream);
    return error == cudaSuccess ? cudaStreamSynchronize(stream) : error;
}

/* Copies host data to scratch. Poisons scratch first: a copy that does nothing must not pass. */
static cudaError_t fetch(const struct gpu_copy_device *device, const struct gpu_copy_flow *flow)
{
    void *scratch = device->buffer[SCRATCH];
    cudaStream_t stream = device->stream[0];
    cudaError_t error = cudaMemsetAsync(scratch, 0xff, flow->bytes, stream);
    return error == cudaSuccess
               ? cudaMemcpyAsync(scratch, flow->to, flow->bytes, cudaMemcpyDefault, stream)
               : error;
}

int gpu_copy_check(struct gpu_copy *copy, const struct gpu_copy_flow *flow, uint64_t salt,
                   struct err *err)
{
    bool home;
    cudaError_t error = select_owner(copy, flow->to, flow->gpu, &home);
    const struct gpu_copy_device *device = &copy->device[copy->selected];
    const uint64_t *words = (const uint64_t *)(home ? flow->to : device->buffer[SCRATCH]);
    size_t n = flow->bytes / sizeof(*words);
    unsigned long long wrong = 0;
    uint64_t got = 0;
    if (error == cudaSuccess && !home)
        error = fetch(device, flow);
    if (error == cudaSuccess)
        error = search(device, words, n, salt, &wrong);
    if (error == cudaSuccess && wrong < n)
        error = cudaMemcpy(&got, words + wrong, sizeof(got), cudaMemcpyDeviceToHost);
    if (error != cudaSuccess)
        return gpu_fail(error, "check of a copy", err);
    if (wrong >= n)
        return 0;
    return err_set(err, -EBADMSG,
                   "wrong data: word %llu of %zu is 0x%016" PRIx64 ", not 0x%016" PRIx64, wrong, n,
                   got, pattern(wrong, salt));
}
