#include "harness/doctor/reader/hung.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "harness/doctor/reader/reader_parts.h"
#include "harness/lib/array.h"
#include "harness/lib/stats.h"
#include "harness/lib/sys/clock.h"
#include "harness/lib/sys/file.h"
#include "harness/lib/sys/proc.h"

/* Reads task/TID/`file`. False, with errno: the file is gone or not permitted. */
static bool proc_sampler_read(const struct proc_sampler *at, int tid, const char *file, char *buf,
                              size_t size)
{
    char name[64];
    int once = -1;
    (void)snprintf(name, sizeof(name), "task/%d/%s", tid, file);
    errno = 0;
    return reader_read(at->dir_fd, name, &once, buf, size);
}

/* The tid in the innermost pid namespace; *depth: number of pid namespaces that it is in. */
static uint32_t read_number(const struct proc_sampler *at, int tid, unsigned *depth)
{
    char text[4096];
    uint32_t number = (uint32_t)tid;
    *depth = 0;
    if (!proc_sampler_read(at, tid, "status", text, sizeof(text)))
        return number;
    const char *next = proc_find(text, "NSpid"); /* missing on old kernels */
    while (next && *next && *next != '\n') {
        number = (uint32_t)strtoul(next, (char **)&next, 10);
        ++*depth;
    }
    return number;
}

static int by_tid(const void *a, const void *b)
{
    const struct proc_sampler_task *one = a, *other = b;
    return (one->tid > other->tid) - (one->tid < other->tid);
}

bool proc_sampler_list(struct proc_sampler *at)
{
    at->ntasks = 0;
    DIR *dir = file_open_folder(at->dir_fd, "task");
    for (int tid; (tid = task_next(&dir));) {
        struct proc_sampler_task *added = array_add(at->tasks, at->ntasks, at->tasks_capacity);
        if (added)
            *added = (struct proc_sampler_task){.tid = tid, .number = (uint32_t)tid};
    }
    if (at->ntasks)
        qsort(at->tasks, at->ntasks, sizeof(at->tasks[0]), by_tid);
    return at->ntasks > 0;
}

void proc_sampler_number(struct proc_sampler *at)
{
    unsigned nested = 2, depth;
    for (size_t i = 0; i < at->ntasks && nested > 1; i++)
        at->tasks[i].number = read_number(at, at->tasks[i].tid, i ? &depth : &nested);
}

bool proc_sampler_open(const struct view_process *process, const char *root,
                       struct proc_sampler *at)
{
    char path[320];
    *at = (struct proc_sampler){.dir_fd = -1, .memory_fd = -1};
    (void)snprintf(path, sizeof(path), "%s/proc/%d", root, process->pid);
    at->dir_fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return at->dir_fd >= 0;
}

void proc_sampler_close(struct proc_sampler *at)
{
    free(at->tasks);
    if (at->memory_fd >= 0)
        (void)close(at->memory_fd);
    if (at->dir_fd >= 0)
        (void)close(at->dir_fd);
}

bool proc_sampler_read_memory(struct proc_sampler *at, int tid, uint64_t address, void *to,
                              size_t size)
{
    char name[48];
    (void)snprintf(name, sizeof(name), "task/%d/mem", tid);
    if (at->memory_fd < 0)
        at->memory_fd = reader_open_file(at->dir_fd, name);
    return at->memory_fd >= 0 && address <= INT64_MAX &&
           pread(at->memory_fd, to, size, (off_t)address) == (ssize_t)size;
}

