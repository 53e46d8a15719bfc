/*
 * libcontend_copies.so: what the CUDA driver itself loads when it begins (CUDA_INJECTION64_PATH;
 * CUPTI's manual and its samples of injections), with CUDA's runtime linked in any way. CUPTI's
 * activity records tell each copy behind its end. Nothing here waits for the GPU, and whatever is
 * wrong, the program goes on without us.
 *
 * A thread of ours asks for finished records once a second, so that a process that is killed has
 * left what it did until then. What CUPTI's callbacks are handed they add up at once: memory is
 * bounded by the buffers that CUPTI holds.
 */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "harness/comms/logs/copies_record.h"
#include "harness/comms/logs/preload.h"
#include "harness/comms/plugin/inject_cupti.h"

enum { BUFFER = 1 << 20, KEPT = 4, ALIGNMENT = 8, END_WAITS_S = 5 };
/* CUPTI before CUDA 12.9 may crash where it is given none: github.com/pytorch/kineto, issue 1275.
 */
enum { BUFFERS_MOST = 64, BUFFERS_MOST_BEFORE = 1024, CUPTI_TAKES_NONE = 27 /* its version */ };

static struct inject_cupti cupti;
static uint32_t version;                               /* of CUPTI */
static uint8_t *kept[KEPT], *out[BUFFERS_MOST_BEFORE]; /* buffers at hand, and at CUPTI */
static size_t nkept, nout;
/* Only the thread asks CUPTI for records, and who ends waits for it no longer than END_WAITS_S. */
static struct preload_thread ours = {.lock = PTHREAD_MUTEX_INITIALIZER};
static bool is_over; /* the thread has looked for the last time */

const char preload_who[] = "contend comms --copies";

/* ---- the log ---- */

static struct preload_file file;
static struct copies_sums nowhere, *sums = &nowhere; /* in the file, where there is one */
static uint64_t changes;                             /* that were published */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void lock_sums(void)
{
    (void)pthread_mutex_lock(&lock);
}

static void unlock_sums(void)
{
    (void)pthread_mutex_unlock(&lock);
}

/* Around a fork the lock is held: CUPTI may call us in the child, too, which has no log. */
static void forget_in_child(void)
{
    __atomic_store_n(&sums, &nowhere, __ATOMIC_RELEASE);
    unlock_sums();
}

/* In CONTEND_COMMS_DIR, once. False: after a line that says why it is off. */
static bool open_log(void)
{
    if (!preload_file_create(&file, COPIES_SUFFIX, sizeof(struct copies_file)))
        return false;
    struct copies_file *log = file.bytes;
    log->header = preload_header(&file, COPIES_MAGIC, version);
    log->sums.entry[0] =
        (struct copies_entry){.from = COPIES_ELSEWHERE, .to = COPIES_ELSEWHERE, .used = 1};
    int code = pthread_atfork(lock_sums, unlock_sums, forget_in_child);
    if (code)
        preload_file_drop(&file, code);
    if (code || !preload_file_name(&file))
        return false;
    __atomic_store_n(&sums, &log->sums, __ATOMIC_RELEASE);
    return true;
}

static bool is_on(void)
{
    return __atomic_load_n(&sums, __ATOMIC_ACQUIRE) != &nowhere;
}

struct copy {
    uint32_t kind, from_memory, to_memory; /* as CUPTI tells them */
    int32_t from, to;                      /* as in struct copies_entry */
    uint64_t calls, bytes;
    uint64_t ns; /* 0 = not told */
};

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
static void add_to(uint64_t *sum, uint64_t more)
{
    (void)__atomic_fetch_add(sum, more, __ATOMIC_RELEASE);
}

static void add(const struct copy *copy)
{
    struct copies_entry key = {
        .kind = (uint8_t)(copy->kind < COPIES_KINDS ? copy->kind : COPIES_UNKNOWN),
        .from_memory = (uint8_t)(copy->from_memory < COPIES_MEMORIES ? copy->from_memory : 0),
        .to_memory = (uint8_t)(copy->to_memory < COPIES_MEMORIES ? copy->to_memory : 0),
        .bucket = (uint8_t)comms_bucket(copy->calls ? copy->bytes / copy->calls : 0),
        .from = copy->from < COPIES_DEVICES ? copy->from : COPIES_ELSEWHERE,
        .to = copy->to < COPIES_DEVICES ? copy->to : COPIES_ELSEWHERE};
    lock_sums();
    struct copies_entry *entry = find(&key);
    add_to(&entry->calls, copy->calls);
    add_to(&entry->bytes, copy->bytes);
    add_to(&entry->timed_calls, copy->ns ? copy->calls : 0);
    add_to(&entry->timed_bytes, copy->ns ? copy->bytes : 0);
    add_to(&entry->timed_ns, copy->ns);
    unlock_sums();
}

