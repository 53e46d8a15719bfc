/*
 * What each process of `contend comms --copies` leaves in CONTEND_COMMS_DIR: sums of the copies
 * that CUPTI told. inject.c writes it, copies.c reads it; nothing else knows it.
 *
 * One file of fixed size, mapped by its writer: the header of record.h, then sums, which one thread
 * at a time changes. An entry is used once its key is there, and what was timed of it is added
 * last, so that a process that is killed leaves no half that contradicts the other. Records of
 * fixed size without pointers, little-endian; zeroed = none.
 */
#ifndef CONTEND_COMMS_LOGS_COPIES_RECORD_H
#define CONTEND_COMMS_LOGS_COPIES_RECORD_H

#include <stdbool.h>
#include <stdint.h>

#include "harness/comms/logs/record.h"

#define COPIES_MAGIC "CNTDCOPY"
/* Behind that of logs of NCCL, which so do not take it for one of theirs. */
#define COPIES_SUFFIX COMMS_SUFFIX ".copies"

enum {
    COPIES_ENTRIES = 1024, /* the first one: what found no place among the others */
    COPIES_DEVICES = 64,
    COPIES_HOST = -1, /* ends of a copy that are no device */
    COPIES_ELSEWHERE = -2
};

/* As CUPTI numbers them (CUpti_ActivityMemcpyKind, CUpti_ActivityMemoryKind), and behind those the
 * migrations of unified memory by their cause (CUpti_ActivityUnifiedMemoryMigrationCause). */
enum copies_kind {
    COPIES_UNKNOWN,
    COPIES_HTOD,
    COPIES_DTOH,
    COPIES_HTOA,
    COPIES_ATOH,
    COPIES_ATOA,
    COPIES_ATOD,
    COPIES_DTOA,
    COPIES_DTOD,
    COPIES_HTOH,
    COPIES_PTOP,
    COPIES_MIGRATED, /* for a cause that CUPTI does not tell */
    COPIES_MIGRATED_USER,
    COPIES_MIGRATED_COHERENCE,
    COPIES_MIGRATED_PREFETCH, /* by the driver's own guess */
    COPIES_MIGRATED_EVICTION,
    COPIES_MIGRATED_COUNTERS,
    COPIES_KINDS
};
enum copies_memory {
    COPIES_MEMORY_UNKNOWN,
    COPIES_PAGEABLE,
    COPIES_PINNED,
    COPIES_DEVICE,
    COPIES_ARRAY,
    COPIES_MANAGED,
    COPIES_DEVICE_STATIC,
    COPIES_MANAGED_STATIC,
    COPIES_MEMORIES
};

/* By the end of the process, after the last copy; then, too, whether CUPTI was another tool's. */
enum copies_end { COPIES_GOES_ON, COPIES_ENDED, COPIES_ENDED_TAKEN };

struct copies_entry {
    uint8_t kind;          /* enum copies_kind */
    uint8_t from_memory;   /* enum copies_memory */
    uint8_t to_memory;     /* the same */
    uint8_t bucket;        /* comms_bucket of the bytes */
    int32_t from, to;      /* numbers of devices, as CUDA counts them, or the ends above */
    uint32_t used;         /* 1, or 0 of all behind; the first, of any kind and size, always */
    uint64_t calls, bytes; /* all of them; of migrations pieces, which nobody has called */
    /* On the device: calls whose begin and end were told, what they carried and how long they took
     * together, each by itself. */
    uint64_t timed_calls, timed_bytes, timed_ns;
    uint64_t reserved;
};

struct copies_sums {
    uint64_t dropped;          /* records that CUPTI had no room for */
    uint64_t unknown;          /* records of kinds that were not asked for */
    uint64_t broken;           /* buffers that CUPTI could not read to their end */
    uint64_t buffers;          /* handed to CUPTI and not back: at the end, another tool has them */
    uint64_t migrations_ns;    /* CLOCK_REALTIME, from when on they are told; 0 = they are not */
    uint32_t migrations_error; /* CUPTI's, why not; 0: it was never ready */
    uint32_t finished;         /* enum copies_end */
    char pci[COPIES_DEVICES][COMMS_GPU_MAX]; /* as the driver writes it; "" = not known */
    struct copies_entry entry[COPIES_ENTRIES];
};

struct copies_file {
    struct comms_header header; /* COPIES_MAGIC */
    struct copies_sums sums;
};

_Static_assert(sizeof(struct copies_entry) == 64, "a part of the format");
_Static_assert(sizeof(struct copies_sums) == 48 + COPIES_DEVICES * 24 + COPIES_ENTRIES * 64,
               "a part of the format");

/* Copies from then on are in no record: a buffer went to another tool, or that tool was
 * there when the process ended. */
static inline bool copies_are_taken(const struct copies_sums *sums)
{
    return sums->finished == COPIES_ENDED_TAKEN || (sums->finished && sums->buffers);
}

#endif