bool hung_read_wait(const char *syscall, uint32_t *joins)
{
    enum { LOCK_PI2 = 13 }; /* FUTEX_LOCK_PI2, since Linux 5.14 */
    enum { NUMBER, ADDRESS, OPERATION, VALUE, TIMEOUT, FIELDS };
    unsigned long long fields[FIELDS];
    for (int i = 0; i < FIELDS; i++) {
        char *end;
        fields[i] = strtoull(syscall, &end, i == NUMBER ? 10 : 16);
        if (end == syscall)
            return false; /* "running" */
        syscall = end;
    }
    const int command = (int)fields[OPERATION] & FUTEX_CMD_MASK;
    const bool waits = command == FUTEX_WAIT || command == FUTEX_WAIT_BITSET,
               locks = command == FUTEX_LOCK_PI || command == LOCK_PI2,
               is_private = fields[OPERATION] & FUTEX_PRIVATE_FLAG;
    /* When a thread ends, the kernel clears its tid and wakes it as a shared futex. */
    *joins = waits && !is_private ? (uint32_t)fields[VALUE] : 0;
    return fields[NUMBER] == SYS_futex && !fields[TIMEOUT] &&
           (is_private ? waits || locks : *joins > 0);
}

static bool has_thread(struct proc_sampler *at, uint32_t number)
{
    proc_sampler_number(at);
    for (size_t i = 0; i < at->ntasks; i++)
        if (at->tasks[i].number == number)
            return true;
    return false;
}

static bool waits_without_end(struct proc_sampler *at, int tid, bool has_ended,
                              struct hung_process *seen)
{
    char text[4096];
    uint32_t joins = 0;
    if (!has_ended && (!proc_sampler_read(at, tid, "syscall", text, sizeof(text)) ||
                       !hung_read_wait(text, &joins)))
        return false;
    /* Read after syscall: a thread that ran between two looks has another count at the second. */
    if (!proc_sampler_read(at, tid, "status", text, sizeof(text)))
        return false;
    const double switches = proc_find_number(text, "voluntary_ctxt_switches") +
                            proc_find_number(text, "nonvoluntary_ctxt_switches");
    seen->threads += !has_ended;
    seen->switches += switches;
    return !isnan(switches) && (!joins || has_thread(at, joins));
}

/* False, with errno EACCES or EPERM, if it may not be traced. */
static bool is_hung(const char *root, const struct view_process *process, struct hung_process *seen)
{
    struct proc_sampler at;
    *seen = (struct hung_process){.pid = process->pid, .start_ticks = process->start_ticks};
    errno = 0;
    if (!proc_sampler_open(process, root, &at))
        return false;
    bool all = proc_sampler_list(&at);
    for (size_t i = 0; i < at.ntasks && all; i++) {
        int tid = at.tasks[i].tid;
        all = waits_without_end(&at, tid, tid == process->pid && process->state == 'Z', seen);
    }
    int cause = errno;
    proc_sampler_close(&at);
    errno = cause;
    return all && seen->threads;
}

static bool is_python(const char *root, int pid)
{
    char path[PATH_MAX], target[PATH_MAX];
    (void)snprintf(path, sizeof(path), "%s/proc/%d/exe", root, pid);
    ssize_t length = readlink(path, target, sizeof(target) - 1);
    target[length > 0 ? length : 0] = '\0';
    const char *name = strrchr(target, '/');
    return name && strncmp(name, "/python", strlen("/python")) == 0;
}

void hung_look(const struct view *view, const char *root, struct hung *hung)
{
    for (size_t i = 0; i < view->nprocesses && hung->n < HUNG_MOST; i++) {
        const struct view_process *process = &view->processes[i];
        struct hung_process *seen = &hung->found[hung->n];
        if (process->kernel || (!process->watched && hung->named) ||
            (!process->watched && !view->is_root && process->uid != view->uid))
            continue;
        if (is_hung(root, process, seen)) {
            seen->then_s = view->now_s;
            seen->is_python = is_python(root, process->pid);
            hung->n++;
        } else if (process->watched && process->cpu_s <= 0)
            hung->refused += errno == EPERM || errno == EACCES;
    }
}

static bool has_python(const struct view_process *process)
{
    return process->about && process->about->python_end;
}