/* Without the lock: CUPTI waits for it, and must not wait for a disk. */
static void save(void)
{
    static pthread_mutex_t one = PTHREAD_MUTEX_INITIALIZER;
    static uint64_t saved; /* how many changes the file has */
    if (!is_on() || !file.apart)
        return;
    (void)pthread_mutex_lock(&one);
    const uint64_t now = __atomic_load_n(&changes, __ATOMIC_ACQUIRE);
    if (now != saved && !preload_file_save(&file))
        saved = now;
    (void)pthread_mutex_unlock(&one);
}

/* ---- what CUPTI calls ---- */

/* NULL: CUPTI drops what it has no place for, and counts it. */
static void give_buffer(uint8_t **buffer, size_t *size, size_t *max_records)
{
    void *made = NULL;
    const size_t most = version >= CUPTI_TAKES_NONE ? BUFFERS_MOST : BUFFERS_MOST_BEFORE;
    lock_sums();
    if (nkept && nout < most)
        made = kept[--nkept];
    else if (nout < most && posix_memalign(&made, ALIGNMENT, BUFFER))
        made = NULL;
    if (made)
        out[nout++] = made;
    unlock_sums();
    *buffer = made;
    *size = made ? BUFFER : 0;
    *max_records = 0;
}

static uint64_t duration(uint64_t start, uint64_t end)
{
    return end > start ? end - start : 0;
}

static int32_t device_of(uint32_t told)
{
    return told < COPIES_DEVICES ? (int32_t)told : COPIES_ELSEWHERE;
}

/* Which end of a copy that stays with one device is the host's. */
static void find_ends(struct copy *copy, uint32_t device)
{
    bool known = copy->kind != COPIES_UNKNOWN && copy->kind <= COPIES_HTOH;
    copy->from = known ? device_of(device) : COPIES_ELSEWHERE;
    copy->to = copy->from;
    if (copy->kind == COPIES_HTOD || copy->kind == COPIES_HTOA || copy->kind == COPIES_HTOH)
        copy->from = COPIES_HOST;
    if (copy->kind == COPIES_DTOH || copy->kind == COPIES_ATOH || copy->kind == COPIES_HTOH)
        copy->to = COPIES_HOST;
}

static void add_copy(const void *record)
{
    struct cupti_copy_6 copy = {.copy_count = 1};
    memcpy(&copy, record, version >= CUPTI_WITH_COUNT ? sizeof(copy) : sizeof(copy.first));
    const struct cupti_copy *first = &copy.first;
    struct copy counted = {.kind = first->copy_kind,
                           .from_memory = first->from_memory,
                           .to_memory = first->to_memory,
                           .calls = copy.copy_count ? copy.copy_count : 1,
                           .bytes = first->bytes,
                           .ns = duration(first->start, first->end)};
    find_ends(&counted, first->device);
    add(&counted);
}

static void add_peer_copy(const void *record)
{
    struct cupti_peer_copy copy;
    memcpy(&copy, record, sizeof(copy));
    add(&(struct copy){.kind = copy.copy_kind,
                       .from_memory = copy.from_memory,
                       .to_memory = copy.to_memory,
                       .from = device_of(copy.from_device),
                       .to = device_of(copy.to_device),
                       .calls = 1,
                       .bytes = copy.bytes,
                       .ns = duration(copy.start, copy.end)});
}

static void add_migration(const void *record)
{
    struct cupti_migration moved;
    memcpy(&moved, record, sizeof(moved));
    add(&(struct copy){
        .kind = COPIES_MIGRATED + (moved.cause < CUPTI_CAUSES ? moved.cause : 0),
        .from_memory = COPIES_MANAGED,
        .to_memory = COPIES_MANAGED,
        .from = moved.counter == CUPTI_MOVED_HTOD ? COPIES_HOST : device_of(moved.from_device),
        .to = moved.counter == CUPTI_MOVED_DTOH ? COPIES_HOST : device_of(moved.to_device),
        .calls = 1,
        .bytes = moved.bytes,
        .ns = duration(moved.start, moved.end)});
}

