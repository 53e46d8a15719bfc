#include "harness/comms/plugin/plugin_log.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/comms/plugin/names.h"
#include "harness/comms/plugin/plugin_look.h"
#include "harness/comms/plugin/preload.h"

/* The log in memory; the layout is that of the file. */
struct log {
    struct comms_header header;
    struct comms_member members[COMMS_MEMBERS];
    struct comms_counter counters[COMMS_COUNTERS];
    struct comms_event events[COMMS_EVENTS];
    struct comms_look looks[COMMS_LOOKS];
};
_Static_assert(sizeof(struct log) == COMMS_FILE_SIZE, "the file is the struct");

enum { PROBES = 64 }; /* slots that a detailed key may be in */

static struct log *the_log; /* NULL = off */
static pthread_once_t opened_once = PTHREAD_ONCE_INIT;
static unsigned asked_interface;
static char log_path[PATH_MAX];
static bool is_child; /* forked from a process that had a log, without exec since */
static bool said_child;

/*
 * Saves a log that is private memory (preload.h): a thread copies it into the file after 1 s, then
 * after pauses that double up to 30 s. It also copies when a communicator ends and when the process
 * ends, which waits at most 5 s for a slow server. So a killed process leaves its last copy.
 * Counting never waits. After the thread's last copy, during the program's own exit handlers, the
 * thread that wants a copy makes it itself.
 */
enum { PAUSE_MS = 1000, PAUSE_MOST_MS = 30000, END_WAITS_MS = 5000 };

static struct preload_file saved_file;
static pid_t owner; /* that started the thread; 0 = none. A forked child has no such thread */
static struct preload_thread saver = {.lock = PTHREAD_MUTEX_INITIALIZER};
static bool saver_ended; /* the thread has copied for the last time; under its lock */

/* The first pause, in ms. CONTEND_COMMS_PERIOD_MS, for tests, sets it; pauses then do not grow. */
static long first_pause(bool *grows)
{
    const char *text = getenv("CONTEND_COMMS_PERIOD_MS");
    long ms = text ? strtol(text, NULL, 10) : 0;
    *grows = ms <= 0 || ms > PAUSE_MOST_MS;
    return *grows ? PAUSE_MS : ms;
}

/* FNV-1a by words (the Internet draft eastlake-fnv), to see whether anything has changed. */
static uint64_t sum_up(void)
{
    const size_t time_of_copy = offsetof(struct comms_header, copied_ns) / sizeof(uint64_t);
    const uint64_t *word = saved_file.bytes;
    uint64_t sum = 0xcbf29ce484222325u;
    for (size_t i = 0; i < saved_file.size / sizeof(*word); i++)
        if (i != time_of_copy)
            sum = (sum ^ __atomic_load_n(&word[i], __ATOMIC_RELAXED)) * 0x100000001b3u;
    return sum;
}

/* `last`: the program ends, so nothing is missing after this copy. */
static void save_changes(bool last)
{
    static pthread_mutex_t one = PTHREAD_MUTEX_INITIALIZER;
    static uint64_t saved; /* sum_up of the copy in the file */
    static bool saved_end, warned;
    struct comms_header *header = saved_file.bytes;
    (void)pthread_mutex_lock(&one);
    const uint64_t sum = sum_up();
    if (sum != saved || saved_end != last) {
        const uint64_t time = last ? 0 : preload_now_ns(CLOCK_MONOTONIC);
        __atomic_store_n(&header->copied_ns, time, __ATOMIC_RELAXED);
        int code = preload_file_save(&saved_file);
        saved = code ? saved : sum;
        saved_end = code ? saved_end : last;
        if (code && last && !warned)
            preload_report_off("cannot write the last of ", saved_file.path, code);
        warned |= code && last;
    }
    (void)pthread_mutex_unlock(&one);
}

/* True: the thread has made its last copy, and further copies are made by save_now. */
static bool is_last_save(bool last)
{
    (void)pthread_mutex_lock(&saver.lock);
    saver_ended = last && !saver.wanted;
    bool now = saver_ended;
    (void)pthread_mutex_unlock(&saver.lock);
    return now;
}

static void *save_periodically(void *arg)
{
    bool grows, last;
    long pause = first_pause(&grows);
    (void)arg;
    do {
        last = preload_thread_pause(&saver, pause);
        save_changes(last);
        if (grows)
            pause = pause < PAUSE_MOST_MS / 2 ? 2 * pause : PAUSE_MOST_MS;
    } while (!is_last_save(last));
    return NULL;
}

static void end(void)
{
    if (owner == getpid())
        preload_thread_end(&saver, END_WAITS_MS);
}

static bool start_saving(const struct preload_file *file)
{
    saved_file = *file;
    int code = preload_thread_start(&saver, save_periodically);
    if (code) {
        (void)unlink(saved_file.path);
        preload_file_drop(&saved_file, code);
        return false;
    }
    __atomic_store_n(&owner, getpid(), __ATOMIC_RELEASE);
    (void)atexit(end); /* if this fails, calls since the last copy are lost */
    return true;
}

