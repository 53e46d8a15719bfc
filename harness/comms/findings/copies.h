/*
 * What a command copied, by the files of its processes (copies_record.h): read strictly, and added
 * up, a row for each way and kind of memory. Pure but for copies_read.
 */
#ifndef CONTEND_COMMS_FINDINGS_COPIES_H
#define CONTEND_COMMS_FINDINGS_COPIES_H

#include <stdbool.h>
#include <stddef.h>

#include "harness/comms/findings/nvlink_check.h"
#include "harness/comms/logs/copies_record.h"
#include "harness/comms/logs/read.h"
#include "harness/contract/finding.h"
#include "harness/lib/base/err.h"

enum { COPIES_END_MAX = 40 };

/* One file: what it has. Zeroed = none. */
struct copies_log {
    char *name; /* of the file; owned */
    struct comms_header header;
    struct copies_sums *sums; /* owned */
};

struct copies_row {
    const char *host; /* borrowed of a log */
    /* "host", a PCI address, "GPUN@P", GPU N of process P, where that is not known, or "?" of what
     * CUPTI does not tell or found no place. */
    char from[COPIES_END_MAX], to[COPIES_END_MAX];
    uint32_t kind;        /* enum copies_kind */
    uint32_t from_memory; /* enum copies_memory */
    uint32_t to_memory;
    bool unplaced; /* copies of any kind that found no place in the table of a process */
    uint64_t calls, bytes;
    uint64_t timed_calls, timed_bytes, timed_ns; /* on the device, each copy by itself */
    uint64_t sizes[COMMS_SIZES];                 /* calls by comms_bucket */
    uint64_t size_bytes[COMMS_SIZES];
};

struct copies {
    size_t nlogs, log_capacity;
    struct copies_log *log; /* owned */
    size_t n, capacity;
    struct copies_row *row; /* owned; by host, then by bytes */
};

/* The bytes of a file. -EINVAL after "'NAME', byte N: what is wrong there", -ENOMEM. */
int copies_log_parse(const char *name, const void *bytes, size_t size, struct copies_log *log,
                     struct err *err);
void copies_log_free(struct copies_log *log);

/* All of a directory, in the order of their names, not yet added up; none is no error. `unread` is
 * as comms_folder_read has it. */
int copies_read(const char *directory, struct copies *copies, struct comms_unread *unread,
                struct err *err);

/* The rows, of the logs. -ENOMEM, -EOVERFLOW. */
int copies_add_up(struct copies *copies, struct err *err);
void copies_free(struct copies *copies);

/* "pageable", and so on. */
const char *copies_memory_name(uint32_t memory);
const char *copies_kind_name(uint32_t kind);
/* The memory that says most of a row: that of the host, else of the source. */
uint32_t copies_row_memory(const struct copies_row *row);
/* Unified memory that moved, by the driver: its calls are pieces. */
bool copies_row_is_migration(const struct copies_row *row);
/* The memory, and of a migration why it moved: "managed touched". At most 15 characters. */
const char *copies_row_word(const struct copies_row *row);

/* Bytes a second on the device, each copy by itself; NaN: not timed. */
double copies_row_speed(const struct copies_row *row);

/* Lays what was copied from GPU to GPU on what NVLink counted. -EOVERFLOW. */
int copies_explain(const struct copies *copies, struct comms_nvlink_check *nvlink_check,
                   struct err *err);

/* copies_pageable, copies_migrated, copies_evicted, copies_migrations_unknown, copies_many_small,
 * copies_dropped, copies_unknown, copies_taken_over, copies_unplaced, copies_unfinished. -ENOMEM
 * only. */
int copies_judge(const struct copies *copies, struct findings *findings, struct err *err);

#endif
