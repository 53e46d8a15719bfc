/*
 * Loads NCCL at run time: the program does not link it and does not need its header.
 *
 *   const struct nccl_api *nccl = nccl_api_load(&err);      NULL: the reason is in err
 *
 * CONTEND_LIBNCCL names the library's file. Without it, libnccl.so.2 is the library that the
 * dynamic linker finds, or that another library has already loaded. Functions and constants are
 * those of nccl.h (2.7 to 2.28), with int for enumerations and void * for handles; functions return
 * 0 for success. Source: NCCL's user guide, "NCCL API".
 */
#ifndef CONTEND_KERNELS_COLLECTIVE_NCCL_API_H
#define CONTEND_KERNELS_COLLECTIVE_NCCL_API_H

#include <stddef.h>

#include "harness/lib/err.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ncclUniqueId: by it the ranks of a communicator find each other. One rank makes it. */
struct nccl_id {
    char bytes[128];
};

/* ncclDataType_t, ncclRedOp_t, ncclResult_t. */
enum { NCCL_INT8 = 0, NCCL_UINT8 = 1, NCCL_INT32 = 2, NCCL_UINT32 = 3, NCCL_INT64 = 4 };
enum { NCCL_UINT64 = 5, NCCL_HALF = 6, NCCL_FLOAT = 7, NCCL_DOUBLE = 8, NCCL_BFLOAT16 = 9 };
enum { NCCL_F8E4M3 = 10, NCCL_F8E5M2 = 11 };
enum { NCCL_SUM = 0, NCCL_PROD = 1, NCCL_MAX = 2, NCCL_MIN = 3, NCCL_AVG = 4 };
enum { NCCL_IN_PROGRESS = 7 };

/* As ncclGetVersion numbers them: bfloat16 and averages came with 2.10, fp8 with 2.24. */
enum { NCCL_VERSION_LEAST = 2700, NCCL_VERSION_BFLOAT16 = 21000, NCCL_VERSION_AVG = 21000 };
enum { NCCL_VERSION_FP8 = 22400 };

struct nccl_api {
    int version; /* 22809 is 2.28.9; before 2.9: 2708 is 2.7.8 */
    int (*get_version)(int *version);
    int (*get_unique_id)(struct nccl_id *id);
    int (*comm_init_rank)(void **comm, int ranks, struct nccl_id id, int rank);
    int (*comm_destroy)(void *comm);
    int (*comm_abort)(void *comm);
    int (*comm_get_async_error)(void *comm, int *error);
    const char *(*get_error_string)(int error);
    const char *(*get_last_error)(void *comm); /* NULL before 2.13 */
    int (*group_start)(void);
    int (*group_end)(void);
    int (*all_reduce)(const void *send, void *recv, size_t count, int type, int op, void *comm,
                      void *stream);
    int (*all_gather)(const void *send, void *recv, size_t count, int type, void *comm,
                      void *stream);
    int (*reduce_scatter)(const void *send, void *recv, size_t count, int type, int op, void *comm,
                          void *stream);
    int (*broadcast)(const void *send, void *recv, size_t count, int type, int root, void *comm,
                     void *stream);
    int (*reduce)(const void *send, void *recv, size_t count, int type, int op, int root,
                  void *comm, void *stream);
    int (*send)(const void *send, size_t count, int type, int peer, void *comm, void *stream);
    int (*recv)(void *recv, size_t count, int type, int peer, void *comm, void *stream);
    /* NULL before 2.19. */
    int (*mem_alloc)(void **buffer, size_t bytes);
    int (*mem_free)(void *buffer);
    int (*comm_register)(void *comm, void *buffer, size_t bytes, void **handle);
    int (*comm_deregister)(void *comm, void *handle);
};

/* Loads NCCL once per process; it stays loaded. Not thread-safe. */
const struct nccl_api *nccl_api_load(struct err *err);

/* Writes "2.28.9" for 22809 to buf, and returns buf. */
char *nccl_api_version(int version, char *buf, size_t size);

#ifdef __cplusplus
}
#endif

#endif
