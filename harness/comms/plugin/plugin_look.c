#include "harness/comms/plugin/plugin_look.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "harness/comms/plugin/preload.h"

/* A thread keeps a file open and cannot close it when it ends, so only so many threads may look. */
enum { THREADS_MOST = 64, LOOK_NS = 100000000, LOOKS_A_SEARCH = 10 };

static struct {
    pthread_once_t once;
    unsigned threads;
    int first_fd; /* schedstat of the first thread; -1 = none */
} shared = {.once = PTHREAD_ONCE_INIT};

static _Thread_local struct {
    struct comms_look look; /* the last one */
    int fd, quota_fd;       /* schedstat; cpu.stat of the cgroup; -1 = none */
    unsigned looks;
    uint64_t throttled_ns; /* as that cgroup counts them */
} mine;

static ssize_t read_text(int fd, char *text, size_t size)
{
    ssize_t n = fd < 0 ? -1 : pread(fd, text, size - 1, 0);
    text[n < 0 ? 0 : n] = '\0';
    return n;
}

static void read_file(const char *path, char *text, size_t size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    (void)read_text(fd, text, size);
    if (fd >= 0)
        (void)close(fd);
}

/* ---- the cgroup with the quota ---- */

/* cpu.stat of the cgroup or of the closest one above it that has a quota (a number; others have
 * "max" or -1). A container may see the path of the machine, and its own cgroup as the root of the
 * mount. */
static int open_quota(const char *mount, const char *quota, const char *group)
{
    char folder[PATH_MAX], path[PATH_MAX + 32], text[32];
    const char *root = folder + strlen(mount);
    (void)snprintf(folder, sizeof(folder), "%s%.*s", mount, (int)strcspn(group, "\n"), group);
    for (;;) {
        (void)snprintf(path, sizeof(path), "%s/%s", folder, quota);
        read_file(path, text, sizeof(text));
        (void)snprintf(path, sizeof(path), "%s/cpu.stat", folder);
        if (isdigit((unsigned char)text[0]))
            return open(path, O_RDONLY | O_CLOEXEC);
        char *end = strrchr(folder, '/');
        if (end < root)
            return -1;
        *end = '\0';
    }
}

static int find_quota(void)
{
    static const char *const hierarchies[][3] = {
        {"cpu:/", "/sys/fs/cgroup/cpu", "cpu.cfs_quota_us"},
        {"cpu,cpuacct:/", "/sys/fs/cgroup/cpu,cpuacct", "cpu.cfs_quota_us"},
        {"0::/", "/sys/fs/cgroup", "cpu.max"},
    };
    char text[4096];
    int fd = -1;
    read_file("/proc/self/cgroup", text, sizeof(text));
    for (size_t i = 0; i < sizeof(hierarchies) / sizeof(hierarchies[0]) && fd < 0; i++) {
        const char *const *one = hierarchies[i], *found = strstr(text, one[0]);
        if (found)
            fd = open_quota(one[1], one[2], strchr(found, '/'));
    }
    return fd;
}

static uint64_t read_throttled(int fd)
{
    char text[1024];
    (void)read_text(fd, text, sizeof(text));
    const char *us = strstr(text, "throttled_usec "), *ns = strstr(text, "throttled_time ");
    return us || ns ? strtoull(strchr(us ? us : ns, ' '), NULL, 10) * (us ? 1000 : 1) : 0;
}

/* A quota may come later, or the process may move to another cgroup, which counts from elsewhere.
 */
static void look_at_quota(struct comms_look *look)
{
    uint64_t now = read_throttled(mine.quota_fd);
    look->throttled_ns += now > mine.throttled_ns ? now - mine.throttled_ns : 0;
    if (mine.looks++ % LOOKS_A_SEARCH == 0) {
        if (mine.quota_fd >= 0)
            (void)close(mine.quota_fd);
        mine.quota_fd = find_quota();
        now = read_throttled(mine.quota_fd);
    }
    mine.throttled_ns = now;
}

/* ---- threads ---- */

static void open_shared(void)
{
    shared.first_fd = open("/proc/self/schedstat", O_RDONLY | O_CLOEXEC);
}

static void open_mine(void)
{
    (void)pthread_once(&shared.once, open_shared);
    mine.quota_fd = -1;
    bool may = __atomic_fetch_add(&shared.threads, 1, __ATOMIC_RELAXED) < THREADS_MOST;
    mine.look.tid = (uint32_t)gettid();
    mine.fd = may ? open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC) : -1;
}

/* Adds a thread's time on a CPU and in the run queue. */
static bool add_schedstat(int fd, struct comms_look *look)
{
    char text[96], *end;
    if (read_text(fd, text, sizeof(text)) <= 0)
        return false;
    look->cpu_ns += strtoull(text, &end, 10);
    look->queue_ns += strtoull(end, NULL, 10);
    return true;
}

static bool look_at(struct comms_look *look)
{
    struct rusage usage;
    cpu_set_t cpus;
    look->cpu_ns = look->queue_ns = 0;
    if (!add_schedstat(mine.fd, look) || getrusage(RUSAGE_SELF, &usage))
        return false;
    if (look->tid != (uint32_t)getpid())
        (void)add_schedstat(shared.first_fd, look);
    look->process_ns = preload_now_ns(CLOCK_PROCESS_CPUTIME_ID);
    look->major_faults = (uint64_t)usage.ru_majflt;
    look->read_bytes = (uint64_t)usage.ru_inblock * 512;
    look->cpus = sched_getaffinity(0, sizeof(cpus), &cpus) ? 0 : (uint32_t)CPU_COUNT(&cpus);
    look_at_quota(look);
    return true;
}

void plugin_look_add(uint32_t member, uint64_t now_ns, struct comms_look *ring, uint64_t *n)
{
    if (now_ns - mine.look.time_ns < LOOK_NS)
        return;
    int before = errno;
    if (!mine.look.tid)
        open_mine();
    mine.look.time_ns = now_ns;
    mine.look.member = member;
    if (look_at(&mine.look)) {
        uint64_t number = __atomic_fetch_add(n, 1, __ATOMIC_RELAXED);
        struct comms_look *look = &ring[number % COMMS_LOOKS];
        *look = mine.look; /* without a stamp */
        __atomic_store_n(&look->stamp, number + 1, __ATOMIC_RELEASE);
    }
    errno = before;
}
