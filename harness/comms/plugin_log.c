#include "harness/comms/plugin_log.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "harness/comms/host.h"
#include "harness/comms/names.h"

/* Where it lies in memory; the same as in the file. */
struct log {
    struct comms_header header;
    struct comms_member members[COMMS_MEMBERS];
    struct comms_counter counters[COMMS_COUNTERS];
    struct comms_event events[COMMS_EVENTS];
};
_Static_assert(sizeof(struct log) == COMMS_FILE_SIZE, "the file is the struct");

enum { PROBES = 64 }; /* places that a detailed key may be at */

static struct log *the_log; /* NULL = off */
static pthread_once_t opened_once = PTHREAD_ONCE_INIT;
static unsigned asked_interface;
static char log_path[PATH_MAX];
static bool is_child; /* of a process that had a log: forked, and not executed since */
static bool said_child;

/* One write, so that lines of several processes do not mix. */
static void say_off(const char *why, const char *what, int code)
{
    char line[PATH_MAX + 200];
    int n = snprintf(line, sizeof(line), "contend comms: off in process %ld: %s%s%s%s\n",
                     (long)getpid(), why, what, code ? ": " : "", code ? strerror(code) : "");
    if (n > 0 &&
        write(STDERR_FILENO, line, (size_t)n < sizeof(line) ? (size_t)n : sizeof(line)) < 0)
        return; /* nobody to tell */
}

static uint64_t now_ns(clockid_t clock)
{
    struct timespec now = {0};
    (void)clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static struct log *running(void)
{
    return __atomic_load_n(&the_log, __ATOMIC_ACQUIRE);
}

static void forget_in_child(void)
{
    is_child = the_log != NULL;
    the_log = NULL;
}

static void begin(struct log *log, const char *host)
{
    struct comms_header *header = &log->header;
    *header = (struct comms_header){
        .version = COMMS_VERSION,
        .order = COMMS_ORDER,
        .header_size = sizeof(struct comms_header),
        .member_size = sizeof(struct comms_member),
        .counter_size = sizeof(struct comms_counter),
        .event_size = sizeof(struct comms_event),
        .members = COMMS_MEMBERS,
        .counters = COMMS_COUNTERS,
        .events = COMMS_EVENTS,
        .interface = asked_interface,
        .file_size = COMMS_FILE_SIZE,
        .pid = getpid(),
        .start_ns = now_ns(CLOCK_REALTIME),
        .start_mono_ns = now_ns(CLOCK_MONOTONIC),
    };
    (void)snprintf(header->host, sizeof(header->host), "%s", host);
    (void)snprintf(header->program, sizeof(header->program), "%s", program_invocation_short_name);
    memcpy(header->magic, COMMS_MAGIC, sizeof(header->magic));
}

/* All its blocks are there before it is mapped: a page that finds none kills who touches it. */
static struct log *map(int fd, const char *path)
{
    struct rlimit limit;
    int code = EFBIG; /* its signal would end the program */
    if (getrlimit(RLIMIT_FSIZE, &limit) || limit.rlim_cur >= COMMS_FILE_SIZE)
        code = posix_fallocate(fd, 0, COMMS_FILE_SIZE);
    void *log = MAP_FAILED;
    if (!code) {
        log = mmap(NULL, COMMS_FILE_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        code = log == MAP_FAILED ? errno : 0;
    }
    if (!code)
        return log;
    say_off("cannot write ", path, code);
    (void)unlink(path);
    return NULL;
}

/* Whoever lists the directory finds whole headers alone. */
static void start(struct log *log, const char *host, const char *unfinished, const char *path)
{
    begin(log, host);
    int code = pthread_atfork(NULL, NULL, forget_in_child);
    if (!code && rename(unfinished, path))
        code = errno;
    (void)snprintf(log_path, sizeof(log_path), "%s", path);
    if (!code) {
        __atomic_store_n(&the_log, log, __ATOMIC_RELEASE);
        return;
    }
    say_off("cannot begin ", path, code);
    (void)unlink(unfinished);
    (void)munmap(log, COMMS_FILE_SIZE);
}

static void open_log(void)
{
    char host[COMMS_HOST_MAX], path[PATH_MAX], unfinished[PATH_MAX + 8];
    const char *dir = getenv("CONTEND_COMMS_DIR");
    if (!dir || !*dir) {
        say_off("CONTEND_COMMS_DIR names no directory", "", 0);
        return;
    }
    comms_host_find(host);
    int n = snprintf(path, sizeof(path), "%s/%s-%ld-%llu" COMMS_SUFFIX, dir, host, (long)getpid(),
                     (unsigned long long)now_ns(CLOCK_REALTIME));
    (void)snprintf(unfinished, sizeof(unfinished), "%s.begun", path);
    int fd = n < (int)sizeof(path)
                 ? open(unfinished, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0644)
                 : -1;
    if (fd < 0) {
        say_off("cannot create ", path, n < (int)sizeof(path) ? errno : ENAMETOOLONG);
        return;
    }
    struct log *log = map(fd, unfinished);
    (void)close(fd);
    if (log)
        start(log, host, unfinished, path);
}

bool plugin_log_open(unsigned interface)
{
    int before = errno;
    asked_interface = interface;
    (void)pthread_once(&opened_once, open_log);
    if (is_child && !said_child)
        say_off("forked from a process that is watched", "", 0);
    said_child = is_child;
    errno = before;
    return running() != NULL;
}

int plugin_log_join(const struct comms_member *told)
{
    struct log *log = running();
    if (!log)
        return -1;
    uint64_t number = __atomic_fetch_add(&log->header.nmembers, 1, __ATOMIC_RELAXED);
    if (number >= COMMS_MEMBERS)
        return -1;
    struct comms_member *member = &log->members[number];
    *member = *told;
    member->begin_ns = now_ns(CLOCK_MONOTONIC);
    __atomic_store_n(&member->state, (uint32_t)COMMS_ALIVE, __ATOMIC_RELEASE);
    return (int)number;
}

void plugin_log_take_graph(int member)
{
    int before = errno;
    char ours[PATH_MAX + 32], taken[PATH_MAX + 32];
    const char *named = getenv("NCCL_GRAPH_DUMP_FILE"), *dir = getenv("CONTEND_COMMS_DIR");
    if (!running() || member < 0 || !named || !dir)
        return;
    (void)snprintf(ours, sizeof(ours), "%s/" COMMS_GRAPH_FILE, dir);
    (void)snprintf(taken, sizeof(taken), "%s.%d" COMMS_GRAPH_SUFFIX, log_path, member);
    if (strcmp(named, ours) == 0)
        (void)rename(ours, taken);
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
    log->members[member].end_ns = now_ns(CLOCK_MONOTONIC);
    __atomic_store_n(&log->members[member].state, (uint32_t)COMMS_FINALIZED, __ATOMIC_RELEASE);
}

/* The counter of the key among `n` from `first` on, claimed if need be; NULL: no place for it. */
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
 * Threads take numbers in blocks, or they would wait for each other's cache line at each call. What
 * a thread has of a block that the ring has nearly come round to again it leaves.
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
    event->time_ns = now_ns(CLOCK_MONOTONIC);
    event->duration_ns = 0;
    event->sequence = sequence;
    __atomic_store_n(&event->stamp, number + 1, __ATOMIC_RELEASE);
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

/* An event that was overwritten meanwhile is another one's. */
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

void plugin_log_tell_timing(uint64_t every)
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
