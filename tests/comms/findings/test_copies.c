/* Copies: the reader of their files, what is added up, and how CUPTI lays out its records. */
#include "harness/comms/findings/copies.h"

#include <errno.h>

#include "harness/comms/plugin/inject_cupti.h"
#include "tests/lib/unit.h"

#if __has_include(<cupti_activity.h>)
#include <cupti.h>
#endif

static struct copies_file file;

/* Two copies of 300 bytes to GPU 1. */
static void begin(void)
{
    file = (struct copies_file){.header = comms_header_begin(COPIES_MAGIC, sizeof(file))};
    file.header.pid = 7;
    file.header.host[0] = 'a';
    file.sums.entry[0] = (struct copies_entry){.from = -2, .to = -2, .used = 1};
    file.sums.entry[1] = (struct copies_entry){.kind = COPIES_HTOD,
                                               .from_memory = COPIES_PINNED,
                                               .to_memory = COPIES_DEVICE,
                                               .bucket = 9,
                                               .from = COPIES_HOST,
                                               .to = 1,
                                               .used = 1,
                                               .calls = 2,
                                               .bytes = 300,
                                               .timed_calls = 1,
                                               .timed_bytes = 50,
                                               .timed_ns = 25};
    (void)strcpy(file.sums.pci[1], "00000000:3B:00.0");
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

TEST(copies_takes_what_is_used)
{
    begin();
    assert_int_equal(parse(sizeof(file), ""), 300);
    file.sums.entry[1].used = 0; /* begun when the process was killed */
    file.sums.entry[1].calls = 0;
    assert_int_equal(parse(sizeof(file), ""), 0);
}

static void refused(const char *said)
{
    assert_int_equal(parse(sizeof(file), said), -1);
    begin();
}

TEST(copies_refuses_what_cannot_be)
{
    struct copies_sums *sums = &file.sums;
    begin();
    assert_int_equal(parse(sizeof(file) - 1, "cut"), -1);
    assert_int_equal(parse(3, "cut"), -1);
    file.header.version++;
    refused("byte 8: copies of version 4");
    memset(file.header.host, 'x', sizeof(file.header.host));
    refused("without an end");
    sums->entry[1].kind = COPIES_KINDS;
    refused("unknown kind");
    sums->entry[1].used = 2;
    refused("unknown kind");
    sums->entry[0].used = 0;
    refused("unknown kind");
    sums->entry[1].to = COPIES_DEVICES;
    refused("from device -1 to 64");
    sums->entry[1].bucket = 65;
    refused("size");
    sums->entry[1].timed_calls = 3;
    refused("more copies");
    sums->entry[1].bytes = 1ull << 61;
    refused("more copies");
    memset(sums->pci[3], 'x', sizeof(sums->pci[3]));
    refused("a GPU without");
    sums->finished = COPIES_ENDED_TAKEN + 1;
    refused("corrupted");
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
    copies.log[1].sums->entry[1].bytes = INT64_MAX;
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