static void count_unread(bool unknown, bool broken)
{
    lock_sums();
    sums->unknown += unknown;
    sums->broken += broken;
    unlock_sums();
}

static void add_records(uint8_t *buffer, size_t valid)
{
    void *record = NULL;
    int result;
    while ((result = cupti.get_next_record(buffer, valid, &record)) == CUPTI_GOOD && record) {
        uint32_t kind;
        memcpy(&kind, record, sizeof(kind));
        if (kind == CUPTI_KIND_MEMCPY)
            add_copy(record);
        else if (kind == CUPTI_KIND_MEMCPY2)
            add_peer_copy(record);
        else if (kind == CUPTI_KIND_MIGRATION)
            add_migration(record);
        else
            count_unread(true, false);
    }
    if (result != CUPTI_NO_MORE)
        count_unread(false, true);
}

/* False: it is not ours, but of a tool that was there before. */
static bool take_back(const uint8_t *buffer)
{
    bool found = false;
    lock_sums();
    for (size_t i = 0; i < nout && !found; i++) {
        found = out[i] == buffer;
        if (found)
            out[i] = out[--nout];
    }
    unlock_sums();
    return found;
}

static size_t count_dropped(void *context, uint32_t stream)
{
    size_t dropped = 0;
    return cupti.get_dropped(context, stream, &dropped) == CUPTI_GOOD ? dropped : 0;
}

static void publish(size_t dropped, enum copies_end end)
{
    lock_sums();
    sums->dropped += dropped;
    sums->buffers = nout;
    if (sums->finished < end)
        sums->finished = end; /* CUPTI may still hand over a buffer behind the end */
    __atomic_add_fetch(&changes, 1, __ATOMIC_RELEASE);
    unlock_sums();
    if (__atomic_load_n(&is_over, __ATOMIC_ACQUIRE)) /* CUPTI hands over a buffer late */
        save();
}

/* The lock is never held while CUPTI is asked, which may hold one of its own when it asks us. */
static void take_buffer(void *context, uint32_t stream, uint8_t *buffer, size_t size, size_t valid)
{
    (void)size;
    if (!take_back(buffer))
        return;
    if (is_on() && valid)
        add_records(buffer, valid);
    publish(count_dropped(context, stream), COPIES_GOES_ON);
    lock_sums();
    if (nkept < KEPT) {
        kept[nkept++] = buffer;
        buffer = NULL;
    }
    unlock_sums();
    free(buffer);
}

/* ---- what we do by ourselves ---- */

/* Once, when the driver has begun: of devices that are never used it tells addresses as well. */
static void find_devices(void)
{
    static size_t known;
    char pci[COPIES_DEVICES][COMMS_GPU_MAX] = {{0}};
    if (known)
        return;
    for (; known < COPIES_DEVICES; known++) {
        inject_cupti_find_pci((int)known, pci[known], COMMS_GPU_MAX);
        if (!pci[known][0])
            break;
    }
    lock_sums();
    memcpy(sums->pci, pci, sizeof(pci));
    unlock_sums();
}

/* The time between two looks: CONTEND_COPIES_PERIOD_MS, for tests. */
static long period_ms(void)
{
    enum { PERIOD_MS = 1000 };
    const char *text = getenv("CONTEND_COPIES_PERIOD_MS");
    long ms = text && *text ? strtol(text, NULL, 10) : PERIOD_MS;
    return ms > 0 && ms < 1000000 ? ms : PERIOD_MS;
}

static void never_called(void *user, int domain, uint32_t id, const void *data)
{
    (void)user;
    (void)domain;
    (void)id;
    (void)data;
}

/* CUPTI has one subscriber, and it may be another tool: the place is not kept, just looked at, as
 * the program's own profiler may want it later. It keeps it to the end (seen of PyTorch 2.11's). */
static int subscribe(void)
{
    void *subscriber = NULL;
    int result = cupti.subscribe(&subscriber, never_called, NULL);
    if (!result)
        (void)cupti.unsubscribe(subscriber);
    return result;
}

/*
 * CUPTI tells migrations only once the driver has begun, which it has not while it calls us. Where
 * it tells none at all (no access to nvidia-uvm-tools), copies are told all the same. False: later.
 */
