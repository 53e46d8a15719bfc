#include "harness/doctor/reader/reader.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness/doctor/reader/reader_parts.h"
#include "harness/lib/array.h"
#include "harness/lib/sys/clock.h"
#include "harness/lib/sys/file.h"

int reader_open_file(int dir_fd, const char *name)
{
    return openat(dir_fd, name, O_RDONLY | O_CLOEXEC);
}

bool reader_read(int dir_fd, const char *name, int *fd, char *buf, size_t size)
{
    int used = *fd > 0 ? *fd : reader_open_file(dir_fd, name);
    if (used < 0)
        return false;
    ssize_t n = pread(used, buf, size - 1, 0);
    buf[n > 0 ? n : 0] = '\0';
    if (*fd == 0)
        *fd = used;
    else if (*fd < 0)
        (void)close(used);
    return n > 0;
}

char *reader_read_long(struct reader *reader, int dir_fd, const char *name)
{
    enum { FIRST = 1 << 16, MOST = 1 << 26 };
    size_t used = 0;
    ssize_t n = 0;
    int fd = reader_open_file(dir_fd, name);
    if (fd < 0)
        return NULL;
    do {
        if (used + 1 >= reader->text_size) {
            size_t larger = reader->text_size ? 2 * reader->text_size : FIRST;
            char *grown = larger <= MOST ? realloc(reader->text, larger) : NULL;
            if (!grown)
                break;
            reader->text = grown;
            reader->text_size = larger;
        }
        n = pread(fd, reader->text + used, reader->text_size - 1 - used, (off_t)used);
        used += n > 0 ? (size_t)n : 0;
    } while (n > 0);
    (void)close(fd);
    if (reader->text)
        reader->text[used] = '\0';
    return n < 0 && !used ? NULL : reader->text;
}

/* False: it has ended, or its pid is reused. */
static bool read_process(struct reader *reader, struct view_process *process, bool mark)
{
    char name[32], buf[TASK_STAT_MAX];
    struct task_stat stat;
    (void)snprintf(name, sizeof(name), "%d/stat", (int)process->pid);
    if (!reader_read(reader->proc_fd, name, &process->source.stat_fd, buf, sizeof(buf)) ||
        !task_parse_stat(buf, &stat))
        return false;
    if (process->start_ticks && process->start_ticks != stat.start_ticks)
        return false;
    bool is_new = !process->start_ticks;
    struct view_process_source *source = &process->source;
    memcpy(process->name, stat.name, sizeof(process->name));
    process->start_ticks = stat.start_ticks ? stat.start_ticks : 1;
    process->parent = stat.parent;
    process->state = stat.state;
    process->kernel = stat.kernel;
    process->threads = stat.threads;
    process->cpu = stat.cpu;
    process->realtime = stat.realtime;
    process->weight = stat.weight;
    source->used_s = stat.user_s + stat.system_s;
    if (mark)
        source->then_s = source->used_s;
    if (is_new && source->stat_fd > 0) {
        struct stat file;
        process->uid = fstat(source->stat_fd, &file) == 0 ? file.st_uid : 0;
    }
    process->cpu_s = fmax(source->used_s - source->then_s, 0);
    return true;
}

static void close_process(struct view_process *process)
{
    reader_close_tasks(process);
    if (process->source.stat_fd > 0)
        (void)close(process->source.stat_fd);
    if (process->source.dir_fd > 0)
        (void)close(process->source.dir_fd);
    free(process->about);
    free(process->command);
    free(process->settings);
    process->command = process->settings = NULL;
    process->tasks = NULL;
    process->about = NULL;
}

static int by_pid(const void *a, const void *b)
{
    const struct view_process *one = a, *other = b;
    return (one->pid > other->pid) - (one->pid < other->pid);
}

static int add_process(struct reader *reader, pid_t pid, struct err *err)
{
    struct view *view = &reader->view;
    struct view_process *grown =
        array_grown(view->processes, view->nprocesses, &view->capacity, sizeof(*grown));
    if (!grown)
        return err_set(err, -ENOMEM, "out of memory for %zu processes", view->nprocesses);
    view->processes = grown;
    struct view_process *process = &grown[view->nprocesses];
    *process = (struct view_process){.pid = pid, .mask = -1, .parent_mask = -1};
    for (int kind = 0; kind < CGROUP_KINDS; kind++)
        process->cgroup[kind] = -1;
    process->source.is_listed = true;
    if (read_process(reader, process, true))
        view->nprocesses++;
    else
        close_process(process);
    return 0;
}

