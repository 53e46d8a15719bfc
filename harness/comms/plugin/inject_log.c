#include "harness/comms/plugin/inject_log.h"

#include <pthread.h>

#include "harness/comms/logs/preload.h"

const char preload_who[] = "contend comms --copies";

static struct preload_file file;
static struct copies_sums nowhere, *sums = &nowhere; /* in the file, where there is one */
static uint64_t changes;                             /* that were published */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* Around a fork the lock is held: CUPTI may call us in the child, too. */
static void forget_in_child(void)
{
    __atomic_store_n(&sums, &nowhere, __ATOMIC_RELEASE);
    inject_log_unlock();
}

bool inject_log_open(uint32_t cupti)
{
    if (!preload_file_create(&file, COPIES_SUFFIX, sizeof(struct copies_file)))
        return false;
    struct copies_file *ours = file.bytes;
    ours->header = preload_header(&file, COPIES_MAGIC, cupti);
    ours->sums.entry[0] =
        (struct copies_entry){.from = COPIES_ELSEWHERE, .to = COPIES_ELSEWHERE, .used = 1};
    int code = pthread_atfork(inject_log_lock, inject_log_unlock, forget_in_child);
    if (code)
        preload_file_drop(&file, code);
    if (code || !preload_file_name(&file))
        return false;
    __atomic_store_n(&sums, &ours->sums, __ATOMIC_RELEASE);
    return true;
}

bool inject_log_is_on(void)
{
    return __atomic_load_n(&sums, __ATOMIC_ACQUIRE) != &nowhere;
}

void inject_log_lock(void)
{
    (void)pthread_mutex_lock(&lock);
}

void inject_log_unlock(void)
{
    (void)pthread_mutex_unlock(&lock);
}

struct copies_sums *inject_log_sums(void)
{
    return sums;
}

static bool is_same(const struct copies_entry *a, const struct copies_entry *b)
{
    return a->kind == b->kind && a->from_memory == b->from_memory && a->to_memory == b->to_memory &&
           a->bucket == b->bucket && a->from == b->from && a->to == b->to;
}

/* A program copies between few places: the table is short, and the last entry mostly the one. */
static struct copies_entry *find(const struct copies_entry *key)
{
    static uint32_t last;
    if (last && is_same(&sums->entry[last], key))
        return &sums->entry[last];
    for (last = 1; last < COPIES_ENTRIES && sums->entry[last].used; last++)
        if (is_same(&sums->entry[last], key))
            return &sums->entry[last];
    if (last == COPIES_ENTRIES)
        last = 0;
    else {
        sums->entry[last] = *key;
        __atomic_store_n(&sums->entry[last].used, 1, __ATOMIC_RELEASE);
    }
    return &sums->entry[last];
}

/* Who copies the file meanwhile finds no sum before one that was added before it. */
static void add(uint64_t *sum, uint64_t more)
{
    (void)__atomic_fetch_add(sum, more, __ATOMIC_RELEASE);
}

void inject_log_add(const struct inject_copy *copy)
{
    struct copies_entry key = {
        .kind = (uint8_t)(copy->kind < COPIES_KINDS ? copy->kind : COPIES_UNKNOWN),
        .from_memory = (uint8_t)(copy->from_memory < COPIES_MEMORIES ? copy->from_memory : 0),
        .to_memory = (uint8_t)(copy->to_memory < COPIES_MEMORIES ? copy->to_memory : 0),
        .bucket = (uint8_t)comms_bucket(copy->calls ? copy->bytes / copy->calls : 0),
        .from = copy->from < COPIES_DEVICES ? copy->from : COPIES_ELSEWHERE,
        .to = copy->to < COPIES_DEVICES ? copy->to : COPIES_ELSEWHERE};
    struct copies_entry *entry = find(&key);
    add(&entry->calls, copy->calls);
    add(&entry->bytes, copy->bytes);
    add(&entry->timed_calls, copy->ns ? copy->calls : 0);
    add(&entry->timed_bytes, copy->ns ? copy->bytes : 0);
    add(&entry->timed_ns, copy->ns);
}

void inject_log_publish(enum copies_end end)
{
    if (sums->finished < end)
        sums->finished = end; /* CUPTI may still hand over a buffer behind the end */
    __atomic_add_fetch(&changes, 1, __ATOMIC_RELEASE);
}

/* Without the lock: CUPTI waits for it, and must not wait for a disk. */
void inject_log_save(void)
{
    static pthread_mutex_t one = PTHREAD_MUTEX_INITIALIZER;
    static uint64_t kept; /* how many changes the file has */
    if (!inject_log_is_on() || !file.apart)
        return;
    (void)pthread_mutex_lock(&one);
    const uint64_t now = __atomic_load_n(&changes, __ATOMIC_ACQUIRE);
    if (now != kept && !preload_file_save(&file))
        kept = now;
    (void)pthread_mutex_unlock(&one);
}