static bool ask_for_migrations(void)
{
    static const uint32_t told[] = {CUPTI_MOVED_HTOD, CUPTI_MOVED_DTOH, CUPTI_MOVED_DTOD};
    enum { N = sizeof(told) / sizeof(told[0]) };
    struct cupti_counter counters[N];
    for (size_t i = 0; i < N; i++)
        counters[i] = (struct cupti_counter){CUPTI_BY_PROCESS, told[i], 0, 1};
    int result = cupti.configure(counters, N);
    if (!result)
        result = cupti.enable(CUPTI_KIND_MIGRATION);
    if (result == CUPTI_NOT_READY)
        return false;
    lock_sums();
    sums->migrations_error = (uint32_t)result;
    sums->migrations_ns = result ? 0 : preload_now_ns(CLOCK_REALTIME);
    unlock_sums();
    return true;
}

/* Until CUPTI is ready it is asked often, as what moves before is not told; but not for ever. */
static long next_pause(long soon, long asking, long period)
{
    enum { SOON_MS = 20, ASKING_MS = 30000 };
    const long most = asking < ASKING_MS ? SOON_MS : period;
    return 2 * soon < most ? 2 * soon : most;
}

static void *look(void *arg)
{
    const long period = period_ms();
    bool last = false, asked = false;
    long soon = 1, asking = 0, since_flush = 0; /* ms */
    (void)arg;
    while (!last) {
        const long rest = period - since_flush, ms = asked || soon > rest ? rest : soon;
        last = preload_thread_pause(&ours, ms);
        since_flush += ms;
        if (!asked && !last) {
            asked = ask_for_migrations();
            asking += ms;
            soon = next_pause(soon, asking, period);
        }
        if (since_flush < period && !last)
            continue;
        since_flush = 0;
        find_devices();
        (void)cupti.flush_all(last ? CUPTI_FORCED : 0);
        if (last) /* no buffer may have come back to tell what was dropped */
            publish(count_dropped(NULL, 0),
                    subscribe() == CUPTI_OTHER_SUBSCRIBER ? COPIES_ENDED_TAKEN : COPIES_ENDED);
        __atomic_store_n(&is_over, last, __ATOMIC_RELEASE);
        save();
    }
    return NULL;
}

/* Records of copies that are still under way come without their times. */
static void end(void)
{
    if (is_on())
        preload_thread_end(&ours, END_WAITS_S * 1000L);
}

/* ---- the beginning ---- */

static void report_result(const char *what, int result)
{
    const char *text = NULL;
    if (cupti.get_result_string(result, &text) || !text)
        text = "an unknown error";
    preload_report_off(what, text, 0);
}

/* Nobody but us uses CUPTI. */
static bool is_free(void)
{
    int result = subscribe();
    if (!result)
        return true;
    if (result == CUPTI_OTHER_SUBSCRIBER)
        preload_report_off("another tool uses CUPTI in it", "", 0);
    else
        report_result("CUPTI does not begin: ", result);
    return false;
}

static void disable(void)
{
    (void)cupti.disable(CUPTI_KIND_MEMCPY);
    (void)cupti.disable(CUPTI_KIND_MEMCPY2);
}

static bool enable(void)
{
    int result = cupti.register_callbacks(give_buffer, take_buffer);
    if (!result)
        result = cupti.enable(CUPTI_KIND_MEMCPY);
    if (!result)
        result = cupti.enable(CUPTI_KIND_MEMCPY2);
    if (!result)
        return true;
    report_result("CUPTI records no copies: ", result);
    disable();
    return false;
}

static void begin(void)
{
    if (!inject_cupti_load(&cupti)) {
        preload_report_off(
            "no libcupti.so.13 or .12 that fits the driver: set CONTEND_LIBCUPTI to one", "", 0);
        return;
    }
    if (cupti.get_version(&version))
        version = 0;
    if (!is_free() || !enable())
        return;
    if (!open_log()) {
        disable();
        return;
    }
    publish(0, COPIES_GOES_ON);
    if (preload_thread_start(&ours, look) || atexit(end))
        preload_report_off("no thread, or no end: some copies are missing", "", 0);
}

extern int InitializeInjection(void);

/* The driver calls it once, from within cuInit, by whichever thread of the program that is in. */
__attribute__((visibility("default"))) int InitializeInjection(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    int before = errno;
    (void)pthread_once(&once, begin);
    errno = before;
    return 1;
}
