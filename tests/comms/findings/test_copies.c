/* Copies: the reader of their files, what is added up, and how CUPTI lays out its records. */
#include "harness/comms/findings/copies.h"

#include <errno.h>

#include "harness/comms/plugin/inject_cupti.h"
#include "tests/lib/unit.h"

#if __has_include(<cupti_activity.h>)
#include <cupti.h>
#endif

struct file {
    struct copies_header header;
    struct copies_slot slot[COPIES_SLOTS];
};
static struct file file;

static void seal(struct copies_slot *slot, uint64_t sequence)
{
    slot->sequence = sequence;
    slot->checksum = copies_checksum(slot);
}

/* Two copies of 300 bytes to GPU 1 in slot 0, one of 100 in the one before. */
static void begin(void)
{
    file = (struct file){.header = copies_header_begin()};
    file.header.pid = 7;
    file.header.host[0] = 'a';
    for (uint64_t i = 0; i < COPIES_SLOTS; i++) {
        struct copies_slot *slot = &file.slot[i];
        slot->nentries = 2;
        slot->entry[0] = (struct copies_entry){.from = -2, .to = -2, .used = 1};
        slot->entry[1] = (struct copies_entry){.kind = COPIES_HTOD,
                                               .from_memory = COPIES_PINNED,
                                               .to_memory = COPIES_DEVICE,
                                               .bucket = 9,
                                               .from = COPIES_HOST,
                                               .to = 1,
                                               .used = 1,
                                               .calls = 2 - i,
                                               .bytes = i ? 100 : 300,
                                               .timed_calls = 1,
                                               .timed_bytes = 50,
                                               .timed_ns = 25};
        (void)strcpy(slot->pci[1], "00000000:3B:00.0");
        seal(slot, 10 - i);
    }
}

/* Bytes of the one row; -1 = refused, with `said` in the message; 0: there is none. */
static long long parse(size_t size, const char *said)
{
    struct copies copies = {.log = calloc(1, sizeof(struct copies_log)), .nlogs = 1};
    struct err err = {0};
    long long bytes = 0;
    int rc = copies_log_parse("x.comms.copies", &file, size, &copies.log[0], &err);
    if (rc) {
        assert_int_equal(rc, -EINVAL);
        assert_non_null(strstr(err.msg, said));
        copies.nlogs = 0;
        bytes = -1;
    } else
        assert_int_equal(copies_add_up(&copies, &err), 0);
    if (copies.n) {
        assert_int_equal(copies.n, 1);
        bytes = (long long)copies.row[0].bytes;
        assert_string_equal(copies.row[0].from, "host");
        assert_string_equal(copies.row[0].to, "0000:3b:00.0");
        assert_int_equal(copies_row_memory(&copies.row[0]), COPIES_PINNED);
        assert_true(copies_row_speed(&copies.row[0]) == 2e9);
    }
    copies_free(&copies);
    return bytes;
}

TEST(copies_takes_the_latest_whole_sums)
{
    begin();
    assert_int_equal(parse(sizeof(file), ""), 300);
    file.slot[0].entry[1].bytes++; /* half-written when the process was killed */
    assert_int_equal(parse(sizeof(file), ""), 100);
    file.slot[1].entry[1].bytes++;
    assert_int_equal(parse(sizeof(file), "no sums that are whole"), -1);
    file.slot[0].sequence = 0;
    file.slot[1].sequence = 0;
    assert_int_equal(parse(sizeof(file), ""), 0);
}

static void refused(struct copies_slot *slot, const char *said)
{
    seal(slot, 99);
    assert_int_equal(parse(sizeof(file), said), -1);
    begin();
}

