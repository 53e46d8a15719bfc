#include "harness/doctor/apply.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/doctor/reader/reader.h"
#include "harness/lib/array.h"
#include "harness/lib/sys/affinity.h"
#include "harness/lib/sys/clock.h"
#include "harness/lib/sys/file.h"
#include "harness/lib/sys/log.h"
#include "harness/lib/sys/task.h"

static int err_other_process(pid_t pid, const char *name, struct err *err)
{
    return err_set(err, -ESRCH, "process %d (%.15s) has ended, or its PID is reused", (int)pid,
                   name);
}

/* Calls `each` for every listed thread; threads that start meanwhile may be missed. */
static void for_each_task(pid_t pid, void (*each)(pid_t pid, pid_t tid, void *arg), void *arg)
{
    DIR *tasks = task_open(pid);
    for (pid_t tid; (tid = task_next(&tasks));)
        each(pid, tid, arg);
}

struct state_text {
    FILE *out;
    size_t n;
};

/* "PID START TID START MASK"; the first thread of a process comes first. */
static void write_task(pid_t pid, pid_t tid, void *arg)
{
    struct state_text *text = arg;
    struct bitset mask;
    if (affinity_get(tid, &mask))
        return; /* the thread has ended */
    text->n++;
    (void)fprintf(text->out, "%d %llu %d %llu %s\n", (int)pid,
                  (unsigned long long)task_started(pid, pid), (int)tid,
                  (unsigned long long)task_started(pid, tid), bitset_format(&mask));
}

static bool is_there(const struct apply_process *process)
{
    return apply_is_same(process->pid, process->pid, process->start_ticks);
}

/* The file comes first: while it exists, no other contend takes changed masks for original ones. */
static int write_state(const struct apply_process *processes, size_t n, enum apply_purpose purpose,
                       const char *path, struct err *err)
{
    char *all = NULL;
    size_t size = 0;
    struct state_text text = {.out = open_memstream(&all, &size)};
    if (!text.out)
        return err_set(err, -ENOMEM, "out of memory for the state");
    int fd = apply_state_create(path, err);
    if (fd >= 0)
        apply_state_head(text.out, purpose);
    for (size_t i = 0; i < n && fd >= 0; i++)
        if ((!i || processes[i - 1].pid != processes[i].pid) && is_there(&processes[i]))
            for_each_task(processes[i].pid, write_task, &text);
    apply_state_end(text.out, text.n);
    int rc = fclose(text.out) ? -ENOMEM : 0;
    if (fd < 0) {
        free(all);
        return fd;
    }
    rc = rc ? rc : file_write_at(fd, all, size, 0);
    rc = rc ? rc : file_sync(fd);
    if (close(fd) && !rc)
        rc = -errno;
    free(all);
    if (rc)
        (void)unlink(path);
    return rc ? err_sys(err, rc, "cannot write the state to %.150s", path) : 0;
}

struct binding {
    struct bitset cpus;
    int rc;
    pid_t tid; /* the thread where it failed */
};

static void bind_task(pid_t pid, pid_t tid, void *arg)
{
    struct binding *binding = arg;
    (void)pid;
    int rc = affinity_set(tid, &binding->cpus);
    if (rc && rc != -ESRCH && !binding->rc) {
        binding->rc = rc;
        binding->tid = tid;
    }
}

static void compare_task(pid_t pid, pid_t tid, void *arg)
{
    struct binding *binding = arg;
    struct bitset mask;
    (void)pid;
    if (affinity_get(tid, &mask) == 0 && !bitset_equal(&mask, &binding->cpus) && !binding->rc) {
        binding->rc = -EIO;
        binding->tid = tid;
    }
}

static void for_each_bound(const struct apply_process *process,
                           void (*each)(pid_t pid, pid_t tid, void *arg), void *arg)
{
    if (process->tid)
        each(process->pid, process->tid, arg);
    else
        for_each_task(process->pid, each, arg);
}

/* Binds in two passes: a thread started during the first one may have the mask of a thread that was
 * not bound yet. A process that has ended does not count in *bound. */
static int bind_process(const struct apply_process *process, size_t *bound, struct err *err)
{
    struct binding binding = {.cpus = process->cpus};
    for (int pass = 0; pass < 2; pass++) {
        if (!is_there(process))
            return process->is_lead ? err_other_process(process->pid, process->name, err) : 0;
        for_each_bound(process, bind_task, &binding);
    }
    if (!binding.rc)
        for_each_bound(process, compare_task, &binding);
    *bound += !binding.rc;
    const char *list = bitset_format(&process->cpus);
    if (binding.rc == -EIO)
        return err_set(err, -EIO, "thread %d of process %d is not on CPUs %.100s, read back",
                       (int)binding.tid, (int)process->pid, list);
    return binding.rc ? err_sys(err, binding.rc, "cannot bind process %d (%.15s) to CPUs %.100s",
                                (int)process->pid, process->name, list)
                      : 0;
}

