#include "kernels/gpu/gpu_common.cuh"

#include <cerrno>
#include <cstdio>

/* Clears the error first: otherwise the next call would report it again. */
int gpu_fail(cudaError_t error, const char *what, char *msg, size_t size)
{
    (void)cudaGetLastError();
    (void)snprintf(msg, size, "%s: %s (%s)", what, cudaGetErrorString(error),
                   cudaGetErrorName(error));
    switch (error) {
    case cudaErrorMemoryAllocation:
        return -ENOMEM;
    case cudaErrorNoDevice:
    case cudaErrorInvalidDevice:
    case cudaErrorInsufficientDriver:
    case cudaErrorStubLibrary:
        return -ENODEV;
    case cudaErrorNoKernelImageForDevice:
    case cudaErrorUnsupportedPtxVersion:
        return -ENOTSUP;
    case cudaErrorDevicesUnavailable:
        (void)snprintf(msg, size,
                       "%s: the GPU is in an exclusive compute mode and another process has it, "
                       "or its mode is prohibited (%s)",
                       what, cudaGetErrorName(error));
        return -EBUSY;
    default:
        return -EIO;
    }
}

int gpu_checked(cudaError_t error, const char *what, char *msg, size_t size)
{
    return error == cudaSuccess ? 0 : gpu_fail(error, what, msg, size);
}

/* CUDA has the same error for a missing driver and for one that is too old. */
static void explain_driver(char *msg, size_t size)
{
    int driver = 0;
    if (cudaDriverGetVersion(&driver) != cudaSuccess || driver == 0)
        (void)snprintf(msg, size, "no NVIDIA driver is here (libcuda.so.1)");
    else
        (void)gpu_reach_format_driver(driver, CUDART_VERSION, msg, size);
}

int gpu_count(char *msg, size_t size)
{
    int count = 0;
    cudaError_t error = cudaGetDeviceCount(&count);
    if (error == cudaSuccess && count > 0)
        return count;
    if (error == cudaErrorInsufficientDriver || error == cudaErrorStubLibrary)
        explain_driver(msg, size);
    else if (error != cudaSuccess && error != cudaErrorNoDevice)
        (void)gpu_fail(error, "cannot count GPUs", msg, size);
    else
        (void)snprintf(msg, size, "CUDA shows no GPU (CUDA_VISIBLE_DEVICES can hide them)");
    (void)cudaGetLastError();
    return 0;
}

int gpu_find(const char *pci_bdf, int *cuda_ordinal, char *msg, size_t size)
{
    char what[96];
    *cuda_ordinal = 0;
    if (!pci_bdf || !pci_bdf[0])
        return 0;
    (void)snprintf(what, sizeof(what), "no GPU at PCI address '%.32s'", pci_bdf);
    int rc = gpu_checked(cudaDeviceGetByPCIBusId(cuda_ordinal, pci_bdf), what, msg, size);
    return rc == -EIO ? -ENODEV : rc;
}

/* Compares the compute capability (90 for 9.0) with the lowest that this build has code for. */
static int check_reach(int cuda_ordinal, char *msg, size_t size)
{
    static const int archs[] = {__CUDA_ARCH_LIST__};
    int major = 0, minor = 0;
    int rc =
        gpu_checked(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, cuda_ordinal),
                    "compute capability of the GPU", msg, size);
    if (!rc)
        rc = gpu_checked(
            cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, cuda_ordinal),
            "compute capability of the GPU", msg, size);
    return rc ? rc
              : gpu_reach_check(10 * major + minor, archs, sizeof(archs) / sizeof(archs[0]),
                                CUDART_VERSION, msg, size);
}

int gpu_open(const char *pci_bdf, unsigned flags, int *cuda_ordinal, char *msg, size_t size)
{
    int rc = gpu_find(pci_bdf, cuda_ordinal, msg, size);
    if (!rc)
        rc = check_reach(*cuda_ordinal, msg, size);
    if (!rc)
        rc = gpu_checked(cudaSetDevice(*cuda_ordinal), "cannot use the GPU", msg, size);
    if (!rc)
        rc = gpu_checked(cudaSetDeviceFlags(flags), "cannot set the GPU's way of waiting", msg,
                         size);
    return rc;
}

int gpu_check(const char *pci_bdf, char *msg, size_t size)
{
    int ordinal, mode = cudaComputeModeDefault;
    int rc = gpu_find(pci_bdf, &ordinal, msg, size);
    if (!rc)
        rc = gpu_checked(cudaDeviceGetAttribute(&mode, cudaDevAttrComputeMode, ordinal),
                         "compute mode of the GPU", msg, size);
    if (!rc && mode == cudaComputeModeProhibited) {
        (void)snprintf(msg, size, "its compute mode is prohibited (nvidia-smi -c 0 opens it)");
        return -ENOTSUP;
    }
    return rc ? rc : check_reach(ordinal, msg, size);
}
