/* cuBLASLt without linking, for .cu files: functions, typed by its header, resolved at run time. */
#ifndef CONTEND_KERNELS_MATMUL_CUBLASLT_CUH
#define CONTEND_KERNELS_MATMUL_CUBLASLT_CUH

#include <cstddef>

#include <cublasLt.h>

#include "harness/lib/err.h"

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

/* The functions; valid after a successful cublaslt_load. */
const struct cublaslt_api *cublaslt(void);

/*
 * cublasLtCreate. If the process's first handle fails for another reason than memory, it tries the
 * next library that exists; cublaslt() then returns the functions of the library that works.
 */
extern "C" cublasStatus_t cublaslt_start(cublasLtHandle_t *handle);

/* Loads once per process; -ENOTSUP with the reason. gpu_matmul_load says where it searches. */
int cublaslt_load(struct err *err);

#endif
