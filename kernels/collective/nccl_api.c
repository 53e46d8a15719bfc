#include "kernels/collective/nccl_api.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

/* Offset of a function's pointer in struct nccl_api. */
static const struct symbol {
    const char *name;
    size_t offset;
    int optional;
} symbols[] = {
    {"ncclGetVersion", offsetof(struct nccl_api, get_version), 0},
    {"ncclGetUniqueId", offsetof(struct nccl_api, get_unique_id), 0},
    {"ncclCommInitRank", offsetof(struct nccl_api, comm_init_rank), 0},
    {"ncclCommDestroy", offsetof(struct nccl_api, comm_destroy), 0},
    {"ncclCommAbort", offsetof(struct nccl_api, comm_abort), 0},
    {"ncclCommGetAsyncError", offsetof(struct nccl_api, comm_get_async_error), 0},
    {"ncclGetErrorString", offsetof(struct nccl_api, get_error_string), 0},
    {"ncclGetLastError", offsetof(struct nccl_api, get_last_error), 1},
    {"ncclGroupStart", offsetof(struct nccl_api, group_start), 0},
    {"ncclGroupEnd", offsetof(struct nccl_api, group_end), 0},
    {"ncclAllReduce", offsetof(struct nccl_api, all_reduce), 0},
    {"ncclAllGather", offsetof(struct nccl_api, all_gather), 0},
    {"ncclReduceScatter", offsetof(struct nccl_api, reduce_scatter), 0},
    {"ncclBroadcast", offsetof(struct nccl_api, broadcast), 0},
    {"ncclReduce", offsetof(struct nccl_api, reduce), 0},
    {"ncclSend", offsetof(struct nccl_api, send), 0},
    {"ncclRecv", offsetof(struct nccl_api, recv), 0},
    {"ncclMemAlloc", offsetof(struct nccl_api, mem_alloc), 1},
    {"ncclMemFree", offsetof(struct nccl_api, mem_free), 1},
    {"ncclCommRegister", offsetof(struct nccl_api, comm_register), 1},
    {"ncclCommDeregister", offsetof(struct nccl_api, comm_deregister), 1},
};

/* The first required symbol that the library lacks; NULL: it has all. */
static const char *resolve(void *library, struct nccl_api *api)
{
    for (size_t i = 0; i < sizeof(symbols) / sizeof(symbols[0]); i++) {
        void *address = dlsym(library, symbols[i].name);
        if (!address && !symbols[i].optional)
            return symbols[i].name;
        *(void **)(void *)((char *)api + symbols[i].offset) = address;
    }
    return NULL;
}

char *nccl_api_version(int version, char *buf, size_t size)
{
    int thousands = version < 10000 ? 1000 : 10000;
    (void)snprintf(buf, size, "%d.%d.%d", version / thousands, version % thousands / 100,
                   version % 100);
    return buf;
}

/* Never replaces a library that CONTEND_LIBNCCL names: another NCCL would be measured instead. */
static void *open_library(const char *named, struct err *err)
{
    void *library = dlopen(named ? named : "libnccl.so.2", RTLD_NOW | RTLD_LOCAL);
    if (library)
        return library;
    const char *why = dlerror();
    (void)err_set(err, -ENOTSUP, "NCCL cannot be loaded: %s%s", why ? why : "no reason given",
                  named ? " (named by CONTEND_LIBNCCL)"
                        : "; install it, or let CONTEND_LIBNCCL name its file");
    return NULL;
}

const struct nccl_api *nccl_api_load(struct err *err)
{
    static struct nccl_api api;
    char have[32];
    const char *named = getenv("CONTEND_LIBNCCL");
    if (api.version)
        return &api;
    named = named && named[0] ? named : NULL;
    void *library = open_library(named, err);
    if (!library)
        return NULL;
    const char *file = named ? named : "libnccl.so.2";
    const char *absent = resolve(library, &api);
    int version = 0;
    if (absent) {
        (void)err_set(err, -ENOTSUP, "%s has no %s: NCCL 2.7 or later is needed", file, absent);
    } else if (api.get_version(&version) || version < NCCL_VERSION_LEAST) {
        (void)err_set(err, -ENOTSUP, "%s is NCCL %s: 2.7 or later is needed", file,
                      nccl_api_version(version, have, sizeof(have)));
    } else {
        api.version = version;
        return &api;
    }
    (void)dlclose(library);
    return NULL;
}
