#include "kernels/matmul/cublaslt.cuh"

#include <cerrno>
#include <cstdio>

#include "kernels/matmul/gpu_matmul.h"

#ifndef CONTEND_HAVE_CUBLASLT

char *gpu_matmul_library(char *buf, size_t size)
{
    (void)snprintf(buf, size, "%s", "");
    return buf;
}

int cublaslt_load(char *msg, size_t size)
{
    (void)snprintf(msg, size, "this program was built without cublasLt.h");
    return -ENOTSUP;
}

#else

#include <cstdlib>
#include <cstring>

#include <dlfcn.h>
#include <pthread.h>

static struct cublaslt_api api;
static char reason[200]; /* why there is none; "" = it is there */
static pthread_once_t once = PTHREAD_ONCE_INIT;

static const struct {
    const char *name;
    size_t offset;
} symbols[] = {
    {"cublasLtCreate", offsetof(struct cublaslt_api, create)},
    {"cublasLtDestroy", offsetof(struct cublaslt_api, destroy)},
    {"cublasLtMatmul", offsetof(struct cublaslt_api, matmul)},
    {"cublasLtMatmulAlgoGetHeuristic", offsetof(struct cublaslt_api, heuristic)},
    {"cublasLtMatmulDescCreate", offsetof(struct cublaslt_api, desc_create)},
    {"cublasLtMatmulDescDestroy", offsetof(struct cublaslt_api, desc_destroy)},
    {"cublasLtMatmulDescSetAttribute", offsetof(struct cublaslt_api, desc_set)},
    {"cublasLtMatrixLayoutCreate", offsetof(struct cublaslt_api, layout_create)},
    {"cublasLtMatrixLayoutDestroy", offsetof(struct cublaslt_api, layout_destroy)},
    {"cublasLtMatmulPreferenceCreate", offsetof(struct cublaslt_api, preference_create)},
    {"cublasLtMatmulPreferenceDestroy", offsetof(struct cublaslt_api, preference_destroy)},
    {"cublasLtMatmulPreferenceSetAttribute", offsetof(struct cublaslt_api, preference_set)},
    {"cublasLtGetStatusName", offsetof(struct cublaslt_api, status_name)},
    {"cublasLtGetVersion", offsetof(struct cublaslt_api, version)},
};

static void *open_below(const char *root, const char *name)
{
    char path[512];
    if (!root || !root[0])
        return NULL;
    (void)snprintf(path, sizeof(path), "%s/lib64/%s", root, name);
    return dlopen(path, RTLD_NOW | RTLD_LOCAL);
}

/* The version of the headers first: a process must not mix two. */
static void *find_library(void)
{
    static const char *const names[] = {"libcublasLt.so.13", "libcublasLt.so.12"};
    for (const char *name : names) {
        void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
        if (!library)
            library = open_below(getenv("CUDA_HOME"), name);
        if (!library)
            library = open_below(getenv("CUDA_PATH"), name);
        if (!library)
            library = open_below("/usr/local/cuda", name);
        if (library)
            return library;
    }
    return NULL;
}

/* A library that is there is never closed: it may run threads. */
static void load(void)
{
    const char *named = getenv("CONTEND_CUBLASLT");
    bool own = named && named[0];
    void *library = own ? dlopen(named, RTLD_NOW | RTLD_LOCAL) : find_library();
    if (!library) {
        const char *why = dlerror();
        (void)snprintf(reason, sizeof(reason), "no cuBLASLt is here (%s %.120s)",
                       own ? "CONTEND_CUBLASLT:" : "CONTEND_CUBLASLT can name the file:",
                       why ? why : "not found");
        return;
    }
    for (const auto &symbol : symbols) {
        void *found = dlsym(library, symbol.name);
        if (!found) {
            (void)snprintf(reason, sizeof(reason), "cuBLASLt is too old: it has no %s",
                           symbol.name);
            return;
        }
        memcpy((char *)&api + symbol.offset, &found, sizeof(found));
    }
}

const struct cublaslt_api *cublaslt(void)
{
    return &api;
}

int cublaslt_load(char *msg, size_t size)
{
    (void)pthread_once(&once, load);
    if (!reason[0])
        return 0;
    (void)snprintf(msg, size, "%s", reason);
    return -ENOTSUP;
}

/* Source: CUBLAS_VERSION in cublas_api.h, as of 12.0. */
char *gpu_matmul_library(char *buf, size_t size)
{
    unsigned version = api.version ? (unsigned)api.version() : 0;
    (void)snprintf(buf, size, "%u.%u.%u", version / 10000, version / 100 % 100, version % 100);
    if (!version)
        buf[0] = '\0';
    return buf;
}

#endif
