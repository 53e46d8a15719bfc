#include "harness/lib/sys/affinity.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "harness/lib/sys/proc.h"

static struct bitset at_start;

/* Runs before any sanitizer or library is initialized, so only a system call to static memory. */
__attribute__((no_sanitize("address", "thread", "undefined"))) static void read_at_start(void)
{
    (void)syscall(SYS_sched_getaffinity, 0, sizeof(at_start.word), at_start.word);
}

/* .preinit_array runs before the constructors of all libraries. */
__attribute__((section(".preinit_array"),
               used)) static void (*const before_libraries)(void) = read_at_start;

const struct bitset *affinity_at_start(void)
{
    return &at_start;
}

void affinity_restore(void)
{
    if (!bitset_empty(&at_start))
        (void)affinity_set(0, &at_start);
}

/* From /proc, for sandboxes that refuse the call. */
static bool read_text(pid_t tid, struct bitset *cpus)
{
    char path[40] = "/proc/thread-self/status", list[4096];
    if (tid)
        (void)snprintf(path, sizeof(path), "/proc/%d/status", (int)tid);
    return proc_read_field("", path, "Cpus_allowed_list", ':', list, sizeof(list)) &&
           !bitset_parse(list, cpus, NULL);
}

int affinity_get(pid_t tid, struct bitset *cpus)
{
    memset(cpus, 0, sizeof(*cpus));
    if (syscall(SYS_sched_getaffinity, tid, sizeof(cpus->word), cpus->word) >= 0)
        return 0;
    int rc = -errno;
    return rc != -ESRCH && read_text(tid, cpus) ? 0 : rc;
}

int affinity_check(void)
{
    static unsigned long most[8192 / sizeof(unsigned long)]; /* 65,536 CPUs */
    return syscall(SYS_sched_getaffinity, 0, sizeof(most), most) < 0 ? -errno : 0;
}

int affinity_check_memory(void)
{
    enum { DEFAULT_POLICY = 0 }; /* linux/mempolicy.h */
    return syscall(SYS_set_mempolicy, DEFAULT_POLICY, NULL, 0UL) ? -errno : 0;
}

int affinity_set(pid_t tid, const struct bitset *cpus)
{
    return syscall(SYS_sched_setaffinity, tid, sizeof(cpus->word), cpus->word) ? -errno : 0;
}
