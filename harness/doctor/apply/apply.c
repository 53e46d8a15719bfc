#include "harness/doctor/apply/apply.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/doctor/reader/reader_parts.h"
#include "harness/lib/base/array.h"
#include "harness/lib/files/file.h"
#include "harness/lib/sys/affinity.h"

static int not_same(pid_t pid, const char *name, struct err *err)
{
    return err_set(err, -ESRCH, "process %d (%.15s) has ended, or its number is another one's now",
                   (int)pid, name);
}

/* Calls `each` for every thread, again while there are new ones: a thread starts with the mask of
 * the one that starts it. */
static int each_task(pid_t pid, int (*each)(pid_t pid, pid_t tid, void *arg), void *arg)
{
    char path[48];
    int rc = 0;
    (void)snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
    DIR *dir = opendir(path);
    if (!dir)
        return -ESRCH;
    for (struct dirent *entry = readdir(dir); entry && !rc; entry = readdir(dir)) {
        pid_t tid = (pid_t)strtol(entry->d_name, NULL, 10);
        rc = tid > 0 ? each(pid, tid, arg) : 0;
    }
    (void)closedir(dir);
    return rc;
}

/* "PID START TID START MASK": the first thread of a process comes first. */
static int write_task(pid_t pid, pid_t tid, void *arg)
{
    FILE *out = arg;
    struct bitset mask;
    char list[BITSET_LIST_MAX];
    if (affinity_get(tid, &mask))
        return 0; /* it ended */
    (void)fprintf(out, "%d %llu %d %llu %s\n", (int)pid, apply_start_of(pid, pid), (int)tid,
                  apply_start_of(pid, tid), bitset_format(&mask, list, sizeof(list)));
    return 0;
}

static bool is_there(const struct apply_process *process)
{
    return apply_is_same(process->pid, process->pid, process->start_ticks);
}

static int write_state(const struct apply_process *processes, size_t n, enum apply_purpose purpose,
                       const char *path, struct err *err)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    if (!out)
        return err_set(err, -ENOMEM, "out of memory for the state");
    apply_state_head(out, purpose);
    for (size_t i = 0; i < n; i++)
        if (is_there(&processes[i]))
            (void)each_task(processes[i].pid, write_task, out);
    int rc = fclose(out) ? -ENOMEM : file_replace(AT_FDCWD, path, text, size);
    free(text);
    return rc ? err_sys(err, rc, "cannot write the state to %.150s", path) : 0;
}

struct binding {
    struct bitset cpus;
    int rc;
    pid_t tid; /* where it failed */
};

static int bind_task(pid_t pid, pid_t tid, void *arg)
{
    struct binding *binding = arg;
    (void)pid;
    int rc = affinity_set(tid, &binding->cpus);
    if (rc && rc != -ESRCH && !binding->rc) {
        binding->rc = rc;
        binding->tid = tid;
    }
    return 0;
}

static int compare_task(pid_t pid, pid_t tid, void *arg)
{
    struct binding *binding = arg;
    struct bitset mask;
    (void)pid;
    if (affinity_get(tid, &mask) == 0 && !bitset_equal(&mask, &binding->cpus) && !binding->rc) {
        binding->rc = -EIO;
        binding->tid = tid;
    }
    return 0;
}

/* Twice: a thread that was started meanwhile has the mask of one that was not yet bound. *bound:
 * none where it has ended. */
static int bind_process(const struct apply_process *process, size_t *bound, struct err *err)
{
    struct binding binding = {.cpus = process->cpus};
    char list[BITSET_LIST_MAX];
    for (int pass = 0; pass < 2; pass++) {
        if (!is_there(process))
            return process->is_lead ? not_same(process->pid, process->name, err) : 0;
        (void)each_task(process->pid, bind_task, &binding);
    }
    if (!binding.rc)
        (void)each_task(process->pid, compare_task, &binding);
    *bound += !binding.rc;
    (void)bitset_format(&process->cpus, list, sizeof(list));
    if (binding.rc == -EIO)
        return err_set(err, -EIO, "thread %d of process %d is not on CPUs %.100s, read back",
                       (int)binding.tid, (int)process->pid, list);
    return binding.rc ? err_sys(err, binding.rc, "cannot bind process %d (%.15s) to CPUs %.100s",
                                (int)process->pid, process->name, list)
                      : 0;
}