static void save_now(void)
{
    if (__atomic_load_n(&owner, __ATOMIC_ACQUIRE) != getpid())
        return;
    (void)pthread_mutex_lock(&saver.lock);
    saver.wanted = true;
    bool must_save = saver_ended;
    (void)pthread_cond_signal(&saver.changed);
    (void)pthread_mutex_unlock(&saver.lock);
    if (must_save)
        save_changes(true);
}

/* Exit handlers that the program registered earlier run after end; this destructor runs after all
 * handlers. */
__attribute__((destructor)) static void copy_what_is_left(void)
{
    save_now();
}

/* ---- what is counted ---- */

static struct log *running(void)
{
    return __atomic_load_n(&the_log, __ATOMIC_ACQUIRE);
}

static void forget_in_child(void)
{
    is_child = the_log != NULL;
    the_log = NULL;
}

static void open_log(void)
{
    struct preload_file file;
    if (!preload_file_create(&file, COMMS_SUFFIX, COMMS_FILE_SIZE))
        return;
    struct log *log = file.bytes;
    log->header = preload_header(&file, __atomic_load_n(&asked_interface, __ATOMIC_RELAXED));
    int code = pthread_atfork(NULL, NULL, forget_in_child);
    if (code)
        preload_file_drop(&file, code);
    if (code || !preload_file_name(&file) || (file.is_private && !start_saving(&file)))
        return;
    (void)snprintf(log_path, sizeof(log_path), "%s", file.path);
    __atomic_store_n(&the_log, log, __ATOMIC_RELEASE);
}

bool plugin_log_open(unsigned interface)
{
    int before = errno;
    __atomic_store_n(&asked_interface, interface, __ATOMIC_RELAXED); /* threads join at once */
    (void)pthread_once(&opened_once, open_log);
    if (is_child && !__atomic_exchange_n(&said_child, true, __ATOMIC_RELAXED))
        preload_report_off("forked from a logged process", "", 0);
    errno = before;
    return running() != NULL;
}

int plugin_log_join(const struct comms_member *reported)
{
    struct log *log = running();
    if (!log)
        return -1;
    uint64_t number = __atomic_fetch_add(&log->header.nmembers, 1, __ATOMIC_RELAXED);
    if (number >= COMMS_MEMBERS)
        return -1;
    struct comms_member *member = &log->members[number];
    *member = *reported;
    member->begin_ns = preload_now_ns(CLOCK_MONOTONIC);
    __atomic_store_n(&member->state, (uint32_t)COMMS_ALIVE, __ATOMIC_RELEASE);
    return (int)number;
}

void plugin_log_take_graph(int member)
{
    int before = errno;
    char dumped[PATH_MAX + 32], taken[PATH_MAX + 32];
    const char *named = getenv("NCCL_GRAPH_DUMP_FILE"), *dir = getenv("CONTEND_COMMS_DIR");
    if (!running() || member < 0 || !named || !dir)
        return;
    (void)snprintf(dumped, sizeof(dumped), "%s/" COMMS_GRAPH_FILE, dir);
    (void)snprintf(taken, sizeof(taken), "%s.%d" COMMS_GRAPH_SUFFIX, log_path, member);
    if (strcmp(named, dumped) == 0)
        (void)rename(dumped, taken);
    errno = before;
}

void plugin_log_learn(int member, uint64_t id, int rank)
{
    struct log *log = running();
    if (!log || member < 0 || __atomic_load_n(&log->members[member].id, __ATOMIC_RELAXED) || !id)
        return;
    __atomic_store_n(&log->members[member].rank, rank, __ATOMIC_RELAXED);
    __atomic_store_n(&log->members[member].id, id, __ATOMIC_RELAXED);
}

void plugin_log_leave(int member)
{
    struct log *log = running();
    if (!log || member < 0)
        return;
    log->members[member].end_ns = preload_now_ns(CLOCK_MONOTONIC);
    __atomic_store_n(&log->members[member].state, (uint32_t)COMMS_FINALIZED, __ATOMIC_RELEASE);
    save_now();
}

/* The counter of the key among `n` from `first` on, claimed if it is new; NULL: no free slot. */
static struct comms_counter *find(struct log *log, uint64_t key, uint32_t first, uint32_t n,
                                  uint32_t probes)
{
    /* Multiplicative hashing (Knuth, The Art of Computer Programming 3, 6.4). */
    uint32_t at = (uint32_t)((key * 0x9e3779b97f4a7c15u) >> 32);
    for (uint32_t i = 0; i < probes; i++) {
        struct comms_counter *counter = &log->counters[first + (at + i) % n];
        uint64_t there = __atomic_load_n(&counter->key, __ATOMIC_RELAXED);
        if (!there)
            (void)__atomic_compare_exchange_n(&counter->key, &there, key, false, __ATOMIC_RELAXED,
                                              __ATOMIC_RELAXED);
        if (!there || there == key)
            return counter;
    }
    return NULL;
}

