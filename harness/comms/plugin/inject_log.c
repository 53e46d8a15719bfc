#include "harness/comms/plugin/inject_log.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "harness/comms/logs/host.h"
#include "harness/comms/logs/preload.h"

/* As in the file. */
struct file {
    struct copies_header header;
    struct copies_slot slot[COPIES_SLOTS];
};
_Static_assert(sizeof(struct file) == COPIES_FILE_SIZE, "the file is the struct");

const char preload_who[] = "contend comms --copies";

static struct file *the_file;     /* NULL = off */
static struct copies_slot sums;   /* what the next slot will be */
static struct preload_file saved; /* a copy of the_file, where that is not the file itself */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* Around a fork the lock is held: CUPTI may call us in the child, too. */
static void forget_in_child(void)
{
    __atomic_store_n(&the_file, NULL, __ATOMIC_RELEASE);
    inject_log_unlock();
}

static void begin(struct file *file, const char *host, uint32_t cupti)
{
    struct copies_header *header = &file->header;
    *header = copies_header_begin();
    header->cupti = cupti;
    header->pid = getpid();
    header->start_ns = preload_now_ns(CLOCK_REALTIME);
    (void)snprintf(header->host, sizeof(header->host), "%s", host);
    comms_boot_find(header->boot);
    (void)snprintf(header->program, sizeof(header->program), "%s", program_invocation_short_name);
    sums.entry[0] =
        (struct copies_entry){.from = COPIES_ELSEWHERE, .to = COPIES_ELSEWHERE, .used = 1};
    sums.nentries = 1;
}

bool inject_log_open(uint32_t cupti)
{
    struct preload_file file;
    if (!preload_file_create(&file, COPIES_SUFFIX, COPIES_FILE_SIZE))
        return false;
    begin(file.bytes, file.host, cupti);
    static struct file copy;
    if (file.apart) {
        saved = file;
        saved.bytes = &copy;
    }
    int code = pthread_atfork(inject_log_lock, inject_log_unlock, forget_in_child);
    if (code)
        preload_file_drop(&file, code);
    if (code || !preload_file_name(&file))
        return false;
    __atomic_store_n(&the_file, (struct file *)file.bytes, __ATOMIC_RELEASE);
    return true;
}

bool inject_log_is_on(void)
{
    return __atomic_load_n(&the_file, __ATOMIC_ACQUIRE) != NULL;
}

void inject_log_lock(void)
{
    (void)pthread_mutex_lock(&lock);
}

void inject_log_unlock(void)
{
    (void)pthread_mutex_unlock(&lock);
}

struct copies_slot *inject_log_sums(void)
{
    return &sums;
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
    if (last && is_same(&sums.entry[last], key))
        return &sums.entry[last];
    for (last = 1; last < sums.nentries; last++)
        if (is_same(&sums.entry[last], key))
            return &sums.entry[last];
    if (last < COPIES_ENTRIES) {
        sums.entry[last] = *key;
        sums.nentries++;
        return &sums.entry[last];
    }
    last = 0;
    return &sums.entry[0];
}

void inject_log_add(const struct inject_copy *copy)
{
    struct copies_entry key = {
        .kind = (uint8_t)(copy->kind < COPIES_KINDS ? copy->kind : COPIES_UNKNOWN),
        .from_memory = (uint8_t)(copy->from_memory < COPIES_MEMORIES ? copy->from_memory : 0),
        .to_memory = (uint8_t)(copy->to_memory < COPIES_MEMORIES ? copy->to_memory : 0),
        .bucket = (uint8_t)comms_bucket(copy->calls ? copy->bytes / copy->calls : 0),
        .from = copy->from < COPIES_DEVICES ? copy->from : COPIES_ELSEWHERE,
        .to = copy->to < COPIES_DEVICES ? copy->to : COPIES_ELSEWHERE,
        .used = 1};
    struct copies_entry *entry = find(&key);
    entry->calls += copy->calls;
    entry->bytes += copy->bytes;
    entry->timed_calls += copy->ns ? copy->calls : 0;
    entry->timed_bytes += copy->ns ? copy->bytes : 0;
    entry->timed_ns += copy->ns;
}

void inject_log_publish(enum copies_end end)
{
    struct file *file = __atomic_load_n(&the_file, __ATOMIC_ACQUIRE);
    if (!file)
        return;
    sums.sequence++;
    sums.time_ns = preload_now_ns(CLOCK_REALTIME);
    if (sums.finished < end)
        sums.finished = end; /* CUPTI may still hand over a buffer behind the end */
    sums.checksum = copies_checksum(&sums);
    memcpy(&file->slot[sums.sequence % COPIES_SLOTS], &sums, copies_slot_size(&sums));
}

/* CUPTI waits for the lock, and must not wait for a disk. */
void inject_log_save(void)
{
    static pthread_mutex_t one = PTHREAD_MUTEX_INITIALIZER;
    static uint64_t kept; /* the sequence of what is in the file */
    const struct file *file = __atomic_load_n(&the_file, __ATOMIC_ACQUIRE);
    if (!file || !saved.bytes)
        return;
    (void)pthread_mutex_lock(&one);
    inject_log_lock();
    const uint64_t sequence = sums.sequence;
    const bool changed = sequence != kept;
    if (changed)
        memcpy(saved.bytes, file, sizeof(*file));
    inject_log_unlock();
    if (changed && !preload_file_save(&saved))
        kept = sequence;
    (void)pthread_mutex_unlock(&one);
}
