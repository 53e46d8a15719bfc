#include "harness/doctor/reader/hung.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "harness/doctor/reader/proc_sampler.h"
#include "harness/lib/sys/proc.h"

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
