/*
 * A cuBLASLt that multiplies nothing: it reports version VERSION, and cublasLtCreate returns
 * STATUS. Tests build it when they run.
 */
#include <stddef.h>

size_t cublasLtGetVersion(void);
int cublasLtCreate(void **handle);

size_t cublasLtGetVersion(void)
{
    return VERSION;
}

int cublasLtCreate(void **handle)
{
    static int made;
    *handle = STATUS ? NULL : &made;
    return STATUS;
}

#define ABSENT(function)                                                                           \
    int function(void);                                                                            \
    int function(void)                                                                             \
    {                                                                                              \
        return 15; /* CUBLAS_STATUS_NOT_SUPPORTED */                                               \
    }
ABSENT(cublasLtDestroy)
ABSENT(cublasLtMatmul)
ABSENT(cublasLtMatmulAlgoGetHeuristic)
ABSENT(cublasLtMatmulDescCreate)
ABSENT(cublasLtMatmulDescDestroy)
ABSENT(cublasLtMatmulDescSetAttribute)
ABSENT(cublasLtMatrixLayoutCreate)
ABSENT(cublasLtMatrixLayoutDestroy)
ABSENT(cublasLtMatmulPreferenceCreate)
ABSENT(cublasLtMatmulPreferenceDestroy)
ABSENT(cublasLtMatmulPreferenceSetAttribute)
ABSENT(cublasLtGetStatusName)
