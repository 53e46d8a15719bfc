#include "kernels/gpu/gpu_common.cuh"

#include <cerrno>
#include <cstdio>

static int code_of(cudaError_t error)
{
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
        return -EBUSY;
    default:
        return -EIO;
    }
}

/* Clears the error first: otherwise the next call would report it again. */
int gpu_fail(cudaError_t error, const char *what, struct err *err)
{
    (void)cudaGetLastError();
    const char *text = error == cudaErrorDevicesUnavailable
                           ? "the GPU is in an exclusive compute mode and another process has it, "
                             "or its mode is prohibited"
                           : cudaGetErrorString(error);
    return err_set(err, code_of(error), "%s: %s (%s)", what, text, cudaGetErrorName(error));
}

int gpu_checked(cudaError_t error, const char *what, struct err *err)
{
    return error == cudaSuccess ? 0 : gpu_fail(error, what, err);
}

/* CUDA has the same error for a missing driver and for one that is too old. */
static void explain_driver(struct err *err)
{
    int driver = 0;
    if (cudaDriverGetVersion(&driver) != cudaSuccess || driver == 0)
        (void)err_set(err, -ENOTSUP, "no NVIDIA driver is here (libcuda.so.1)");
    else
        (void)gpu_reach_refuse_driver(driver, CUDART_VERSION, err);
}

int gpu_count(struct err *err)
{
    int count = 0;
    cudaError_t error = cudaGetDeviceCount(&count);
    if (error == cudaSuccess && count > 0)
        return count;
    if (error == cudaErrorInsufficientDriver || error == cudaErrorStubLibrary)
        explain_driver(err);
    else if (error != cudaSuccess && error != cudaErrorNoDevice)
        (void)gpu_fail(error, "cannot count GPUs", err);
    else
        (void)err_set(err, -ENOTSUP, "CUDA shows no GPU (CUDA_VISIBLE_DEVICES can hide them)");
    if (err)
        err->code = -ENOTSUP;
    (void)cudaGetLastError();
    return 0;
}

int gpu_find(const char *pci_bdf, int *cuda_ordinal, struct err *err)
{
    char what[96];
    *cuda_ordinal = 0;
    if (!pci_bdf || !pci_bdf[0])
        return 0;
    (void)snprintf(what, sizeof(what), "no GPU at PCI address '%.32s'", pci_bdf);
    int rc = gpu_checked(cudaDeviceGetByPCIBusId(cuda_ordinal, pci_bdf), what, err);
    return rc == -EIO ? -ENODEV : rc;
}

/* Compares the compute capability (90 for 9.0) with the lowest that this build has code for. */
static int check_reach(int cuda_ordinal, struct err *err)
{
    static const int archs[] = {__CUDA_ARCH_LIST__};
    int major = 0, minor = 0;
    int rc =
        gpu_checked(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, cuda_ordinal),
                    "compute capability of the GPU", err);
    if (!rc)
        rc = gpu_checked(
            cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, cuda_ordinal),
            "compute capability of the GPU", err);
    return rc ? rc
              : gpu_reach_check(10 * major + minor, archs, sizeof(archs) / sizeof(archs[0]),
                                CUDART_VERSION, err);
}

int gpu_open(const char *pci_bdf, unsigned flags, int *cuda_ordinal, struct err *err)
{
    int rc = gpu_find(pci_bdf, cuda_ordinal, err);
    if (!rc)
        rc = check_reach(*cuda_ordinal, err);
    if (!rc)
        rc = gpu_checked(cudaSetDevice(*cuda_ordinal), "cannot use the GPU", err);
    if (!rc)
        rc = gpu_checked(cudaSetDeviceFlags(flags), "cannot set the GPU's way of waiting", err);
    return rc;
}

int gpu_check(const char *pci_bdf, struct err *err)
{
    int ordinal, mode = cudaComputeModeDefault;
    int rc = gpu_find(pci_bdf, &ordinal, err);
    if (!rc)
        rc = gpu_checked(cudaDeviceGetAttribute(&mode, cudaDevAttrComputeMode, ordinal),
                         "compute mode of the GPU", err);
    if (!rc && mode == cudaComputeModeProhibited) {
        return err_set(err, -ENOTSUP, "its compute mode is prohibited (nvidia-smi -c 0 opens it)");
    }
    return rc ? rc : check_reach(ordinal, err);
}