TEST(copies_refuses_what_cannot_be)
{
    struct copies_slot *slot = &file.slot[0];
    begin();
    assert_int_equal(parse(sizeof(file) - 1, "cut"), -1);
    assert_int_equal(parse(3, "cut"), -1);
    file.header.version++;
    assert_int_equal(parse(sizeof(file), "byte 8: copies of version 3"), -1);
    begin();
    memset(file.header.host, 'x', sizeof(file.header.host));
    assert_int_equal(parse(sizeof(file), "without an end"), -1);
    begin();
    slot->entry[1].kind = COPIES_KINDS;
    refused(slot, "unknown kind");
    slot->entry[1].to = COPIES_DEVICES;
    refused(slot, "from device -1 to 64");
    slot->entry[1].bucket = 65;
    refused(slot, "size");
    slot->entry[1].timed_calls = 3;
    refused(slot, "more copies");
    slot->entry[1].bytes = 1ull << 61;
    refused(slot, "more copies");
    memset(slot->pci[3], 'x', sizeof(slot->pci[3]));
    refused(slot, "a GPU without");
    slot->finished = COPIES_ENDED_TAKEN + 1;
    refused(slot, "corrupted");
    slot->nentries = COPIES_ENTRIES + 1;
    seal(slot, 99);
    assert_int_equal(parse(sizeof(file), ""), 100);
}

TEST(copies_of_processes_are_added)
{
    struct copies copies = {.log = calloc(2, sizeof(struct copies_log))};
    struct err err = {0};
    begin();
    for (; copies.nlogs < 2; copies.nlogs++)
        assert_int_equal(
            copies_log_parse("x", &file, sizeof(file), &copies.log[copies.nlogs], &err), 0);
    assert_int_equal(copies_add_up(&copies, &err), 0);
    assert_int_equal(copies.n, 1);
    assert_int_equal(copies.row[0].bytes, 600);
    assert_int_equal(copies.row[0].sizes[9], 4);
    copies.log[1].slot->entry[1].bytes = INT64_MAX;
    copies.n = 0;
    assert_int_equal(copies_add_up(&copies, &err), -EOVERFLOW);
    copies_free(&copies);
}

/* ---- where CUPTI's headers are: at compile time ---- */

#if __has_include(<cupti_activity.h>)
#define SAME(ours, field, theirs, named)                                                           \
    _Static_assert(offsetof(struct ours, field) == offsetof(theirs, named) &&                      \
                       sizeof(((struct ours *)NULL)->field) == sizeof(((theirs *)NULL)->named),    \
                   "as CUPTI has it")
#define SAME_FIRST(ours, theirs)                                                                   \
    SAME(ours, kind, theirs, kind);                                                                \
    SAME(ours, copy_kind, theirs, copyKind);                                                       \
    SAME(ours, from_memory, theirs, srcKind);                                                      \
    SAME(ours, to_memory, theirs, dstKind);                                                        \
    SAME(ours, bytes, theirs, bytes);                                                              \
    SAME(ours, start, theirs, start);                                                              \
    SAME(ours, end, theirs, end);                                                                  \
    SAME(ours, device, theirs, deviceId)
#define SAME_PEER(theirs)                                                                          \
    SAME_FIRST(cupti_peer_copy, theirs);                                                           \
    SAME(cupti_peer_copy, from_device, theirs, srcDeviceId);                                       \
    SAME(cupti_peer_copy, to_device, theirs, dstDeviceId)
#define SAME_MIGRATION(theirs)                                                                     \
    SAME(cupti_migration, counter, theirs, counterKind);                                           \
    SAME(cupti_migration, bytes, theirs, value);                                                   \
    SAME(cupti_migration, start, theirs, start);                                                   \
    SAME(cupti_migration, end, theirs, end);                                                       \
    SAME(cupti_migration, from_device, theirs, srcId);                                             \
    SAME(cupti_migration, to_device, theirs, dstId);                                               \
    SAME(cupti_migration, cause, theirs, flags);                                                   \
    _Static_assert(sizeof(theirs) >= sizeof(struct cupti_migration), "as CUPTI has it")
#define EQUAL(ours, theirs) _Static_assert((int)(ours) == (int)(theirs), "as CUPTI has it")

