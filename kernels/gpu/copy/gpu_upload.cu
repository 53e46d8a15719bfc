#include "kernels/gpu/copy/gpu_upload.h"

#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "kernels/cpu/mix64.h"
#include "kernels/gpu/gpu_common.cuh"

/* A piece's place in host and GPU memory. The first word of the host buffer is the piece's number,
 * the others are a pattern. */
struct slot {
    uint64_t *host;
    void *device;
    cudaEvent_t begin, arrived;
    size_t bytes; /* of the last piece; 0: none yet */
};

struct gpu_upload {
    size_t most;
    cudaStream_t stream;
    struct slot slot[GPU_UPLOAD_DEPTH];
    uint64_t queued, arrived; /* pieces so far; piece n uses slot n % DEPTH */
};

static int open_slot(struct slot *slot, unsigned index, size_t bytes, struct err *err)
{
    cudaError_t error = cudaHostAlloc((void **)&slot->host, bytes, cudaHostAllocDefault);
    if (error == cudaSuccess)
        error = cudaMalloc(&slot->device, bytes);
    if (error == cudaSuccess)
        error = cudaMemset(slot->device, 0xff, bytes);
    if (error == cudaSuccess)
        error = cudaEventCreate(&slot->begin);
    if (error == cudaSuccess)
        error = cudaEventCreateWithFlags(&slot->arrived, cudaEventBlockingSync);
    for (size_t i = 0; i < bytes / sizeof(*slot->host) && error == cudaSuccess; i++)
        slot->host[i] = mix64(i + ((uint64_t)index << 40));
    return gpu_checked(error, "buffers of copies to the GPU", err);
}

int gpu_upload_open(const char *pci_bdf, size_t most, struct gpu_upload **upload, struct err *err)
{
    *upload = NULL;
    struct gpu_upload *opened = (struct gpu_upload *)calloc(1, sizeof(*opened));
    if (!opened) {
        return err_set(err, -ENOMEM, "cannot allocate the state of copies to the GPU");
    }
    opened->most = most;
    int ordinal;
    int rc = gpu_open(pci_bdf, cudaDeviceScheduleBlockingSync, &ordinal, err);
    if (!rc)
        rc = gpu_checked(cudaStreamCreateWithFlags(&opened->stream, cudaStreamNonBlocking),
                         "stream of the GPU", err);
    for (unsigned i = 0; i < GPU_UPLOAD_DEPTH && !rc; i++)
        rc = open_slot(&opened->slot[i], i, most, err);
    /* The stream does not wait for the default stream, where memset runs. */
    if (!rc)
        rc = gpu_checked(cudaDeviceSynchronize(), "buffers of copies to the GPU", err);
    if (rc)
        gpu_upload_close(opened);
    else
        *upload = opened;
    return rc;
}

unsigned gpu_upload_queued(const struct gpu_upload *upload)
{
    return (unsigned)(upload->queued - upload->arrived);
}

int gpu_upload_queue(struct gpu_upload *upload, size_t bytes, struct err *err)
{
    if (gpu_upload_queued(upload) == GPU_UPLOAD_DEPTH || bytes < sizeof(uint64_t) ||
        bytes > upload->most) {
        return err_set(
            err, -EINVAL,
            "cannot queue %zu bytes with %u copies in flight: at most %zu bytes and %d copies",
            bytes, gpu_upload_queued(upload), upload->most, GPU_UPLOAD_DEPTH);
    }
    struct slot *slot = &upload->slot[upload->queued % GPU_UPLOAD_DEPTH];
    slot->bytes = bytes;
    slot->host[0] = upload->queued;
    cudaError_t error = cudaEventRecord(slot->begin, upload->stream);
    if (error == cudaSuccess)
        error = cudaMemcpyAsync(slot->device, slot->host, bytes, cudaMemcpyHostToDevice,
                                upload->stream);
    if (error == cudaSuccess)
        error = cudaEventRecord(slot->arrived, upload->stream);
    if (error == cudaSuccess)
        upload->queued++;
    return gpu_checked(error, "copy to the GPU", err);
}

int gpu_upload_wait(struct gpu_upload *upload, size_t *bytes, float *took_ms, struct err *err)
{
    if (!gpu_upload_queued(upload)) {
        return err_set(err, -EINVAL, "no copy to the GPU is in flight");
    }
    const struct slot *slot = &upload->slot[upload->arrived % GPU_UPLOAD_DEPTH];
    int rc = gpu_checked(cudaEventSynchronize(slot->arrived), "copy to the GPU", err);
    if (!rc)
        rc = gpu_checked(cudaEventElapsedTime(took_ms, slot->begin, slot->arrived),
                         "time of a copy", err);
    if (!rc)
        upload->arrived++;
    *bytes = slot->bytes;
    return rc;
}

/* `back`: page-locked memory of upload->most bytes. */
static int check_slot(const struct slot *slot, void *back, struct err *err)
{
    cudaError_t error = cudaMemcpy(back, slot->device, slot->bytes, cudaMemcpyDeviceToHost);
    if (error != cudaSuccess || memcmp(back, slot->host, slot->bytes) == 0)
        return gpu_checked(error, "copy from the GPU", err);
    return err_set(err, -EBADMSG, "the GPU holds other data than was copied there");
}

int gpu_upload_check(struct gpu_upload *upload, struct err *err)
{
    void *back = NULL;
    size_t bytes;
    float took_ms;
    int rc = gpu_checked(cudaHostAlloc(&back, upload->most, cudaHostAllocDefault),
                         "buffer for the check", err);
    while (!rc && gpu_upload_queued(upload))
        rc = gpu_upload_wait(upload, &bytes, &took_ms, err);
    for (unsigned i = 0; i < GPU_UPLOAD_DEPTH && !rc; i++)
        rc = check_slot(&upload->slot[i], back, err);
    (void)cudaFreeHost(back);
    return rc;
}

void gpu_upload_close(struct gpu_upload *upload)
{
    if (!upload)
        return;
    if (upload->stream) {
        (void)cudaStreamSynchronize(upload->stream);
        (void)cudaStreamDestroy(upload->stream);
    }
    for (unsigned i = 0; i < GPU_UPLOAD_DEPTH; i++) {
        if (upload->slot[i].begin)
            (void)cudaEventDestroy(upload->slot[i].begin);
        if (upload->slot[i].arrived)
            (void)cudaEventDestroy(upload->slot[i].arrived);
        (void)cudaFree(upload->slot[i].device);
        (void)cudaFreeHost(upload->slot[i].host);
    }
    free(upload);
}