static struct comms_counter *find_counter(struct log *log, const struct comms_key *key,
                                          uint64_t packed)
{
    enum { DETAILED = COMMS_COUNTERS - COMMS_COARSE };
    struct comms_counter *counter = find(log, packed, 0, DETAILED, PROBES);
    if (counter)
        return counter;
    const struct comms_key coarse = {.member = key->member,
                                     .func = key->func,
                                     .algo = key->algo == COMMS_CALLED ? COMMS_CALLED : 0,
                                     .bucket = COMMS_BUCKET_ANY,
                                     .captured = key->captured,
                                     .peer = -1};
    return find(log, comms_key_pack(&coarse), DETAILED, COMMS_COARSE, COMMS_COARSE);
}

/*
 * Threads take numbers in blocks, or they would wait for each other's cache line at each call. A
 * thread drops the rest of a block that is more than half the ring behind.
 */
static uint64_t next_number(struct log *log)
{
    static _Thread_local uint64_t next, end;
    uint64_t all = __atomic_load_n(&log->header.nnumbers, __ATOMIC_RELAXED);
    if (next == end || all - next > COMMS_EVENTS / 2) {
        next = __atomic_fetch_add(&log->header.nnumbers, COMMS_BLOCK, __ATOMIC_RELAXED);
        end = next + COMMS_BLOCK;
    }
    return next++;
}

static uint64_t add_event(struct log *log, uint64_t key, uint64_t bytes, uint64_t sequence)
{
    uint64_t number = next_number(log);
    struct comms_event *event = &log->events[number % COMMS_EVENTS];
    __atomic_store_n(&event->stamp, 0, __ATOMIC_RELAXED);
    __atomic_thread_fence(__ATOMIC_RELEASE);
    event->key = key;
    event->bytes = bytes;
    const uint64_t now_ns = preload_now_ns(CLOCK_MONOTONIC);
    event->time_ns = now_ns;
    event->duration_ns = 0;
    event->sequence = sequence;
    __atomic_store_n(&event->stamp, number + 1, __ATOMIC_RELEASE);
    plugin_look_add(comms_key_unpack(key).member, now_ns, log->looks, &log->header.nlooks);
    return number + 1;
}

struct plugin_counted plugin_log_count(struct comms_key *key, uint64_t bytes, uint64_t sequence)
{
    struct log *log = running();
    if (!log)
        return (struct plugin_counted){0};
    key->bucket = comms_bucket(bytes);
    uint64_t packed = comms_key_pack(key);
    struct comms_counter *counter = find_counter(log, key, packed);
    struct plugin_counted counted = {.counter = counter, .bytes = bytes};
    uint64_t *calls = counter ? &counter->calls : &log->header.unplaced_calls;
    uint64_t *sum = counter ? &counter->bytes : &log->header.unplaced_bytes;
    (void)__atomic_fetch_add(sum, bytes, __ATOMIC_RELAXED);
    (void)__atomic_fetch_add(calls, 1, __ATOMIC_RELAXED);
    if (key->algo != COMMS_CALLED)
        counted.stamp = add_event(log, packed, bytes, sequence);
    return counted;
}

/* If the event was overwritten meanwhile, its stamp differs. */
void plugin_log_time(const struct plugin_counted *counted, uint64_t ns)
{
    struct log *log = running();
    if (!log || !counted->counter)
        return;
    (void)__atomic_fetch_add(&counted->counter->timed_bytes, counted->bytes, __ATOMIC_RELAXED);
    (void)__atomic_fetch_add(&counted->counter->timed_ns, ns, __ATOMIC_RELAXED);
    (void)__atomic_fetch_add(&counted->counter->timed_calls, 1, __ATOMIC_RELAXED);
    if (!counted->stamp)
        return;
    struct comms_event *event = &log->events[(counted->stamp - 1) % COMMS_EVENTS];
    if (__atomic_load_n(&event->stamp, __ATOMIC_ACQUIRE) == counted->stamp)
        __atomic_store_n(&event->duration_ns, ns, __ATOMIC_RELAXED);
}

void plugin_log_untimed(void)
{
    struct log *log = running();
    if (log)
        (void)__atomic_fetch_add(&log->header.untimed, 1, __ATOMIC_RELAXED);
}

void plugin_log_report_timing(uint64_t every)
{
    struct log *log = running();
    if (log)
        __atomic_store_n(&log->header.timed_every, every, __ATOMIC_RELAXED);
}

void plugin_log_unknown(void)
{
    struct log *log = running();
    if (log)
        (void)__atomic_fetch_add(&log->header.unknown_events, 1, __ATOMIC_RELAXED);
}