/* The futexes of the interpreter's lock are in its own data, those of other locks on the heap. */
static bool waits_for_python(const struct view_about *about, const char *syscall)
{
    char *at;
    const bool is_futex = strtoul(syscall, &at, 10) == SYS_futex;
    const uint64_t address = strtoull(at, NULL, 16);
    return is_futex && about && address >= about->python_start && address < about->python_end;
}

/* False: a thread has ended, or may not be traced. */
static bool look_at_threads(const struct view_process *process, const struct proc_sampler *at,
                            struct convoy *convoy)
{
    enum { THREADS_MOST = 32, TASKS_MOST = 64 };
    unsigned running = 0, seen = 0;
    for (size_t i = 0; i < process->ntasks && i < TASKS_MOST && seen < THREADS_MOST; i++) {
        char text[256];
        if (!process->tasks[i].is_detailed && !has_python(process))
            continue;
        if (!proc_sampler_read(at, process->tasks[i].tid, "syscall", text, sizeof(text)))
            return false;
        convoy->in_python += waits_for_python(process->about, text);
        if (!process->tasks[i].is_detailed)
            continue;
        bool runs = strncmp(text, "running", strlen("running")) == 0;
        running += runs;
        convoy->in_futex += !runs && strtoul(text, NULL, 10) == SYS_futex;
        seen++;
    }
    convoy->looks++;
    convoy->active += running > 0;
    convoy->running += running;
    convoy->asleep += seen - running;
    return true;
}

static bool may_be_convoy(const struct view *view, const struct view_process *process)
{
    static const double cpus_most = 1.3;
    unsigned busy = 0;
    for (size_t i = 0; i < process->ntasks; i++)
        busy += process->tasks[i].is_detailed;
    if (!process->watched || !view_is_busy(view, process))
        return false;
    return has_python(process)
               ? process->ntasks > 1
               : busy >= CONVOY_THREADS_LEAST && view_oncpu_s(process) <= cpus_most * view->wall_s;
}

static struct convoy *find_convoy(struct convoys *convoys, const struct view_process *process,
                                  const char *root)
{
    for (size_t i = 0; i < convoys->n; i++)
        if (convoys->found[i].pid == process->pid &&
            convoys->found[i].start_ticks == process->start_ticks)
            return &convoys->found[i];
    if (convoys->n == CONVOYS_MOST)
        return NULL;
    struct convoy *added = &convoys->found[convoys->n++];
    *added = (struct convoy){.pid = process->pid,
                             .start_ticks = process->start_ticks,
                             .is_python = is_python(root, process->pid)};
    return added;
}

/* At random times, some 30 ms in all, so that a rhythm of the threads does not hide them. */
void convoys_look(const struct view *view, const char *root, struct convoys *convoys)
{
    enum { LOOKS = 25, GAP_NS = 2000000 };
    for (size_t i = 0; i < view->nprocesses; i++) {
        const struct view_process *process = &view->processes[i];
        struct proc_sampler at;
        struct convoy *convoy =
            may_be_convoy(view, process) ? find_convoy(convoys, process, root) : NULL;
        if (!convoy || !proc_sampler_open(process, root, &at))
            continue;
        uint64_t seed = clock_timer_ns();
        for (unsigned look = 0; look < LOOKS && look_at_threads(process, &at, convoy); look++)
            clock_sleep_until(clock_timer_ns() + random_next(&seed) % GAP_NS);
        proc_sampler_close(&at);
    }
}

void hung_finish(const struct view *view, const char *root, struct hung *hung)
{
    size_t kept = 0;
    for (size_t i = 0; i < hung->n; i++) {
        const struct hung_process then = hung->found[i];
        const struct view_process *process = view_find(view, then.pid);
        struct hung_process now;
        if (process && process->start_ticks == then.start_ticks && is_hung(root, process, &now) &&
            now.threads == then.threads && now.switches == then.switches)
            hung->found[kept++] = then;
    }
    hung->n = kept;
}