/* The index in pids[n] of the process itself or of its nearest listed ancestor; n = none. */
static size_t find_listed(const struct view *view, const struct view_process *process,
                          const pid_t *pids, size_t n)
{
    for (size_t hops = 0; process && hops < view->nprocesses; hops++) {
        for (size_t i = 0; i < n; i++)
            if (pids[i] == process->pid)
                return i;
        process = view_find(view, process->parent);
    }
    return n;
}

/* Calls `each` for descendants of the listed processes that are not listed themselves. */
static int for_each_late_child(const pid_t *pids, size_t n,
                               void (*each)(void *arg, const struct view_process *late_child,
                                            size_t of),
                               void *arg, struct err *err)
{
    struct reader reader;
    const struct view *view = &reader.view;
    int rc = reader_open("", &reader, err);
    for (size_t i = 0; i < view->nprocesses && !rc; i++) {
        const struct view_process *process = &view->processes[i];
        size_t of = find_listed(view, process, pids, n);
        if (of < n && pids[of] != process->pid && process->state != 'Z')
            each(arg, process, of);
    }
    reader_close(&reader);
    return rc;
}

struct bindings {
    size_t n, capacity;
    struct apply_process *all; /* owned */
};

/* A child with another mask than the process above it chose that mask. Leaves the child out if
 * memory is short. */
static void add_late_child(void *arg, const struct view_process *late_child, size_t of)
{
    struct bindings *bindings = arg;
    struct bitset above, mask;
    if (bindings->all[of].tid || affinity_get(bindings->all[of].pid, &above) ||
        affinity_get(late_child->pid, &mask) || !bitset_equal(&above, &mask))
        return;
    struct apply_process *added = array_add(bindings->all, bindings->n, bindings->capacity);
    if (!added)
        return;
    *added = (struct apply_process){.pid = late_child->pid,
                                    .start_ticks = late_child->start_ticks,
                                    .cpus = bindings->all[of].cpus};
    memcpy(added->name, late_child->name, sizeof(added->name));
}

/* Lists the given processes and the children that they started meanwhile. */
static int list_all(const struct apply_process *processes, size_t n, struct bindings *bindings,
                    struct err *err)
{
    pid_t *pids = calloc(n + 1, sizeof(*pids));
    *bindings = (struct bindings){n, n, calloc(n + 1, sizeof(*processes))};
    int rc = pids && bindings->all ? 0 : err_set(err, -ENOMEM, "out of memory for processes");
    for (size_t i = 0; i < n && !rc; i++) {
        pids[i] = processes[i].pid;
        bindings->all[i] = processes[i];
    }
    if (!rc)
        rc = for_each_late_child(pids, n, add_late_child, bindings, err);
    free(pids);
    return rc;
}

int apply_bind(const struct apply_process *processes, size_t n, enum apply_purpose purpose,
               const char *state_path, size_t *bound, struct err *err)
{
    struct bindings bindings;
    *bound = 0;
    for (size_t i = 0; i < n; i++)
        if (processes[i].is_lead && !is_there(&processes[i]))
            return err_other_process(processes[i].pid, processes[i].name, err);
    int rc = list_all(processes, n, &bindings, err);
    if (!rc)
        rc = write_state(bindings.all, bindings.n, purpose, state_path, err);
    for (size_t i = 0; i < bindings.n && !rc; i++) {
        const size_t before = *bound;
        rc = bind_process(&bindings.all[i], bound, err);
        if (i && bindings.all[i - 1].pid == bindings.all[i].pid) /* another thread of it */
            *bound = before;
    }
    free(bindings.all);
    return rc;
}

static int err_not_restored(pid_t pid, const struct binding *done, struct err *err)
{
    return done->rc ? err_sys(err, done->rc, "cannot restore the mask of thread %d of %d",
                              (int)done->tid, (int)pid)
                    : 0;
}

/* Two passes, for the same reason as in bind_process. */
static void restore_tasks(pid_t pid, struct binding *binding)
{
    for (int pass = 0; pass < 2; pass++)
        for_each_task(pid, bind_task, binding);
}

/* The first thread's line restores all threads, so new ones too; other lines restore their own. */
static int restore(const struct apply_mask *kept, struct err *err)
{
    struct binding binding = {.cpus = kept->mask};
    if (kept->tid == kept->pid)
        restore_tasks(kept->pid, &binding);
    else if (apply_is_same(kept->pid, kept->tid, kept->task_start_ticks))
        bind_task(kept->pid, kept->tid, &binding);
    return err_not_restored(kept->pid, &binding, err);
}

struct restoring {
    const struct apply_mask **firsts; /* the line of each process that still exists */
    struct err *err;
    int rc; /* the first error; the rest is still undone */
};

/*
 * A child started since the change inherits the bound mask. Restores it unless the child chose
 * another mask.
 */
