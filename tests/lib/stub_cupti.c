/*
 * In place of libcupti: what the library that counts copies calls of it. stub_copies.c says what
 * was copied; records go into the buffers that the library gives, in the layout of the version that
 * STUB_CUPTI_VERSION tells (CUDA 12 or 13), and come back when a buffer is full or asked for.
 * STUB_CUPTI_FAIL=subscriber|register|enable|migrations: that call fails; not-ready: migrations for
 * ever, where else they are so for the first two times. STUB_CUPTI_LATE=1: a record more
 * comes behind all that the program has for its end. STUB_CUPTI_SLOW=1: it takes its time to tell
 * what was dropped. STUB_CUPTI_HOLDS=1: full buffers come back only where they are asked for.
 * Before CUDA 12.9 (version 27) it crashes where it is given no buffer. STUB_CUPTI_HANGS=1: at the
 * end it does not answer.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "tests/lib/stub_cupti.h"

enum {
    MEMCPY = 1,
    MEMCPY2 = 22,
    MIGRATION = 25,
    KINDS = 32,
    NOT_READY = 13,
    OTHER = 39,
    NO_MORE = 12,
    INVALID = 1,
    HELD = 256
};

/* As CUPTI of CUDA 13 has them; that of 12 ends before `pad2` and `count`. */
struct copy {
    uint32_t kind;
    uint8_t copy_kind, from_memory, to_memory, flags;
    uint64_t bytes, start, end;
    uint32_t device, context, stream, correlation, runtime_correlation, pad;
    void *reserved;
    uint64_t node;
    uint32_t graph, channel, channel_type;
    uint32_t pad2;
    uint64_t count;
};
struct peer_copy {
    uint32_t kind;
    uint8_t copy_kind, from_memory, to_memory, flags;
    uint64_t bytes, start, end;
    uint32_t device, context, stream, from_device, from_context, to_device, to_context, correlation;
    void *reserved;
    uint64_t node;
    uint32_t graph, channel, channel_type;
};

/* Of CUDA 12 without `processors`. */
struct migration {
    uint32_t kind, counter;
    uint64_t value, start, end, address;
    uint32_t from, to, stream, pid, flags, pad;
    uint64_t processors[5];
};
struct counter {
    uint32_t scope, kind, device, enable;
};

typedef void requested(uint8_t **, size_t *, size_t *);
typedef void completed(void *, uint32_t, uint8_t *, size_t, size_t);

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static requested *on_request;
static completed *on_complete;
static uint8_t *buffer;
static size_t size, used, dropped;
static int enabled[KINDS], subscribed, taken;
static struct held {
    uint8_t *bytes;
    size_t size, used;
} held[HELD];
static size_t nheld;

int cuptiGetVersion(uint32_t *version);
int cuptiGetResultString(int result, const char **text);
int cuptiSubscribe(void **subscriber, void *callback, void *user);
int cuptiUnsubscribe(void *subscriber);
int cuptiActivityRegisterCallbacks(requested *give, completed *take);
int cuptiActivityConfigureUnifiedMemoryCounter(struct counter *counters, uint32_t n);
int cuptiActivityEnable(int kind);
int cuptiActivityDisable(int kind);
int cuptiActivityFlushAll(uint32_t flag);
int cuptiActivityGetNextRecord(uint8_t *bytes, size_t valid, void **record);
int cuptiActivityGetNumDroppedRecords(void *context, uint32_t stream, size_t *n);

static int fails(const char *what)
{
    const char *text = getenv("STUB_CUPTI_FAIL");
    return text && strcmp(text, what) == 0;
}

static uint32_t version_told(void)
{
    const char *text = getenv("STUB_CUPTI_VERSION");
    return text ? (uint32_t)strtoul(text, NULL, 10) : 130001;
}

