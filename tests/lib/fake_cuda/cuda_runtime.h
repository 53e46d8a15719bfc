/*
 * The part of CUDA's runtime that kernels/collective, kernels/matmul and copies to GPUs use, for
 * their host code over fake_gpus.cu. Its names are C++, so that the real runtime, whose names are
 * C, can be in the same program.
 */
#ifndef CONTEND_TESTS_LIB_FAKE_CUDA_CUDA_RUNTIME_H
#define CONTEND_TESTS_LIB_FAKE_CUDA_CUDA_RUNTIME_H

#include <cstddef>

#define CUDART_VERSION 13000
#define __CUDA_ARCH_LIST__ 750, 900 /* what nvcc defines */

enum cudaError_t {
    cudaSuccess = 0,
    cudaErrorInvalidValue = 1,
    cudaErrorMemoryAllocation = 2,
    cudaErrorStubLibrary = 34,
    cudaErrorInsufficientDriver = 35,
    cudaErrorDevicesUnavailable = 46,
    cudaErrorNoDevice = 100,
    cudaErrorInvalidDevice = 101,
    cudaErrorNoKernelImageForDevice = 209,
    cudaErrorUnsupportedPtxVersion = 222,
    cudaErrorNotReady = 600
};
enum cudaDeviceAttr {
    cudaDevAttrComputeMode = 20,
    cudaDevAttrComputeCapabilityMajor = 75,
    cudaDevAttrComputeCapabilityMinor = 76
};
enum { cudaComputeModeDefault, cudaComputeModeProhibited = 2 };
enum { cudaEventBlockingSync = 1, cudaEventDisableTiming = 2 };
enum { cudaStreamNonBlocking = 1, cudaDeviceScheduleBlockingSync = 4 };
enum { cudaHostAllocDefault = 0, cudaHostAllocPortable = 1 };
enum cudaStreamCaptureMode { cudaStreamCaptureModeThreadLocal = 1 };
enum cudaMemcpyKind { cudaMemcpyHostToDevice = 1, cudaMemcpyDeviceToHost = 2 };

struct cudaDeviceProp {
    char name[256];
    int major, minor;
};

using cudaStream_t = struct fake_stream *;
using cudaEvent_t = struct fake_event *;
using cudaGraph_t = struct fake_graph *;
using cudaGraphExec_t = struct fake_graph *;

cudaError_t cudaGetLastError();
const char *cudaGetErrorString(cudaError_t error);
const char *cudaGetErrorName(cudaError_t error);
cudaError_t cudaDriverGetVersion(int *version);
cudaError_t cudaRuntimeGetVersion(int *version);
cudaError_t cudaGetDeviceCount(int *count);
cudaError_t cudaDeviceGetByPCIBusId(int *ordinal, const char *pci_bdf);
cudaError_t cudaDeviceGetAttribute(int *value, cudaDeviceAttr attribute, int ordinal);
cudaError_t cudaGetDeviceProperties(cudaDeviceProp *properties, int ordinal);
cudaError_t cudaSetDevice(int ordinal);
cudaError_t cudaSetDeviceFlags(unsigned flags);
cudaError_t cudaDeviceSynchronize();
cudaError_t cudaMemGetInfo(size_t *unused, size_t *total);
cudaError_t cudaFree(void *pointer);
cudaError_t cudaFreeHost(void *pointer);
cudaError_t cudaMemset(void *at, int value, size_t bytes);
cudaError_t cudaMemsetAsync(void *at, int value, size_t bytes, cudaStream_t stream);
cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes, cudaMemcpyKind kind);
cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t stream);
cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned flags);
cudaError_t cudaStreamDestroy(cudaStream_t stream);
cudaError_t cudaStreamQuery(cudaStream_t stream);
cudaError_t cudaStreamSynchronize(cudaStream_t stream);
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags);
cudaError_t cudaEventCreate(cudaEvent_t *event);
cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned flags);
cudaError_t cudaEventDestroy(cudaEvent_t event);
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream);
cudaError_t cudaEventQuery(cudaEvent_t event);
cudaError_t cudaEventSynchronize(cudaEvent_t event);
cudaError_t cudaEventElapsedTime(float *ms, cudaEvent_t begin, cudaEvent_t end);
cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode mode);
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *graph);
cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t *exec, cudaGraph_t graph, unsigned flags);
cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream);
cudaError_t cudaGraphDestroy(cudaGraph_t graph);
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec);

cudaError_t fake_allocate(void **pointer, size_t bytes);

template <typename T> static inline cudaError_t cudaMalloc(T **pointer, size_t bytes)
{
    return fake_allocate((void **)pointer, bytes);
}

template <typename T>
static inline cudaError_t cudaHostAlloc(T **pointer, size_t bytes, unsigned flags)
{
    return flags <= cudaHostAllocPortable ? fake_allocate((void **)pointer, bytes)
                                          : cudaErrorInvalidValue;
}

#endif
