#include "harness/lib/sys/task.h"

#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "harness/lib/sys/file.h"
#include "harness/lib/sys/proc.h"

/* The fields that we use, by their numbers in proc_pid_stat(5). */
enum {
    STATE = 3,
    PARENT = 4,
    FLAGS = 9,
    MINOR_FAULTS = 10,
    MAJOR_FAULTS = 12,
    USER = 14,
    SYSTEM = 15,
    USER_BELOW = 16,
    SYSTEM_BELOW = 17,
    PRIORITY = 18,
    THREADS = 20,
    START = 22,
    CPU = 39,
    RT_PRIORITY = 40,
    POLICY = 41
};

double task_weight(int nice)
{
    return 1024 * pow(1.25, -nice);
}

static void copy_name(const char *from, const char *end, char name[static TASK_NAME_MAX])
{
    size_t n = 0;
    for (; from < end && n < TASK_NAME_MAX - 1; from++)
        name[n++] = (char)(*from < ' ' || *from > '~' ? '?' : *from);
    name[n] = '\0';
}

bool task_parse_stat(const char *text, struct task_stat *stat)
{
    static const uint64_t kernel_thread = 0x00200000; /* PF_KTHREAD */
    const char *open = strchr(text, '('), *close = strrchr(text, ')');
    uint64_t field[POLICY + 1] = {0};
    if (!open || !close || close < open || close[1] != ' ' || !close[2])
        return false;
    const char *at = close + 3;
    for (int i = PARENT; i <= POLICY && *at; i++) {
        at += strspn(at, " -");
        field[i] = strtoull(at, (char **)&at, 10);
    }
    const double tick_s = 1 / (double)sysconf(_SC_CLK_TCK);
    *stat = (struct task_stat){
        .state = close[2],
        .ended = close[2] == 'Z' || close[2] == 'X',
        .kernel = field[FLAGS] & kernel_thread,
        .realtime = field[RT_PRIORITY] || field[POLICY] == SCHED_DEADLINE,
        .parent = (pid_t)field[PARENT],
        .threads = (unsigned)field[THREADS],
        .cpu = (int)field[CPU],
        .weight = field[POLICY] == SCHED_IDLE ? 3 : task_weight((int)field[PRIORITY] - 20),
        .minor_faults = field[MINOR_FAULTS],
        .major_faults = field[MAJOR_FAULTS],
        .user_s = (double)field[USER] * tick_s,
        .system_s = (double)field[SYSTEM] * tick_s,
        .below_s = (double)(field[USER_BELOW] + field[SYSTEM_BELOW]) * tick_s,
        .start_ticks = field[START]};
    copy_name(open + 1, close, stat->name);
    return true;
}

bool task_read_stat(pid_t pid, pid_t tid, struct task_stat *stat)
{
    char text[TASK_STAT_MAX];
    return (tid ? PROC_TEXT("", text, "/proc/%d/task/%d/stat", (int)pid, (int)tid)
                : PROC_TEXT("", text, "/proc/%d/stat", (int)pid)) &&
           task_parse_stat(text, stat);
}

uint64_t task_started(pid_t pid, pid_t tid)
{
    struct task_stat stat;
    return task_read_stat(pid, tid, &stat) && !stat.ended ? stat.start_ticks : 0;
}

bool task_parse_times(const char *text, struct task_times *times)
{
    char *wait, *end;
    times->oncpu_ns = strtoull(text, &wait, 10);
    times->wait_ns = strtoull(wait, &end, 10);
    return times->has_wait = end != wait;
}

bool task_read_times(pid_t pid, pid_t tid, struct task_times *times)
{
    char text[PROC_TEXT_MAX];
    struct task_stat stat;
    *times = (struct task_times){0};
    if (PROC_TEXT("", text, "/proc/%d/task/%d/schedstat", (int)pid, (int)tid) &&
        task_parse_times(text, times))
        return true;
    if (!task_read_stat(pid, tid, &stat))
        return false;
    times->oncpu_ns = (uint64_t)((stat.user_s + stat.system_s) * 1e9);
    return true;
}

double task_cpu_s(pid_t pid)
{
    clockid_t clock;
    struct timespec used;
    struct task_stat stat;
    if (!clock_getcpuclockid(pid, &clock) && !clock_gettime(clock, &used))
        return (double)used.tv_sec + (double)used.tv_nsec * 1e-9;
    return task_read_stat(pid, 0, &stat) ? stat.user_s + stat.system_s : 0;
}

DIR *task_open(pid_t pid)
{
    char path[64];
    (void)snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
    return opendir(path);
}

pid_t task_next(DIR **folder)
{
    for (struct dirent *entry; (entry = file_next(folder));) {
        char *end;
        long id = strtol(entry->d_name, &end, 10);
        if (id > 0 && !*end)
            return (pid_t)id;
    }
    return 0;
}