static size_t size_of(uint32_t kind)
{
    if (kind == MEMCPY2)
        return sizeof(struct peer_copy);
    if (kind == MIGRATION)
        return version_told() >= 130000 ? sizeof(struct migration)
                                        : offsetof(struct migration, processors);
    return version_told() >= 130000 ? sizeof(struct copy) : offsetof(struct copy, count);
}

int cuptiGetVersion(uint32_t *version)
{
    *version = version_told();
    return 0;
}

int cuptiGetResultString(int result, const char **text)
{
    *text = result == INVALID ? "STUB_INVALID" : "STUB_OTHER";
    return 0;
}

int cuptiSubscribe(void **subscriber, void *callback, void *user)
{
    (void)user;
    if (fails("subscriber") || taken)
        return OTHER;
    subscribed++;
    *subscriber = &subscribed;
    return !callback;
}

int cuptiUnsubscribe(void *subscriber)
{
    return subscriber != &subscribed || subscribed-- != 1;
}

int cuptiActivityRegisterCallbacks(requested *give, completed *take)
{
    on_request = give;
    on_complete = take;
    return fails("register") ? INVALID : 0;
}

static unsigned configured;

int cuptiActivityConfigureUnifiedMemoryCounter(struct counter *counters, uint32_t n)
{
    configured = 0;
    for (uint32_t i = 0; i < n; i++)
        configured |= (unsigned)(counters[i].scope == 2 && counters[i].enable == 1)
                      << counters[i].kind;
    return fails("migrations") ? INVALID : 0;
}

int cuptiActivityEnable(int kind)
{
    static int early = 2;
    if (kind == MIGRATION && (fails("not-ready") || early-- > 0))
        return NOT_READY;
    if (kind == MEMCPY2 && fails("enable"))
        return INVALID;
    __atomic_store_n(&enabled[kind], 1, __ATOMIC_RELEASE);
    return 0;
}

int cuptiActivityDisable(int kind)
{
    enabled[kind] = 0;
    return 0;
}

/* Buffers are asked for under the lock, and given back without it. */
static void give_back(void)
{
    uint8_t *full = buffer;
    size_t room = size, valid = used;
    buffer = NULL;
    (void)pthread_mutex_unlock(&lock);
    if (full)
        on_complete(NULL, 0, full, room, valid);
    (void)pthread_mutex_lock(&lock);
}

static void hold(void)
{
    if (nheld == HELD)
        abort();
    held[nheld++] = (struct held){buffer, size, used};
    buffer = NULL;
}

int cuptiActivityFlushAll(uint32_t flag)
{
    while (flag && getenv("STUB_CUPTI_HANGS"))
        (void)pause();
    for (; nheld; nheld--)
        on_complete(NULL, 0, held[nheld - 1].bytes, held[nheld - 1].size, held[nheld - 1].used);
    (void)pthread_mutex_lock(&lock);
    give_back();
    (void)pthread_mutex_unlock(&lock);
    return 0;
}

int cuptiActivityGetNextRecord(uint8_t *bytes, size_t valid, void **record)
{
    uint8_t *next = bytes;
    uint32_t kind;
    if (*record) {
        memcpy(&kind, *record, sizeof(kind));
        next = (uint8_t *)*record + size_of(kind);
    }
    if (next >= bytes + valid)
        return NO_MORE;
    *record = next;
    return 0;
}

int cuptiActivityGetNumDroppedRecords(void *context, uint32_t stream, size_t *n)
{
    const struct timespec slow = {0, 20000000};
    (void)context;
    (void)stream;
    if (getenv("STUB_CUPTI_SLOW"))
        (void)nanosleep(&slow, NULL);
    (void)pthread_mutex_lock(&lock);
    *n = dropped;
    dropped = 0;
    (void)pthread_mutex_unlock(&lock);
    return 0;
}

