#include "kernels/matmul/cublaslt.cuh"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <cuda_runtime.h>
#include <dlfcn.h>

#include "kernels/matmul/gpu_matmul.h"

static struct cublaslt_api api;
static char reason[200]; /* why no library is loaded */
static bool loaded, started;
static unsigned next_file; /* the first file not yet tried */

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

/*
 * Order of versions: first that of the headers, which is the runtime's, because a process must not
 * mix two; then the newest. Each is searched where the loader looks, then in folders of toolkits.
 */
enum { PLACES = 4, FILES = 3 * PLACES };

static unsigned version_at(unsigned i)
{
    static const unsigned known[] = {13, 12};
    const unsigned own = CUDART_VERSION / 1000;
    unsigned skip = 0;
    if (i == 0)
        return own;
    for (unsigned version : known)
        if (version != own && ++skip == i)
            return version;
    return 0;
}

/* "" if there is no such place. */
static void name_file(unsigned file, char *path, size_t size)
{
    const char *roots[PLACES] = {"", getenv("CUDA_HOME"), getenv("CUDA_PATH"), "/usr/local/cuda"};
    const char *root = roots[file % PLACES];
    unsigned version = version_at(file / PLACES);
    path[0] = '\0';
    if (!version || !root || (file % PLACES && !root[0]))
        return;
    (void)snprintf(path, size, "%s%slibcublasLt.so.%u", root, root[0] ? "/lib64/" : "", version);
}

/* Fills `api` from the library. An opened library is never closed: it may run threads. */
static bool take_library(void *library)
{
    struct cublaslt_api found = {};
    for (const auto &symbol : symbols) {
        void *address = dlsym(library, symbol.name);
        if (!address) {
            (void)snprintf(reason, sizeof(reason), "cuBLASLt is too old: it has no %s",
                           symbol.name);
            return false;
        }
        memcpy((char *)&found + symbol.offset, &address, sizeof(address));
    }
    api = found;
    return true;
}

static bool open_file(const char *path)
{
    void *library = path[0] ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
    return library && take_library(library);
}

/* Loads the next library that exists and is complete. */
static bool load_next(void)
{
    char path[512];
    while (next_file < FILES) {
        name_file(next_file++, path, sizeof(path));
        if (open_file(path))
            return true;
    }
    return false;
}

static void load(void)
{
    const char *named = getenv("CONTEND_CUBLASLT");
    bool own = named && named[0];
    (void)dlerror();
    if (own)
        next_file = FILES;
    loaded = own ? open_file(named) : load_next();
    if (loaded || reason[0])
        return;
    const char *why = dlerror();
    (void)snprintf(
        reason, sizeof(reason), "no cuBLASLt is here (%s %.120s)",
        own ? "CONTEND_CUBLASLT:" : "CONTEND_CUBLASLT can name the file:", why ? why : "not found");
}

const struct cublaslt_api *cublaslt(void)
{
    return &api;
}

int cublaslt_load(struct err *err)
{
    if (!loaded && !reason[0])
        load();
    if (loaded)
        return 0;
    return err_set(err, -ENOTSUP, "%s", reason);
}

/* If no other library works, the first library's error stays. */
cublasStatus_t cublaslt_start(cublasLtHandle_t *handle)
{
    const struct cublaslt_api first = api;
    cublasStatus_t status = api.create(handle), other = status;
    while (other != CUBLAS_STATUS_SUCCESS && other != CUBLAS_STATUS_ALLOC_FAILED && !started &&
           load_next())
        other = api.create(handle);
    if (other != CUBLAS_STATUS_SUCCESS)
        api = first;
    started = started || other == CUBLAS_STATUS_SUCCESS;
    return other == CUBLAS_STATUS_SUCCESS ? other : status;
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