SAME_FIRST(cupti_copy, CUpti_ActivityMemcpy);
SAME_PEER(CUpti_ActivityMemcpyPtoP);
#if CUPTI_API_VERSION >= 130000
SAME_FIRST(cupti_copy, CUpti_ActivityMemcpy3);
SAME_FIRST(cupti_copy, CUpti_ActivityMemcpy4);
SAME_FIRST(cupti_copy, CUpti_ActivityMemcpy5);
SAME_FIRST(cupti_copy, CUpti_ActivityMemcpy6);
_Static_assert(offsetof(struct cupti_copy_6, copy_count) ==
                   offsetof(CUpti_ActivityMemcpy6, copyCount),
               "as CUPTI has it");
SAME_PEER(CUpti_ActivityMemcpyPtoP2);
SAME_PEER(CUpti_ActivityMemcpyPtoP3);
SAME_PEER(CUpti_ActivityMemcpyPtoP4);
SAME_MIGRATION(CUpti_ActivityUnifiedMemoryCounter3);
#endif
SAME_MIGRATION(CUpti_ActivityUnifiedMemoryCounter2);
SAME(cupti_counter, scope, CUpti_ActivityUnifiedMemoryCounterConfig, scope);
SAME(cupti_counter, counter, CUpti_ActivityUnifiedMemoryCounterConfig, kind);
SAME(cupti_counter, device, CUpti_ActivityUnifiedMemoryCounterConfig, deviceId);
SAME(cupti_counter, on, CUpti_ActivityUnifiedMemoryCounterConfig, enable);
EQUAL(CUPTI_KIND_MEMCPY, CUPTI_ACTIVITY_KIND_MEMCPY);
EQUAL(CUPTI_KIND_MEMCPY2, CUPTI_ACTIVITY_KIND_MEMCPY2);
EQUAL(CUPTI_KIND_MIGRATION, CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER);
EQUAL(CUPTI_NOT_READY, CUPTI_ERROR_NOT_READY);
EQUAL(CUPTI_BY_PROCESS, CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_SCOPE_PROCESS_ALL_DEVICES);
EQUAL(CUPTI_MOVED_HTOD, CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_BYTES_TRANSFER_HTOD);
EQUAL(CUPTI_MOVED_DTOH, CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_BYTES_TRANSFER_DTOH);
EQUAL(CUPTI_MOVED_DTOD, CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_BYTES_TRANSFER_DTOD);
EQUAL(COPIES_MIGRATED, COPIES_PTOP + 1);
EQUAL(COPIES_MIGRATED_USER - COPIES_MIGRATED, CUPTI_ACTIVITY_UNIFIED_MEMORY_MIGRATION_CAUSE_USER);
EQUAL(COPIES_MIGRATED_EVICTION - COPIES_MIGRATED,
      CUPTI_ACTIVITY_UNIFIED_MEMORY_MIGRATION_CAUSE_EVICTION);
EQUAL(CUPTI_FORCED, CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
EQUAL(CUPTI_NO_MORE, CUPTI_ERROR_MAX_LIMIT_REACHED);
EQUAL(CUPTI_OTHER_SUBSCRIBER, CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED);
EQUAL(COPIES_HTOD, CUPTI_ACTIVITY_MEMCPY_KIND_HTOD);
EQUAL(COPIES_DTOH, CUPTI_ACTIVITY_MEMCPY_KIND_DTOH);
EQUAL(COPIES_HTOA, CUPTI_ACTIVITY_MEMCPY_KIND_HTOA);
EQUAL(COPIES_ATOH, CUPTI_ACTIVITY_MEMCPY_KIND_ATOH);
EQUAL(COPIES_HTOH, CUPTI_ACTIVITY_MEMCPY_KIND_HTOH);
EQUAL(COPIES_PTOP, CUPTI_ACTIVITY_MEMCPY_KIND_PTOP);
EQUAL(COPIES_PAGEABLE, CUPTI_ACTIVITY_MEMORY_KIND_PAGEABLE);
EQUAL(COPIES_PINNED, CUPTI_ACTIVITY_MEMORY_KIND_PINNED);
EQUAL(COPIES_MANAGED_STATIC, CUPTI_ACTIVITY_MEMORY_KIND_MANAGED_STATIC);
#endif
