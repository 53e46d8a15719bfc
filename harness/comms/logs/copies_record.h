/*
 * What each process of `contend comms --copies` leaves in CONTEND_COMMS_DIR: sums of the copies
 * that CUPTI told. inject.c writes it, copies.c reads it; nothing else knows it.
 *
 * One file of fixed size, mapped by its writer: a header, which does not change, then two slots. A
 * slot is all that was known at one moment. They are written in turn, so that a process that is
 * killed while it writes leaves the one before, whole: the valid one with the higher sequence
 * counts. Records of fixed size without pointers, little-endian; zeroed = none.
 */
#ifndef CONTEND_COMMS_LOGS_COPIES_RECORD_H
#define CONTEND_COMMS_LOGS_COPIES_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "harness/comms/logs/record.h"

#define COPIES_MAGIC "CNTDCOPY"
/* Behind that of logs of NCCL, which so do not take it for one of theirs. */
#define COPIES_SUFFIX COMMS_SUFFIX ".copies"

enum {
    COPIES_VERSION = 2,
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

struct copies_header {
    char magic[8];           /* COPIES_MAGIC, without its end */
    uint32_t version, order; /* COPIES_VERSION, COMMS_ORDER */
    uint32_t header_size, slot_size, entry_size, entries, devices;
    uint32_t cupti; /* cuptiGetVersion; 0 = it does not tell */
    uint64_t file_size;
    int64_t pid;
    uint64_t start_ns; /* CLOCK_REALTIME */
    char host[COMMS_HOST_MAX];
    char program[COMMS_PROGRAM_MAX];
    uint8_t boot[COMMS_BOOT_MAX]; /* as in logs of NCCL */
    uint64_t reserved[10];
};

struct copies_entry {
    uint8_t kind;          /* enum copies_kind */
    uint8_t from_memory;   /* enum copies_memory */
    uint8_t to_memory;     /* the same */
    uint8_t bucket;        /* comms_bucket of the bytes */
    int32_t from, to;      /* numbers of devices, as CUDA counts them, or the ends above */
    uint32_t used;         /* 1; the first entry, of any kind and size, always */
    uint64_t calls, bytes; /* all of them; of migrations pieces, which nobody has called */
    /* On the device: calls whose begin and end were told, what they carried and how long they took
     * together, each by itself. */
    uint64_t timed_calls, timed_bytes, timed_ns;
    uint64_t reserved;
};

struct copies_slot {
    uint64_t checksum; /* copies_checksum */
    uint64_t sequence; /* 1 of the first one written; 0 = never */
    uint64_t time_ns;  /* CLOCK_REALTIME, when it was written */
    uint32_t finished; /* enum copies_end */
    uint32_t nentries;
    uint64_t dropped;          /* records that CUPTI had no room for */
    uint64_t unknown;          /* records of kinds that were not asked for */
    uint64_t broken;           /* buffers that CUPTI could not read to their end */
    uint64_t buffers;          /* handed to CUPTI and not back: at the end, another tool has them */
    uint64_t migrations_ns;    /* CLOCK_REALTIME, from when on they are told; 0 = they are not */
    uint32_t migrations_error; /* CUPTI's, why not; 0: it was never ready */
    uint32_t reserved;
    char pci[COPIES_DEVICES][COMMS_GPU_MAX]; /* as the driver writes it; "" = not known */
    struct copies_entry entry[COPIES_ENTRIES];
};

_Static_assert(sizeof(struct copies_header) == 256, "a part of the format");
_Static_assert(sizeof(struct copies_entry) == 64, "a part of the format");
_Static_assert(sizeof(struct copies_slot) == 80 + COPIES_DEVICES * 24 + COPIES_ENTRIES * 64,
               "a part of the format");

enum {
    COPIES_SLOTS = 2,
    COPIES_FILE_SIZE = sizeof(struct copies_header) + COPIES_SLOTS * sizeof(struct copies_slot)
};

/* What a header of this version has, whoever it is of. */
static inline struct copies_header copies_header_begin(void)
{
    struct copies_header header = {.version = COPIES_VERSION,
                                   .order = COMMS_ORDER,
                                   .header_size = sizeof(struct copies_header),
                                   .slot_size = sizeof(struct copies_slot),
                                   .entry_size = sizeof(struct copies_entry),
                                   .entries = COPIES_ENTRIES,
                                   .devices = COPIES_DEVICES,
                                   .file_size = COPIES_FILE_SIZE};
    memcpy(header.magic, COPIES_MAGIC, sizeof(header.magic));
    return header;
}

/* Bytes of a slot that count: what is behind the last entry is not written. */
static inline size_t copies_slot_size(const struct copies_slot *slot)
{
    return offsetof(struct copies_slot, entry) +
           (slot->nentries < COPIES_ENTRIES ? slot->nentries : COPIES_ENTRIES) *
               sizeof(slot->entry[0]);
}

/* What was copied from then on no record has told: a buffer went to another tool, or that tool was
 * there when the process ended. */
static inline bool copies_slot_is_taken(const struct copies_slot *slot)
{
    return slot->finished == COPIES_ENDED_TAKEN || (slot->finished && slot->buffers);
}

/* FNV-1a over the words behind the checksum (the Internet draft eastlake-fnv; by 64 bits at once,
 * which is enough to tell a half-written slot). */
static inline uint64_t copies_checksum(const struct copies_slot *slot)
{
    const uint64_t *word = (const uint64_t *)slot;
    uint64_t sum = 0xcbf29ce484222325u;
    for (size_t i = 1; i < copies_slot_size(slot) / sizeof(*word); i++)
        sum = (sum ^ word[i]) * 0x100000001b3u;
    return sum;
}

#endif
