#include "harness/affinity.h"

#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

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

int affinity_set(pid_t tid, const struct bitset *cpus)
{
    return syscall(SYS_sched_setaffinity, tid, sizeof(cpus->word), cpus->word) ? -errno : 0;
}