/* One that is below a listed process and is not listed itself. */
struct stray {
    pid_t pid, parent;
    unsigned long long start_ticks;
    char name[16];
    size_t of; /* the index of the nearest listed one above it */
};

static int by_pid(const void *a, const void *b)
{
    const struct stray *one = a, *other = b;
    return (one->pid > other->pid) - (one->pid < other->pid);
}

/* All processes there are, sorted. */
static int list_processes(struct stray **out, size_t *n)
{
    size_t capacity = 0;
    DIR *dir = opendir("/proc");
    int rc = dir ? 0 : -errno;
    for (struct dirent *entry; (entry = file_next(&dir));) {
        char path[64], buf[READER_STAT_MAX];
        int once = -1;
        struct reader_stat stat;
        pid_t pid = (pid_t)strtol(entry->d_name, NULL, 10);
        (void)snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
        if (pid < 1 || !reader_read(AT_FDCWD, path, &once, buf, sizeof(buf)) ||
            !reader_parse_stat(buf, &stat) || stat.state == 'Z')
            continue;
        struct stray *added = array_add(*out, *n, capacity);
        if (!added)
            continue;
        *added = (struct stray){.pid = pid, .parent = stat.parent, .start_ticks = stat.start_ticks};
        memcpy(added->name, stat.name, sizeof(added->name));
    }
    if (*n)
        qsort(*out, *n, sizeof(**out), by_pid);
    return rc;
}

/* The index in `listed` of the nearest one above; n = none. */
static size_t find_above(const struct stray *all, size_t nall, const struct stray *of,
                         const pid_t *listed, size_t n)
{
    for (size_t hops = 0; of && hops < nall; hops++) {
        const struct stray key = {.pid = of->parent};
        for (size_t i = 0; i < n; i++)
            if (listed[i] == of->parent)
                return i;
        of = bsearch(&key, all, nall, sizeof(*all), by_pid);
    }
    return n;
}

static bool is_listed(const pid_t *listed, size_t n, pid_t pid)
{
    for (size_t i = 0; i < n; i++)
        if (listed[i] == pid)
            return true;
    return false;
}

/* Finds processes that the listed ones have started since they were listed. free() *strays. */
static int find_strays(const pid_t *listed, size_t n, struct stray **strays, size_t *nstrays)
{
    size_t nall = 0;
    *strays = NULL;
    *nstrays = 0;
    int rc = list_processes(strays, &nall);
    struct stray *all = *strays, *found = calloc(nall + 1, sizeof(*found));
    for (size_t i = 0; found && i < nall; i++) {
        all[i].of =
            is_listed(listed, n, all[i].pid) ? n : find_above(all, nall, &all[i], listed, n);
        if (all[i].of < n)
            found[(*nstrays)++] = all[i];
    }
    free(all);
    *strays = found;
    return found ? rc : -ENOMEM;
}

/* The listed ones, and what they have started meanwhile. free() *all. */
static int add_strays(const struct apply_process *processes, size_t n, struct apply_process **all,
                      size_t *nall, struct err *err)
{
    struct stray *strays = NULL;
    size_t nstrays = 0;
    pid_t *listed = calloc(n + 1, sizeof(*listed));
    for (size_t i = 0; listed && i < n; i++)
        listed[i] = processes[i].pid;
    int rc = listed ? find_strays(listed, n, &strays, &nstrays) : -ENOMEM;
    *all = calloc(n + nstrays + 1, sizeof(**all));
    if (rc || !*all)
        rc = err_sys(err, rc ? rc : -ENOMEM, "cannot list the processes");
    for (size_t i = 0; !rc && i < n; i++)
        (*all)[i] = processes[i];
    for (size_t i = 0; !rc && i < nstrays; i++) {
        struct apply_process *one = &(*all)[n + i];
        *one = (struct apply_process){.pid = strays[i].pid,
                                      .start_ticks = strays[i].start_ticks,
                                      .cpus = processes[strays[i].of].cpus};
        memcpy(one->name, strays[i].name, sizeof(one->name));
    }
    *nall = n + nstrays;
    free(listed);
    free(strays);
    return rc;
}