static void put(const void *record, uint32_t kind)
{
    size_t need = size_of(kind), most;
    (void)pthread_mutex_lock(&lock);
    if (buffer && used + need > size && getenv("STUB_CUPTI_HOLDS"))
        hold();
    else if (buffer && used + need > size)
        give_back();
    if (!buffer) {
        used = 0;
        on_request(&buffer, &size, &most);
        if ((buffer && ((uintptr_t)buffer % 8 || size < need)) || (!buffer && version_told() < 27))
            abort();
    }
    if (buffer) {
        memcpy(buffer + used, record, need);
        used += need;
    } else
        dropped++;
    (void)pthread_mutex_unlock(&lock);
}

void stub_cupti_copy(const struct stub_copy *told)
{
    const struct copy copy = {.kind = MEMCPY,
                              .copy_kind = (uint8_t)told->kind,
                              .from_memory = (uint8_t)told->from_memory,
                              .to_memory = (uint8_t)told->to_memory,
                              .bytes = told->bytes,
                              .start = told->ns ? 1000 : 0,
                              .end = told->ns ? 1000 + told->ns : 0,
                              .device = (uint32_t)told->from,
                              .count = told->count};
    if (on_request && enabled[MEMCPY])
        put(&copy, MEMCPY);
}

void stub_cupti_peer_copy(const struct stub_copy *told)
{
    const struct peer_copy copy = {.kind = MEMCPY2,
                                   .copy_kind = 10,
                                   .from_memory = 3,
                                   .to_memory = 3,
                                   .bytes = told->bytes,
                                   .start = told->ns ? 1000 : 0,
                                   .end = told->ns ? 1000 + told->ns : 0,
                                   .device = (uint32_t)told->from,
                                   .from_device = (uint32_t)told->from,
                                   .to_device = (uint32_t)told->to};
    if (on_request && enabled[MEMCPY2])
        put(&copy, MEMCPY2);
}

void stub_cupti_migration(const struct stub_copy *told)
{
    const struct migration moved = {.kind = MIGRATION,
                                    .counter = told->kind,
                                    .value = told->bytes,
                                    .start = told->ns ? 1000 : 0,
                                    .end = told->ns ? 1000 + told->ns : 0,
                                    .from = (uint32_t)told->from,
                                    .to = (uint32_t)told->to,
                                    .flags = (uint32_t)told->count};
    if (on_request && enabled[MIGRATION] && configured >> told->kind & 1)
        put(&moved, MIGRATION);
}

void stub_cupti_await_migrations(void)
{
    const struct timespec pause = {0, 1000000};
    for (int i = 0; i < 60000 && !__atomic_load_n(&enabled[MIGRATION], __ATOMIC_ACQUIRE); i++)
        (void)nanosleep(&pause, NULL);
}

void stub_cupti_drop(size_t n)
{
    (void)pthread_mutex_lock(&lock);
    dropped += n;
    (void)pthread_mutex_unlock(&lock);
}

/* ---- another tool, which begins while the program runs ---- */

static void tool_gives(uint8_t **bytes, size_t *room, size_t *most)
{
    static uint64_t place[512];
    *bytes = (uint8_t *)place;
    *room = sizeof(place);
    *most = 0;
}

static void tool_takes(void *context, uint32_t stream, uint8_t *bytes, size_t room, size_t valid)
{
    (void)context;
    (void)stream;
    (void)bytes;
    (void)room;
    (void)valid;
}

void stub_cupti_take_over(void)
{
    (void)pthread_mutex_lock(&lock);
    (void)cuptiActivityRegisterCallbacks(tool_gives, tool_takes);
    taken = 1;
    (void)pthread_mutex_unlock(&lock);
}

__attribute__((destructor)) static void come_late(void)
{
    if (!getenv("STUB_CUPTI_LATE"))
        return;
    stub_cupti_copy(&(struct stub_copy){
        .kind = 1, .from_memory = 2, .to_memory = 3, .bytes = 10, .ns = 1, .count = 1});
    (void)cuptiActivityFlushAll(1);
}
