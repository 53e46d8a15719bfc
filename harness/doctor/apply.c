#include "harness/doctor/apply.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness/doctor/reader_parts.h"
#include "harness/sys/affinity.h"
#include "harness/sys/file.h"

static const char heading[] = "contend doctor state 1\n";
enum { STATE_MOST = 1 << 26 };

int apply_state_path(char *path, size_t size, struct err *err)
{
    const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
    char folder[PATH_MAX];
    int n;
    if (state && state[0] == '/')
        n = snprintf(folder, sizeof(folder), "%s/contend", state);
    else if (home && home[0] == '/')
        n = snprintf(folder, sizeof(folder), "%s/.local/state/contend", home);
    else
        return err_set(err, -ENOENT, "no home for the state file: set HOME, or --state FILE");
    if ((size_t)n >= sizeof(folder) ||
        (size_t)snprintf(path, size, "%s/doctor.state", folder) >= size)
        return err_set(err, -ENAMETOOLONG, "the path of the state file is too long");
    return 0;
}

int apply_make_folder(const char *path, struct err *err)
{
    char folder[PATH_MAX];
    if ((size_t)snprintf(folder, sizeof(folder), "%s", path) >= sizeof(folder))
        return err_set(err, -ENAMETOOLONG, "the path of the state file is too long");
    for (char *slash = strchr(folder + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        int rc = mkdir(folder, 0700) && errno != EEXIST ? -errno : 0;
        if (rc)
            return err_sys(err, rc, "cannot make %.150s; take --state FILE", folder);
        *slash = '/';
    }
    return 0;
}

/* In clock ticks since boot; 0 = it has ended. */
static unsigned long long start_of(pid_t pid, pid_t tid)
{
    char path[64], buf[READER_STAT_MAX];
    int once = -1;
    struct reader_stat stat = {0};
    (void)snprintf(path, sizeof(path), "/proc/%d/task/%d/stat", (int)pid, (int)tid);
    bool there = reader_read(AT_FDCWD, path, &once, buf, sizeof(buf)) &&
                 reader_parse_stat(buf, &stat) && stat.state != 'Z';
    return there ? stat.start_ticks : 0;
}

/* Of that number, and started then. */
static bool is_same(pid_t pid, pid_t tid, unsigned long long start_ticks)
{
    return start_ticks && start_of(pid, tid) == start_ticks;
}

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
    (void)fprintf(out, "%d %llu %d %llu %s\n", (int)pid, start_of(pid, pid), (int)tid,
                  start_of(pid, tid), bitset_format(&mask, list, sizeof(list)));
    return 0;
}

static bool is_there(const struct apply_process *process)
{
    return is_same(process->pid, process->pid, process->start_ticks);
}

static int write_state(const struct apply_process *processes, size_t n, const char *path,
                       struct err *err)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    if (!out)
        return err_set(err, -ENOMEM, "out of memory for the state");
    (void)fputs(heading, out);
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

int apply_bind(const struct apply_process *processes, size_t n, const char *state_path,
               size_t *bound, struct err *err)
{
    int rc = 0;
    *bound = 0;
    if (access(state_path, F_OK) == 0)
        return err_set(err, -EEXIST,
                       "%.150s is of an earlier --apply: put that back first, with --undo",
                       state_path);
    for (size_t i = 0; i < n; i++)
        if (processes[i].is_lead && !is_there(&processes[i]))
            return not_same(processes[i].pid, processes[i].name, err);
    rc = write_state(processes, n, state_path, err);
    for (size_t i = 0; i < n && !rc; i++)
        rc = bind_process(&processes[i], bound, err);
    return rc;
}

/* A line of the state file. */
struct kept {
    pid_t pid, tid;
    unsigned long long start_ticks, task_start_ticks;
    struct bitset mask;
};

static bool parse_kept(const char *line, struct kept *kept)
{
    int pid, tid, at = 0;
    if (sscanf(line, "%d %llu %d %llu %n", &pid, &kept->start_ticks, &tid, &kept->task_start_ticks,
               &at) != 4 ||
        !at || pid < 1 || tid < 1)
        return false;
    kept->pid = pid;
    kept->tid = tid;
    return bitset_parse(line + at, &kept->mask, NULL) == 0;
}

/* Threads that are new get what the first one had; then each that was there its own. */
static int restore(const struct kept *kept, struct err *err)
{
    struct binding binding = {.cpus = kept->mask};
    if (kept->tid == kept->pid)
        (void)each_task(kept->pid, bind_task, &binding);
    else if (is_same(kept->pid, kept->tid, kept->task_start_ticks))
        (void)bind_task(kept->pid, kept->tid, &binding);
    return binding.rc ? err_sys(err, binding.rc, "cannot put back the mask of thread %d of %d",
                                (int)binding.tid, (int)kept->pid)
                      : 0;
}

static int restore_all(char *text, size_t *restored, size_t *gone, struct err *err)
{
    char *rest = NULL;
    int rc = 0;
    for (char *line = strtok_r(text, "\n", &rest); line && !rc;
         line = strtok_r(NULL, "\n", &rest)) {
        struct kept kept;
        if (!parse_kept(line, &kept))
            return err_set(err, -EINVAL, "the state file has a line that is none: %.80s", line);
        bool there = is_same(kept.pid, kept.pid, kept.start_ticks);
        if (kept.pid == kept.tid)
            *(there ? restored : gone) += 1;
        if (there)
            rc = restore(&kept, err);
    }
    return rc;
}

int apply_undo(const char *state_path, size_t *restored, size_t *gone, struct err *err)
{
    char *text = NULL;
    size_t size;
    *restored = *gone = 0;
    int rc = file_read(AT_FDCWD, state_path, STATE_MOST, &text, &size);
    if (rc == -ENOENT)
        return err_set(err, rc, "there is nothing to undo: no %.150s", state_path);
    if (rc)
        return err_sys(err, rc, "cannot read %.150s", state_path);
    if (strncmp(text, heading, strlen(heading)) != 0)
        rc = err_set(err, -EINVAL, "%.150s is no state file of contend doctor", state_path);
    if (!rc)
        rc = restore_all(text + strlen(heading), restored, gone, err);
    if (!rc && remove(state_path))
        rc = err_sys(err, -errno, "cannot remove %.150s", state_path);
    free(text);
    return rc;
}