int apply_bind(const struct apply_process *processes, size_t n, enum apply_purpose purpose,
               const char *state_path, size_t *bound, struct err *err)
{
    struct apply_process *all = NULL;
    size_t nall = 0;
    *bound = 0;
    if (access(state_path, F_OK) == 0)
        return err_set(err, -EEXIST,
                       "%.150s is of an earlier --apply: put that back first, with --undo",
                       state_path);
    for (size_t i = 0; i < n; i++)
        if (processes[i].is_lead && !is_there(&processes[i]))
            return not_same(processes[i].pid, processes[i].name, err);
    int rc = add_strays(processes, n, &all, &nall, err);
    if (!rc)
        rc = write_state(all, nall, purpose, state_path, err);
    for (size_t i = 0; i < nall && !rc; i++)
        rc = bind_process(&all[i], bound, err);
    free(all);
    return rc;
}

static int put_back(pid_t pid, const struct binding *done, struct err *err)
{
    return done->rc ? err_sys(err, done->rc, "cannot put back the mask of thread %d of %d",
                              (int)done->tid, (int)pid)
                    : 0;
}

/* Threads that are new get what the first one had; then each that was there its own. */
static int restore(const struct apply_mask *kept, struct err *err)
{
    struct binding binding = {.cpus = kept->mask};
    if (kept->tid == kept->pid)
        (void)each_task(kept->pid, bind_task, &binding);
    else if (apply_is_same(kept->pid, kept->tid, kept->task_start_ticks))
        (void)bind_task(kept->pid, kept->tid, &binding);
    return put_back(kept->pid, &binding, err);
}

/*
 * A child that a bound process started since has its mask, unless it chose another: undo that, too.
 */
static int restore_strays(const struct apply_mask *const *firsts, size_t n, struct err *err)
{
    struct stray *strays = NULL;
    size_t nstrays = 0;
    pid_t *listed = calloc(n + 1, sizeof(*listed));
    for (size_t i = 0; listed && i < n; i++)
        listed[i] = firsts[i]->pid;
    int rc = listed ? find_strays(listed, n, &strays, &nstrays) : -ENOMEM;
    if (rc)
        (void)err_sys(err, rc, "cannot list the processes");
    for (size_t i = 0; i < nstrays; i++) {
        const struct apply_mask *first = firsts[strays[i].of];
        struct binding binding = {.cpus = first->mask};
        struct bitset above, mask;
        if (affinity_get(first->pid, &above) || affinity_get(strays[i].pid, &mask) ||
            !bitset_equal(&above, &mask))
            continue;
        (void)each_task(strays[i].pid, bind_task, &binding);
        rc = rc ? rc : put_back(strays[i].pid, &binding, err);
    }
    free(listed);
    free(strays);
    return rc;
}

/* All that can be; the first error is told. */
static int restore_all(const struct apply_state *state, struct err *err)
{
    struct err later;
    size_t n = 0;
    const struct apply_mask **firsts = calloc(state->n + 1, sizeof(const void *));
    for (size_t i = 0; firsts && i < state->n; i++) {
        const struct apply_mask *kept = &state->masks[i];
        if (kept->pid == kept->tid && apply_is_same(kept->pid, kept->pid, kept->start_ticks))
            firsts[n++] = kept;
    }
    int rc = firsts ? restore_strays(firsts, n, err) : err_sys(err, -ENOMEM, "cannot undo");
    for (size_t i = 0; i < state->n; i++) {
        const struct apply_mask *kept = &state->masks[i];
        if (!apply_is_same(kept->pid, kept->pid, kept->start_ticks))
            continue;
        int failed = restore(kept, rc ? &later : err);
        rc = rc ? rc : failed;
    }
    free(firsts);
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
                     "'contend doctor --verify' is at work, and undoes what it did: to end it now "
                     "type kill %d",
                     (int)left->owner);
    if (!rc)
        rc = restore_all(&state, err);
    if (!rc && remove(state_path) && errno != ENOENT)
        rc = err_sys(err, -errno, "cannot remove %.150s", state_path);
    free(state.masks);
    return rc;
}