/* Removes ended processes and closes the gaps. */
static void drop_ended(struct view *view)
{
    size_t kept = 0;
    for (size_t i = 0; i < view->nprocesses; i++) {
        if (view->processes[i].source.is_listed)
            view->processes[kept++] = view->processes[i];
        else
            close_process(&view->processes[i]);
    }
    view->nprocesses = kept;
}

/* With READER_MASKS, only new and watched ones are read: many machines have thousands. */
static int list_processes(struct reader *reader, enum reader_scope scope, bool mark,
                          struct err *err)
{
    struct view *view = &reader->view, sorted = {0}; /* the processes known before */
    int rc = 0;
    for (size_t i = 0; i < view->nprocesses; i++) {
        struct view_process *process = &view->processes[i];
        process->source.is_listed =
            (scope == READER_MASKS && !process->watched) || read_process(reader, process, mark);
    }
    drop_ended(view);
    const size_t before = view->nprocesses;
    for (size_t i = 0; i < before; i++)
        view->processes[i].source.is_listed = view->processes[i].watched;
    DIR *all = file_open_folder(reader->proc_fd, ".");
    for (pid_t pid; (pid = task_next(&all));) {
        sorted.nprocesses = before;
        sorted.processes = view->processes;
        struct view_process *known = view_find(&sorted, pid);
        if (known)
            known->source.is_listed = true;
        else if (!rc)
            rc = add_process(reader, pid, err);
    }
    const bool has_new = view->nprocesses > before;
    drop_ended(view);
    if (has_new)
        qsort(view->processes, view->nprocesses, sizeof(view->processes[0]), by_pid);
    return rc;
}

/* Raises the limit of open files to its maximum: each task needs some. */
static void allow_descriptors(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur == limit.rlim_max)
        return;
    limit.rlim_cur = limit.rlim_max;
    (void)setrlimit(RLIMIT_NOFILE, &limit);
}

int reader_open(const char *root, struct reader *reader, struct err *err)
{
    char path[PATH_MAX];
    *reader = (struct reader){.proc_fd = -1};
    reader->view.uid = geteuid();
    reader->view.is_root = reader->view.uid == 0;
    /* Makes the path absolute, as cgroup files are opened by full path. */
    if (root[0] && !realpath(root, path))
        return err_sys(err, -errno, "cannot read '%.150s'", root);
    (void)snprintf(reader->root, sizeof(reader->root), "%.255s", root[0] ? path : "");
    (void)snprintf(path, sizeof(path), "%s/proc", reader->root);
    allow_descriptors();
    reader->proc_fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (reader->proc_fd < 0)
        return err_sys(err, -errno, "cannot read %.150s", path);
    int rc = reader_open_machine(reader, err);
    if (!rc)
        rc = list_processes(reader, READER_WHOLE, true, err);
    if (!rc && !reader->view.nprocesses)
        rc = err_set(err, -EIO, "%.150s has no processes: is it mounted?", path);
    if (!rc)
        reader_find_hidden(reader);
    return rc;
}

void reader_close(struct reader *reader)
{
    for (size_t i = 0; i < reader->view.nprocesses; i++)
        close_process(&reader->view.processes[i]);
    reader->view.nprocesses = 0;
    if (reader->proc_fd > 0)
        (void)close(reader->proc_fd);
    free(reader->text);
    view_free(&reader->view);
    *reader = (struct reader){.proc_fd = -1};
}

