#include "harness/comms/plugin/plugin_keep.h"

#include <stdlib.h>
#include <unistd.h>

enum { PAUSE_MS = 1000, PAUSE_MOST_MS = 30000, END_WAITS_MS = 5000 };

static struct preload_file kept;
static pid_t owner; /* 0 = nothing was started; a child that was forked has no such thread */
static struct preload_thread ours = {.lock = PTHREAD_MUTEX_INITIALIZER};
static bool over; /* the thread has copied for the last time; under its lock */

/* The first pause: CONTEND_COMMS_PERIOD_MS, for tests, which then stays as it is. */
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
    const uint64_t *word = kept.bytes;
    uint64_t sum = 0xcbf29ce484222325u;
    for (size_t i = 0; i < kept.size / sizeof(*word); i++)
        if (i != time_of_copy)
            sum = (sum ^ __atomic_load_n(&word[i], __ATOMIC_RELAXED)) * 0x100000001b3u;
    return sum;
}

/* `last`: the program ends, so nothing is missing behind this copy. */
static void copy_changes(bool last)
{
    static pthread_mutex_t one = PTHREAD_MUTEX_INITIALIZER;
    static uint64_t saved; /* the sum of what is in the file */
    static bool told_end, said;
    struct comms_header *header = kept.bytes;
    (void)pthread_mutex_lock(&one);
    const uint64_t sum = sum_up();
    if (sum != saved || told_end != last) {
        const uint64_t time = last ? 0 : preload_now_ns(CLOCK_MONOTONIC);
        __atomic_store_n(&header->copied_ns, time, __ATOMIC_RELAXED);
        int code = preload_file_save(&kept);
        saved = code ? saved : sum;
        told_end = code ? told_end : last;
        if (code && last && !said)
            preload_say_off("cannot write the last of ", kept.path, code);
        said |= code && last;
    }
    (void)pthread_mutex_unlock(&one);
}

/* True: whatever comes from now on is for who asks for it. */
static bool is_over(bool last)
{
    (void)pthread_mutex_lock(&ours.lock);
    over = last && !ours.wanted;
    bool now = over;
    (void)pthread_mutex_unlock(&ours.lock);
    return now;
}

static void *keep(void *arg)
{
    bool grows, last;
    long pause = first_pause(&grows);
    (void)arg;
    do {
        last = preload_thread_pause(&ours, pause);
        copy_changes(last);
        if (grows)
            pause = pause < PAUSE_MOST_MS / 2 ? 2 * pause : PAUSE_MOST_MS;
    } while (!is_over(last));
    return NULL;
}

static void end(void)
{
    if (owner == getpid())
        preload_thread_end(&ours, END_WAITS_MS);
}

bool plugin_keep_start(const struct preload_file *file)
{
    kept = *file;
    int code = preload_thread_start(&ours, keep);
    if (code) {
        (void)unlink(kept.path);
        preload_file_drop(&kept, code);
        return false;
    }
    __atomic_store_n(&owner, getpid(), __ATOMIC_RELEASE);
    (void)atexit(end); /* without it, what was done since the last copy is lost */
    return true;
}

void plugin_keep_now(void)
{
    if (__atomic_load_n(&owner, __ATOMIC_ACQUIRE) != getpid())
        return;
    (void)pthread_mutex_lock(&ours.lock);
    ours.wanted = true;
    bool ourselves = over;
    (void)pthread_cond_signal(&ours.changed);
    (void)pthread_mutex_unlock(&ours.lock);
    if (ourselves)
        copy_changes(true);
}

/* Handlers that the program has registered before us run behind ours, and this behind all. */
__attribute__((destructor)) static void copy_what_is_left(void)
{
    plugin_keep_now();
}
