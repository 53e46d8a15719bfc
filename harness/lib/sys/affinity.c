#include "harness/lib/sys/affinity.h"

#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

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

int affinity_get(pid_t tid, struct bitset *cpus)
{
    memset(cpus, 0, sizeof(*cpus));
    return syscall(SYS_sched_getaffinity, tid, sizeof(cpus->word), cpus->word) < 0 ? -errno : 0;
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