static void restore_late_child(void *arg, const struct view_process *late_child, size_t of)
{
    struct restoring *restoring = arg;
    const struct apply_mask *first = restoring->firsts[of];
    struct binding binding = {.cpus = first->mask};
    struct bitset above, mask;
    if (affinity_get(first->pid, &above) || affinity_get(late_child->pid, &mask) ||
        !bitset_equal(&above, &mask))
        return;
    restore_tasks(late_child->pid, &binding);
    if (!restoring->rc)
        restoring->rc = err_not_restored(late_child->pid, &binding, restoring->err);
}

static int restore_all(const struct apply_state *state, struct err *err)
{
    size_t n = 0;
    struct err later;
    struct restoring restoring = {.firsts = calloc(state->n + 1, sizeof(const void *)), .err = err};
    pid_t *pids = calloc(state->n + 1, sizeof(*pids));
    for (size_t i = 0; restoring.firsts && pids && i < state->n; i++) {
        const struct apply_mask *kept = &state->masks[i];
        if (kept->pid != kept->tid || !apply_is_same(kept->pid, kept->pid, kept->start_ticks))
            continue;
        restoring.firsts[n] = kept;
        pids[n++] = kept->pid;
    }
    int rc = restoring.firsts && pids
                 ? for_each_late_child(pids, n, restore_late_child, &restoring, err)
                 : err_sys(err, -ENOMEM, "cannot undo");
    rc = rc ? rc : restoring.rc;
    for (size_t i = 0; i < state->n; i++) {
        const struct apply_mask *kept = &state->masks[i];
        if (!apply_is_same(kept->pid, kept->pid, kept->start_ticks))
            continue;
        int failed = restore(kept, rc ? &later : err);
        rc = rc ? rc : failed;
    }
    free(restoring.firsts);
    free(pids);
    return rc;
}

int apply_undo(const char *state_path, pid_t ours, struct apply_left *left, struct err *err)
{
    struct apply_state state;
    int rc = apply_state_read(state_path, &state, err);
    *left = state.left;
    if (!rc && left->kind == APPLY_LEFT_NONE)
        rc = err_set(err, -ENOENT, "there is nothing to undo: no %.150s", state_path);
    if (!rc && left->kind == APPLY_LEFT_ELSEWHERE)
        rc = err_set(err, -EXDEV,
                     "%.120s is of another host or container: undo it there, or take --state FILE",
                     state_path);
    if (!rc && left->kind == APPLY_LEFT_AT_WORK && left->owner != ours)
        rc = err_set(err, -EBUSY,
                     "'contend doctor --verify' is running, and undoes its changes itself: to end "
                     "it now type kill %d",
                     (int)left->owner);
    if (!rc)
        rc = restore_all(&state, err);
    if (!rc && remove(state_path) && errno != ENOENT)
        rc = err_sys(err, -errno, "cannot remove %.150s", state_path);
    free(state.masks);
    return rc;
}

struct guarded {
    const char *state_path;
    pid_t owner;
    double limit_s;
    int fds[2];
};

/* Runs in the child. It leads its own process group, so Ctrl-C and Ctrl-Z do not reach it. */
static int guard_trial(void *arg)
{
    const struct guarded *of = arg;
    struct apply_left left;
    struct err err;
    char byte;
    uint64_t end_ns = clock_now_ns() + (uint64_t)(of->limit_s * 1e9);
    struct pollfd events = {.fd = of->fds[0], .events = POLLIN};
    int n;
    process_outlive_parent();
    (void)close(of->fds[1]);
    do {
        uint64_t at_ns = clock_now_ns();
        n = poll(&events, 1, at_ns < end_ns ? (int)((end_ns - at_ns) / 1000000) + 1 : 0);
    } while (n < 0 && errno == EINTR);
    if (n > 0 && read(of->fds[0], &byte, 1) == 1)
        return 0;
    int rc = apply_undo(of->state_path, of->owner, &left, &err);
    if (!rc)
        log_warn("contend doctor --verify %s: undone, %zu process%s may run where %s could before",
                 n > 0 ? "was killed" : "did not end in its time", left.nlive,
                 left.nlive == 1 ? "" : "es", left.nlive == 1 ? "it" : "they");
    else if (rc != -ENOENT)
        log_error("%s", err.msg);
    return rc != 0;
}

int apply_guard_start(struct apply_guard *guard, const char *state_path, double limit_s,
                      struct err *err)
{
    struct guarded of = {.state_path = state_path, .owner = getpid(), .limit_s = limit_s};
    *guard = (struct apply_guard){.fd = -1};
    if (pipe2(of.fds, O_CLOEXEC))
        return err_sys(err, -errno,
                       "no pipe for the process that undoes a change if contend is killed");
    int rc = process_start(&guard->process, true, guard_trial, &of);
    (void)close(of.fds[0]);
    guard->fd = of.fds[1];
    if (!rc)
        return 0;
    (void)close(guard->fd);
    return err_sys(err, rc, "cannot start the process that undoes a change if contend is killed");
}

void apply_guard_end(struct apply_guard *guard)
{
    static const double end_s = 10;
    int status;
    if (!guard->process.pid)
        return;
    (void)!write(guard->fd, "", 1);
    (void)close(guard->fd);
    (void)process_end(&guard->process, end_s, &status);
}