/* Keeps the folder of the process open: later reads cannot hit a process that reuses the pid. */
static int watch(struct reader *reader, struct view_process *process, struct err *err)
{
    char name[32];
    bool is_self = !reader->root[0] && process->pid == getpid();
    if (process->watched || is_self)
        return 0;
    (void)snprintf(name, sizeof(name), "%d", (int)process->pid);
    process->source.dir_fd = openat(reader->proc_fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (process->source.dir_fd < 0 && errno == EMFILE)
        return err_sys(err, -EMFILE, "too many processes to watch (ulimit -n)");
    if (process->source.dir_fd < 0 || !reader_list_tasks(process))
        return 0;
    process->watched = true;
    reader_read_disk(process, true);
    reader_read_tasks(reader, process, true);
    (void)reader_read_masks(reader, process);
    int rc = reader_read_starts(reader, process, err);
    if (!rc)
        rc = reader_read_weights(reader, process, err);
    return rc ? rc : reader_read_about(reader, process, err);
}

/* Watches the children that watched processes have started since. */
static int watch_children(struct reader *reader, struct err *err)
{
    struct view *view = &reader->view;
    int rc = 0;
    for (size_t i = 0; i < view->nprocesses && !rc; i++) {
        struct view_process *process = &view->processes[i];
        const struct view_process *parent =
            process->watched ? NULL : view_find(view, process->parent);
        if (parent && parent->watched && process->state != 'Z')
            rc = watch(reader, process, err);
    }
    return rc;
}

static bool is_below(const struct view *view, const struct view_process *process,
                     const struct view_process *top)
{
    for (size_t hops = 0; process && hops < view->nprocesses; hops++) {
        if (process == top)
            return true;
        process = view_find(view, process->parent);
    }
    return false;
}

static int watch_tree(struct reader *reader, const struct view_process *top, struct err *err)
{
    int rc = 0;
    for (size_t p = 0; p < reader->view.nprocesses && !rc; p++)
        if (is_below(&reader->view, &reader->view.processes[p], top))
            rc = watch(reader, &reader->view.processes[p], err);
    return rc;
}

int reader_watch_gpu_users(struct reader *reader, struct err *err)
{
    int rc = 0;
    for (size_t i = 0; i < reader->view.nprocesses && !rc; i++)
        if (reader->view.processes[i].gpus)
            rc = watch_tree(reader, &reader->view.processes[i], err);
    return rc;
}

int reader_watch_pids(struct reader *reader, const pid_t *pids, size_t n, struct err *err)
{
    struct view *view = &reader->view;
    for (size_t i = 0; i < n; i++) {
        const struct view_process *top = view_find(view, pids[i]);
        if (!top && reader_add_hidden(reader, pids[i]))
            continue;
        if (!top)
            return err_set(err, -ESRCH, "there is no process %d", (int)pids[i]);
        if (top->pid == getpid() && !reader->root[0])
            return err_set(err, -EINVAL, "process %d is this one", (int)pids[i]);
        if (top->state == 'Z')
            return err_set(err, -ESRCH, "process %d (%s) is a zombie: it has ended", (int)pids[i],
                           top->name);
        if (top->kernel)
            return err_set(err, -EINVAL, "process %d (%s) is a thread of the kernel", (int)pids[i],
                           top->name);
        int rc = watch_tree(reader, top, err);
        if (rc)
            return rc;
        if (!top->watched)
            return err_set(err, -ESRCH, "process %d has ended", (int)pids[i]);
    }
    return n && view->hidden.npids == n ? reader_refuse_hidden(reader, err) : 0;
}

int reader_watch_busy(struct reader *reader, double share, size_t *n, struct err *err)
{
    struct view *view = &reader->view;
    int rc = 0;
    *n = 0;
    for (size_t i = 0; i < view->nprocesses && !rc; i++) {
        struct view_process *process = &view->processes[i];
        bool is_asked = process->cpu_s >= share * view->wall_s;
        if (process->kernel || process->state == 'Z' || !is_asked)
            continue;
        rc = watch(reader, process, err);
        *n += process->watched;
    }
    return rc;
}

/*
 * Most threads of most processes sleep, so a process that used less than a tick of CPU time since
 * the last read is not read again.
 */
static void read_one(struct reader *reader, struct view_process *process, enum reader_scope scope,
                     bool mark)
{
    bool slept = process->source.read_s == process->source.used_s;
    bool listed = process->threads == process->ntasks && !process->source.lost_task;
    if (slept && listed) {
        if (mark)
            reader_mark_tasks(reader, process);
        return;
    }
    if (!listed)
        (void)reader_list_tasks(process);
    reader_read_tasks(reader, process, mark);
    /* Same number and none lost means the same tasks. Listing is expensive, so it is avoided. */
    if (process->source.lost_task && scope == READER_WHOLE && reader_list_tasks(process))
        reader_read_tasks(reader, process, mark);
    if (scope == READER_WHOLE)
        (void)reader_read_masks(reader, process);
}

static void read_watched(struct reader *reader, enum reader_scope scope, bool mark)
{
    struct view *view = &reader->view;
    for (size_t i = 0; i < view->nprocesses; i++) {
        struct view_process *process = &view->processes[i];
        /* An ended process is dropped at the next whole tick. */
        if (process->watched && (scope == READER_WHOLE || read_process(reader, process, mark)))
            read_one(reader, process, scope, mark);
        if (process->watched && scope == READER_WHOLE)
            reader_read_disk(process, mark);
    }
}

/* Reads which CPUs unwatched processes that ran compete for, and with which weight. */
static int read_others(struct reader *reader, struct err *err)
{
    static const double least_cpus = 0.002;
    int rc = 0;
    for (size_t i = 0; i < reader->view.nprocesses && !rc; i++) {
        struct view_process *process = &reader->view.processes[i];
        if (process->watched || process->cpu_s <= least_cpus * reader->view.wall_s)
            continue;
        process->mask = reader_mask(reader, process, process->pid);
        rc = reader_read_weights(reader, process, err);
    }
    return rc;
}

/* Times cost more than masks: they are read in three ticks after a change, and in one of ten. */
static int tick_masks(struct reader *reader, struct err *err)
{
    enum { SETTLED = 3, RARELY = 10 };
    bool changed = false;
    int rc = list_processes(reader, READER_MASKS, false, err);
    for (size_t i = 0; i < reader->view.nprocesses; i++) {
        struct view_process *process = &reader->view.processes[i];
        if (process->watched && process->threads != process->ntasks)
            (void)reader_list_tasks(process);
        changed |= process->watched && reader_read_masks(reader, process);
    }
    reader->quiet_ticks = changed ? 0 : reader->quiet_ticks + 1;
    reader->has_times = reader->quiet_ticks < SETTLED || reader->quiet_ticks % RARELY == 0;
    if (reader->has_times)
        read_watched(reader, READER_WATCHED, false);
    return rc ? rc : watch_children(reader, err);
}

static int tick(struct reader *reader, enum reader_scope scope, bool mark, struct err *err)
{
    int rc = 0;
    struct view *view = &reader->view;
    if (scope == READER_MASKS && reader->has_times)
        reader_roll(reader);
    reader->tick_ns = clock_now_ns();
    if (mark) {
        reader->has_times = true;
        reader->quiet_ticks = 0;
        reader->mark_ns = reader->tick_ns;
        reader->own_mark_ns = clock_thread_cpu_ns();
    }
    view->wall_s = (double)(reader->tick_ns - reader->mark_ns) / 1e9;
    view->now_s = (double)reader->tick_ns / 1e9;
    if (scope == READER_WHOLE)
        rc = reader_read_machine(reader, mark, err);
    if (!rc && scope == READER_WHOLE)
        rc = list_processes(reader, scope, mark, err);
    if (!rc && scope == READER_WHOLE)
        rc = watch_children(reader, err);
    if (!rc && scope == READER_WHOLE)
        rc = read_others(reader, err);
    if (!rc && scope == READER_MASKS)
        rc = tick_masks(reader, err);
    else if (!rc) {
        read_watched(reader, scope, mark);
        reader_read_cgroups(reader, mark);
        if (reader->samples && !mark && !reader->root[0]) {
            reader_begin_samples(reader);
            if (scope == READER_WHOLE)
                reader_finish_samples(reader);
        }
    }
    view->own_s = (double)(clock_thread_cpu_ns() - reader->own_mark_ns) / 1e9;
    return rc;
}

int reader_mark(struct reader *reader, struct err *err)
{
    return tick(reader, READER_WHOLE, true, err);
}

int reader_tick(struct reader *reader, enum reader_scope scope, struct err *err)
{
    return tick(reader, scope, false, err);
}

void reader_roll(struct reader *reader)
{
    struct view *view = &reader->view;
    for (size_t i = 0; i < view->nprocesses; i++) {
        view->processes[i].source.then_s = view->processes[i].source.used_s;
        reader_mark_tasks(reader, &view->processes[i]);
    }
    reader_roll_machine(reader);
    reader_roll_cgroups(reader);
    reader->mark_ns = reader->tick_ns;
    reader->own_mark_ns = clock_thread_cpu_ns();
}

static int parse(const struct opt_texts *texts, pid_t pids[OPT_TEXTS_MOST], struct err *err)
{
    for (size_t i = 0; i < texts->n; i++) {
        char *end;
        errno = 0;
        long pid = strtol(texts->text[i], &end, 10);
        if (end == texts->text[i] || *end || errno || pid < 1 || pid > INT_MAX)
            return err_set(err, -EINVAL, "'%.60s' is not the number of a process", texts->text[i]);
        pids[i] = (pid_t)pid;
    }
    return 0;
}

int processes_watch(const struct opt_texts *texts, bool gpu_procs, struct reader *reader,
                    pid_t pids[OPT_TEXTS_MOST], struct err *err)
{
    int rc = parse(texts, pids, err);
    if (rc || gpu_procs)
        return rc ? rc : processes_watch_gpu_users(reader, err);
    return texts->n ? reader_watch_pids(reader, pids, texts->n, err) : 0;
}
