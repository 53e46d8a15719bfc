/*
 * What is used of CUPTI, which is loaded where it is found, and how it lays out its records:
 * nothing of it is there at build time.
 *
 * Source: cupti_activity.h and cupti_activity_deprecated.h of CUDA 13.0. CUPTI makes records of the
 * newest layout that it knows, and a layout begins with the one before: CUpti_ActivityMemcpy, 3, 4,
 * 5 (CUDA 12) and 6 (CUDA 13) have the same first fields, as have CUpti_ActivityMemcpyPtoP, 2, 3
 * and
 * 4. Read are these first fields, and of CUDA 13 the number of copies in a batch. Of
 * CUpti_ActivityUnifiedMemoryCounter2 and 3 all fields of the first are read.
 * tests/comms/findings/test_copies.c holds all of this against the headers where they are.
 */
#ifndef CONTEND_COMMS_PLUGIN_INJECT_CUPTI_H
#define CONTEND_COMMS_PLUGIN_INJECT_CUPTI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    CUPTI_GOOD = 0,
    CUPTI_OTHER_SUBSCRIBER = 39, /* CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED */
    CUPTI_NO_MORE = 12,          /* CUPTI_ERROR_MAX_LIMIT_REACHED: the end of a buffer */
    CUPTI_KIND_MEMCPY = 1,
    CUPTI_NOT_READY = 13,      /* CUPTI_ERROR_NOT_READY: the driver has not yet begun */
    CUPTI_KIND_MEMCPY2 = 22,   /* between devices */
    CUPTI_KIND_MIGRATION = 25, /* CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER */
    CUPTI_BY_PROCESS = 2,      /* CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_SCOPE_PROCESS_ALL_DEVICES */
    CUPTI_MOVED_HTOD = 1,      /* CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_BYTES_TRANSFER_HTOD */
    CUPTI_MOVED_DTOH = 2,
    CUPTI_MOVED_DTOD = 8,
    CUPTI_CAUSES = 6,         /* of CUpti_ActivityUnifiedMemoryMigrationCause */
    CUPTI_FORCED = 1,         /* CUPTI_ACTIVITY_FLAG_FLUSH_FORCED */
    CUPTI_WITH_COUNT = 130000 /* version from which on a record has copy_count */
};

struct cupti_copy {
    uint32_t kind; /* CUPTI_KIND_MEMCPY */
    uint8_t copy_kind, from_memory, to_memory, flags;
    uint64_t bytes, start, end; /* ns; both 0: not told */
    uint32_t device;
};

struct cupti_peer_copy {
    uint32_t kind; /* CUPTI_KIND_MEMCPY2 */
    uint8_t copy_kind, from_memory, to_memory, flags;
    uint64_t bytes, start, end;
    uint32_t device, context, stream;
    uint32_t from_device, from_context, to_device, to_context;
};

/* Only in CUDA 13. */
struct cupti_copy_6 {
    struct cupti_copy first;
    uint32_t rest[12];
    uint64_t copy_count; /* 1, but of cudaMemcpyBatchAsync */
};

struct cupti_migration {
    uint32_t kind, counter; /* CUPTI_KIND_MIGRATION, CUPTI_MOVED_* */
    uint64_t bytes, start, end, address;
    uint32_t from_device, to_device; /* of an end that is the host: nothing */
    uint32_t stream, pid, cause, pad;
};

struct cupti_counter {
    uint32_t scope, counter, device, on;
};

_Static_assert(offsetof(struct cupti_copy, bytes) == 8, "as CUPTI has it");
_Static_assert(offsetof(struct cupti_copy, device) == 32, "as CUPTI has it");
_Static_assert(offsetof(struct cupti_peer_copy, from_device) == 44, "as CUPTI has it");
_Static_assert(offsetof(struct cupti_peer_copy, to_device) == 52, "as CUPTI has it");
_Static_assert(offsetof(struct cupti_copy_6, copy_count) == 88, "as CUPTI has it");
_Static_assert(sizeof(struct cupti_migration) == 64, "as CUPTI has it");

typedef void cupti_requested(uint8_t **buffer, size_t *size, size_t *max_records);
typedef void cupti_completed(void *context, uint32_t stream, uint8_t *buffer, size_t size,
                             size_t valid);
typedef void cupti_callback(void *user, int domain, uint32_t id, const void *data);

struct inject_cupti {
    int (*get_version)(uint32_t *version);
    int (*get_result_string)(int result, const char **text);
    int (*subscribe)(void **subscriber, cupti_callback *callback, void *user);
    int (*unsubscribe)(void *subscriber);
    int (*register_callbacks)(cupti_requested *requested, cupti_completed *completed);
    int (*configure)(struct cupti_counter *counters, uint32_t n);
    int (*enable)(int kind);
    int (*disable)(int kind);
    int (*flush_all)(uint32_t flag);
    int (*get_next_record)(uint8_t *buffer, size_t valid, void **record);
    int (*get_dropped)(void *context, uint32_t stream, size_t *dropped);
};

/*
 * CONTEND_LIBCUPTI, else one that the program has loaded, else of the loader's own places, beside
 * the CUDA runtime that the program has loaded (as PyTorch's packages put it) or of a toolkit; none
 * that is newer than the driver. It stays loaded. False: none.
 */
bool inject_cupti_load(struct inject_cupti *cupti);

/* The PCI address of a device, by the driver that the program has loaded; "" = unknown. */
void inject_cupti_find_pci(int device, char *pci, int size);

#endif
