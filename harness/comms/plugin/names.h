/*
 * Maps NCCL's names of collectives, types, algorithms and protocols to numbers for the log, and
 * back. The numbers are part of the format of the log: append new ones.
 */
#ifndef CONTEND_COMMS_PLUGIN_NAMES_H
#define CONTEND_COMMS_PLUGIN_NAMES_H

#include <stdbool.h>
#include <stdint.h>

#include "harness/comms/plugin/record.h"

enum comms_func {
    COMMS_FUNC_OTHER, /* of a name that this version does not know */
    COMMS_ALL_REDUCE,
    COMMS_ALL_GATHER,
    COMMS_REDUCE_SCATTER,
    COMMS_BROADCAST,
    COMMS_REDUCE,
    COMMS_ALL_TO_ALL,
    COMMS_GATHER,
    COMMS_SCATTER,
    COMMS_SEND,
    COMMS_RECV,
    COMMS_FUNCS
};

enum comms_datatype {
    COMMS_TYPE_OTHER,
    COMMS_INT8,
    /* ncclUint8 is the only type for which NCCL (2.24 to 2.30, ncclDatatypeToString) has no name:
     * it reports "Unknown". */
    COMMS_UINT8,
    COMMS_INT32,
    COMMS_UINT32,
    COMMS_INT64,
    COMMS_UINT64,
    COMMS_FLOAT16,
    COMMS_FLOAT32,
    COMMS_FLOAT64,
    COMMS_BFLOAT16,
    COMMS_FLOAT8E4M3,
    COMMS_FLOAT8E5M2,
    COMMS_TYPES
};

enum comms_algo {
    COMMS_ALGO_OTHER,
    COMMS_RING,
    COMMS_TREE,
    COMMS_COLLNET_DIRECT,
    COMMS_COLLNET_CHAIN,
    COMMS_NVLS,
    COMMS_NVLS_TREE,
    COMMS_PAT,
    COMMS_COPY_ENGINE,
    COMMS_POINT_TO_POINT,
    COMMS_CALLED, /* the call of the program itself; all other algorithms are the work for it */
    COMMS_ALGOS
};

enum comms_proto { COMMS_PROTO_OTHER, COMMS_LL, COMMS_LL128, COMMS_SIMPLE, COMMS_PROTOS };

/* The names of one of these enumerations. */
struct comms_names {
    const struct comms_name *name;
    uint32_t n;
};
extern const struct comms_names comms_funcs, comms_datatypes, comms_algos, comms_protos;

/* By NCCL's text (interfaces 2 and later); 0 for NULL and unknown texts. The type "Unknown" is
 * COMMS_UINT8. */
uint32_t comms_name_find(const struct comms_names *names, const char *text);
/* By NCCL's number (interface 1, so NCCL 2.23). */
uint32_t comms_name_numbered(const struct comms_names *names, unsigned number);

/* "AllReduce", "float32", "RING", "LL128"; "?" for other numbers. */
const char *comms_func_name(uint32_t func);
const char *comms_datatype_name(uint32_t datatype);
const char *comms_algo_name(uint32_t algo);
const char *comms_proto_name(uint32_t proto);

/* The size of one element; 0 = unknown. */
uint32_t comms_datatype_bytes(uint32_t datatype);

/* What identifies a machine in logs and their names. Also linked into the plugin. */

/* The host's name, with "-" for "/", "." and blanks, so that paths and lines of text can have it.
 * Keeps errno. */
void comms_host_find(char host[static COMMS_HOST_MAX]);

/* Linux's boot_id of the running kernel; zeroed if it cannot be read. Keeps errno. */
void comms_boot_find(uint8_t boot[static COMMS_BOOT_MAX]);

/* 32 hexadecimal digits, with or without the dashes of a UUID. False: something else, and zeroed.
 */
bool comms_boot_parse(const char *text, uint8_t boot[static COMMS_BOOT_MAX]);

#endif
