/*
 * The part of NCCL's interface to profiler plugins that this plugin uses: six tables of functions,
 * one per version of the interface, and their descriptions of events.
 *
 * Facts about a binary interface, from NVIDIA's NCCL (github.com/NVIDIA/nccl), src/include/plugin/
 * profiler/profiler_v1.h to _v6.h, and how src/plugin/profiler.cc calls it. Interfaces came with:
 * 1 NCCL 2.23.4, 2 2.24, 3 2.26.2, 4 2.27.3, 5 2.28.3, 6 2.29.7. NCCL takes the newest that it
 * knows. Descriptions end in a union with the fields of each type of event; types that are missing
 * here are not read.
 */
#ifndef CONTEND_COMMS_PLUGIN_PLUGIN_ABI_H
#define CONTEND_COMMS_PLUGIN_PLUGIN_ABI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bits of the mask of events that a plugin asks for, and the type of each event. */
enum {
    ABI_GROUP = 1 << 0, /* around the work of one kernel; reported if ABI_COLL is asked for */
    ABI_COLL = 1 << 1,  /* work of a collective, enqueued */
    ABI_P2P = 1 << 2,   /* work of one send or receive */
    ABI_COLL_CALL =
        1 << 9, /* the call of the program; from 5 on, reported if ABI_COLL is asked for */
    ABI_P2P_CALL = 1 << 10,  /* the same of a send or receive */
    ABI_LAUNCH = 1 << 11,    /* around the launch of a kernel; from 5 on */
    ABI_COPY_COLL = 1 << 12, /* a collective by copy engines; from 6 on */
    ABI_LAST = 1 << 14       /* higher bits are of later interfaces */
};

/* What a plugin returns: ncclSuccess. */
enum { ABI_SUCCESS = 0 };

/* A collective in NCCL's numbers; later interfaces use text. */
struct abi_coll_1 {
    const char *comm_name;
    uint64_t comm_hash, sequence;
    uint8_t func;
    const void *from;
    void *to;
    size_t count;
    int root;
    uint8_t datatype;
    uint32_t op;
    size_t traffic_bytes;
    uint8_t channels, warps, algo, proto;
    int is_collnet, is_nvls;
};

/* From 2 on: what a collective does. */
struct abi_work {
    uint64_t sequence;
    const char *func;
    const void *from;
    void *to;
    size_t count;
    int root;
    const char *datatype;
};

/* From 2 on: how a collective is carried out. */
struct abi_way {
    uint8_t channels, warps;
    const char *algo, *proto;
};

struct abi_coll_2 {
    const char *comm_name;
    uint64_t comm_hash;
    struct abi_work work;
    size_t traffic_bytes;
    struct abi_way way;
};

struct abi_coll_3 {
    const char *comm_name;
    uint64_t comm_hash;
    struct abi_work work;
    struct abi_way way;
};

/* 4 and later; 5 appends a pointer. */
struct abi_coll_4 {
    struct abi_work work;
    struct abi_way way;
};

struct abi_p2p_1 {
    const char *comm_name;
    uint64_t comm_hash;
    uint8_t func;
    void *buffer;
    uint8_t datatype;
    size_t count;
    int peer;
};

/* 2 and 3. */
struct abi_p2p_2 {
    const char *comm_name;
    uint64_t comm_hash;
    const char *func;
    void *buffer;
    const char *datatype;
    size_t count;
    int peer;
};

/* 4 and later; 5 appends a pointer. */
struct abi_p2p_4 {
    const char *func;
    void *buffer;
    const char *datatype;
    size_t count;
    int peer;
    uint8_t channels;
};

struct abi_coll_call {
    const char *func;
    size_t count;
    const char *datatype;
    int root;
    void *stream;
    bool captured;
};

struct abi_p2p_call {
    const char *func;
    size_t count;
    const char *datatype;
    void *stream;
    bool captured;
};

struct abi_launch {
    void *stream;
};

/* An event of interfaces 1 to 4. */
struct abi_event_1 {
    uint8_t type;
    void *parent;
    int rank;
    union {
        struct abi_coll_1 coll_1;
        struct abi_coll_2 coll_2;
        struct abi_coll_3 coll_3;
        struct abi_coll_4 coll_4;
        struct abi_p2p_1 p2p_1;
        struct abi_p2p_2 p2p_2;
        struct abi_p2p_4 p2p_4;
    };
};

/* Interfaces 5 and 6. `parent` of work is what the plugin returned for the call. */
struct abi_event_5 {
    uint64_t type;
    void *parent;
    int rank;
    union {
        struct abi_coll_4 coll;
        struct abi_p2p_4 p2p;
        struct abi_coll_call coll_call;
        struct abi_p2p_call p2p_call;
        struct abi_launch launch;
        struct abi_work copy_coll; /* 6; its other fields are not read */
    };
};

typedef int abi_init_1(void **context, int *mask);
typedef int abi_init_4(void **context, int *mask, const char *name, uint64_t hash, int nodes,
                       int nranks, int rank, void *log);
typedef int abi_init_5(void **context, uint64_t id, int *mask, const char *name, int nodes,
                       int nranks, int rank, void *log);

/* The table of any version: versions differ in the first function and in the event. */
struct abi_profiler {
    const char *name;
    union {
        abi_init_1 *init_1; /* 1 to 3 */
        abi_init_4 *init_4;
        abi_init_5 *init_5; /* and 6 */
    };
    union {
        int (*start_1)(void *context, void **handle, struct abi_event_1 *event); /* 1 to 4 */
        int (*start_5)(void *context, void **handle, struct abi_event_5 *event);
    };
    int (*stop)(void *handle);
    int (*record)(void *handle, int state, void *args);
    int (*finalize)(void *context);
};

#endif
