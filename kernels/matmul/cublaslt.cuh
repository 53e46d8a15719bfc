/*
 * cuBLASLt without linking it, for .cu files: its calls by its own header, resolved at run time.
 */
#ifndef CONTEND_KERNELS_MATMUL_CUBLASLT_CUH
#define CONTEND_KERNELS_MATMUL_CUBLASLT_CUH

#include <cstddef>

#include <cublasLt.h>

struct cublaslt_api {
    decltype(&cublasLtCreate) create;
    decltype(&cublasLtDestroy) destroy;
    decltype(&cublasLtMatmul) matmul;
    decltype(&cublasLtMatmulAlgoGetHeuristic) heuristic;
    decltype(&cublasLtMatmulDescCreate) desc_create;
    decltype(&cublasLtMatmulDescDestroy) desc_destroy;
    decltype(&cublasLtMatmulDescSetAttribute) desc_set;
    decltype(&cublasLtMatrixLayoutCreate) layout_create;
    decltype(&cublasLtMatrixLayoutDestroy) layout_destroy;
    decltype(&cublasLtMatmulPreferenceCreate) preference_create;
    decltype(&cublasLtMatmulPreferenceDestroy) preference_destroy;
    decltype(&cublasLtMatmulPreferenceSetAttribute) preference_set;
    decltype(&cublasLtGetStatusName) status_name;
    decltype(&cublasLtGetVersion) version;
};

/* The calls, after a good cublaslt_load. */
const struct cublaslt_api *cublaslt(void);

/*
 * cublasLtCreate. Where the first handle of the process cannot be made for another reason than
 * memory, by the next library that is there and can make one: cublaslt() is that one from then on.
 */
extern "C" cublasStatus_t cublaslt_start(cublasLtHandle_t *handle);

/* Once a process; -ENOTSUP with the reason. gpu_matmul_load says where it looks. */
int cublaslt_load(char *msg, size_t size);

#endif
