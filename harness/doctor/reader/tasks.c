#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/doctor/reader/reader_parts.h"
#include "harness/lib/array.h"
#include "harness/lib/sys/affinity.h"
#include "harness/lib/sys/file.h"
#include "harness/lib/sys/proc.h"

/*
 * Share of one CPU that a task wants since the mark: with less it gets no detailed read. Waiting
 * counts too: on crowded CPUs, the tasks that lose most run little. A team of 16 with a quota of
 * 0.2 CPUs uses more.
 */
static const double detailed_share = 0.01;
/* Most detailed reads per process and tick: each costs ten times a plain read. */
enum { DETAILED_MOST = 256, COUNTED_MOST = 64 };

/* Reads a mask from the status file, for a fake root. */
static bool read_mask_text(struct reader *reader, pid_t pid, pid_t tid, struct bitset *mask)
{
    char text[4096];
    return PROC_TEXT(reader->root, text, "/proc/%d/task/%d/status", (int)pid, (int)tid) &&
           proc_find_list(text, "Cpus_allowed_list", mask);
}

int reader_mask(struct reader *reader, const struct view_process *process, pid_t tid)
{
    struct bitset mask;
    bool known = reader->root[0] ? read_mask_text(reader, process->pid, tid, &mask)
                                 : affinity_get(tid, &mask) == 0;
    return known ? view_mask(&reader->view, &mask) : -1;
}

static struct view_task *find_task(struct view_process *process, pid_t tid, size_t hint)
{
    if (hint < process->ntasks && process->tasks[hint].tid == tid)
        return &process->tasks[hint];
    for (size_t i = 0; i < process->ntasks; i++)
        if (process->tasks[i].tid == tid)
            return &process->tasks[i];
    return NULL;
}

static void close_task(struct view_task *task)
{
    if (task->source.fd > 0)
        (void)close(task->source.fd);
    task->source.fd = -1;
    reader_close_sample(task);
}

void reader_close_tasks(struct view_process *process)
{
    for (size_t i = 0; i < process->ntasks; i++)
        close_task(&process->tasks[i]);
    free(process->tasks);
    process->tasks = NULL;
    process->ntasks = process->capacity = 0;
}

/* Leaves the task out if memory is short. */
static void add_task(struct view_process *process, pid_t tid)
{
    struct view_task *added = array_add(process->tasks, process->ntasks, process->capacity);
    if (!added)
        return;
    *added = (struct view_task){.tid = tid,
                                .mask = -1,
                                .mask_then = -1,
                                .cpu = -1,
                                .source = {.is_listed = true},
                                .migrations = NAN,
                                .user_s = NAN,
                                .system_s = NAN};
    process->turnover++;
}

static void drop_ended(struct view_process *process)
{
    size_t kept = 0;
    for (size_t i = 0; i < process->ntasks; i++) {
        if (process->tasks[i].source.is_listed)
            process->tasks[kept++] = process->tasks[i];
        else
            close_task(&process->tasks[i]);
    }
    process->turnover += (unsigned)(process->ntasks - kept);
    process->ntasks = kept;
}

bool reader_list_tasks(struct view_process *process)
{
    size_t hint = 0;
    DIR *dir = file_open_folder(process->source.dir_fd, "task");
    if (!dir)
        return false;
    for (size_t i = 0; i < process->ntasks; i++)
        process->tasks[i].source.is_listed = false;
    for (pid_t tid; (tid = task_next(&dir));) {
        struct view_task *task = find_task(process, tid, hint);
        if (task) {
            task->source.is_listed = true;
            hint = (size_t)(task - process->tasks) + 1;
        } else
            add_task(process, tid);
    }
    drop_ended(process);
    return process->ntasks > 0;
}

static bool read_stat(const struct view_process *process, const struct view_task *task,
                      struct task_stat *stat)
{
    char name[48], buf[TASK_STAT_MAX];
    int once = -1;
    (void)snprintf(name, sizeof(name), "task/%d/stat", (int)task->tid);
    return reader_read(process->source.dir_fd, name, &once, buf, sizeof(buf)) &&
           task_parse_stat(buf, stat);
}

static bool read_times(struct reader *reader, struct view_process *process, struct view_task *task)
{
    char name[48], buf[96];
    struct task_times times;
    struct task_stat stat;
    if (reader->view.has_schedstat) {
        if (task->source.fd <= 0)
            (void)snprintf(name, sizeof(name), "task/%d/schedstat", (int)task->tid);
        if (!reader_read(process->source.dir_fd, name, &task->source.fd, buf, sizeof(buf)))
            return false;
        (void)task_parse_times(buf, &times);
        task->source.oncpu_ns = times.oncpu_ns;
        task->source.wait_ns = times.wait_ns;
        task->source.turns = times.turns;
        return true;
    }
    if (!read_stat(process, task, &stat))
        return false;
    task->source.oncpu_ns = (uint64_t)((stat.user_s + stat.system_s) * 1e9);
    return true;
}

static double since_s(uint64_t now_ns, uint64_t then_ns)
{
    return now_ns > then_ns ? (double)(now_ns - then_ns) / 1e9 : 0;
}

static void read_migrations(struct view_process *process, struct view_task *task)
{
    char name[48], buf[4096];
    int once = -1;
    (void)snprintf(name, sizeof(name), "task/%d/sched", (int)task->tid);
    if (!reader_read(process->source.dir_fd, name, &once, buf, sizeof(buf)))
        return;
    const double now = proc_find_number(buf, "se.nr_migrations");
    if (isnan(now))
        return;
    task->source.migrations = (uint64_t)now + 1;
    if (!task->source.migrations_then)
        task->source.migrations_then = task->source.migrations;
    task->migrations = (double)(task->source.migrations - task->source.migrations_then);
}

static void read_details(struct reader *reader, struct view_process *process,
                         struct view_task *task)
{
    struct task_stat stat;
    if (!read_stat(process, task, &stat))
        return;
    if (!task->source.detailed_at_ns || task->source.detailed_at_ns < reader->mark_ns) {
        task->source.detailed_at_ns = reader->tick_ns;
        task->source.user_s = stat.user_s;
        task->source.system_s = stat.system_s;
    }
    memcpy(task->name, stat.name, sizeof(task->name));
    task->is_detailed = true;
    task->cpu = stat.cpu;
    task->user_s = stat.user_s - task->source.user_s;
    task->system_s = stat.system_s - task->source.system_s;
}

void reader_mark_tasks(const struct reader *reader, struct view_process *process)
{
    process->turnover = 0;
    for (size_t i = 0; i < process->ntasks; i++) {
        struct view_task *task = &process->tasks[i];
        task->source.oncpu_then_ns = task->source.oncpu_ns;
        task->source.wait_then_ns = task->source.wait_ns;
        task->source.turns_then = task->source.turns;
        task->source.migrations_then = task->source.migrations;
        task->is_detailed = false;
        task->migrations = NAN;
        task->oncpu_s = 0;
        task->wait_s = task->turns = reader->view.has_schedstat ? 0 : (double)NAN;
    }
}

void reader_read_tasks(struct reader *reader, struct view_process *process, bool mark)
{
    unsigned detailed = 0;
    process->source.lost_task = false;
    for (size_t i = 0; i < process->ntasks; i++) {
        struct view_task *task = &process->tasks[i];
        if (!read_times(reader, process, task)) {
            process->source.lost_task = true;
            continue;
        }
        task->oncpu_s = since_s(task->source.oncpu_ns, task->source.oncpu_then_ns);
        task->wait_s = reader->view.has_schedstat
                           ? since_s(task->source.wait_ns, task->source.wait_then_ns)
                           : (double)NAN;
        if (reader->view.has_schedstat)
            task->turns = (double)(task->source.turns - task->source.turns_then);
        const double wanted_s = view_wanted_s(task->oncpu_s, task->wait_s);
        if (task->oncpu_s > 0 && wanted_s > detailed_share * reader->view.wall_s && !mark &&
            detailed++ < DETAILED_MOST)
            read_details(reader, process, task);
        if (reader->counts_migrations && task->is_detailed && detailed <= COUNTED_MOST)
            read_migrations(process, task);
    }
    process->source.read_s = process->source.used_s;
    if (mark)
        reader_mark_tasks(reader, process);
}

void reader_read_disk(struct view_process *process, bool mark)
{
    char text[512];
    int once = -1;
    const bool is_known = reader_read(process->source.dir_fd, "io", &once, text, sizeof(text));
    const double now =
        is_known ? proc_find_number(text, "read_bytes") + proc_find_number(text, "write_bytes")
                 : (double)NAN;
    if (mark)
        process->source.disk_then_bytes = now;
    process->disk_bytes = now - process->source.disk_then_bytes;
}

/* True: it has changed. */
static bool read_mask(struct reader *reader, const struct view_process *process,
                      struct view_task *task)
{
    task->mask_then = task->mask;
    task->mask = reader_mask(reader, process, task->tid);
    if (task->mask != task->mask_then)
        task->since_s = reader->view.now_s;
    return task->mask != task->mask_then;
}

bool reader_read_masks(struct reader *reader, struct view_process *process)
{
    bool changed = false, lost = false;
    for (size_t t = 0; t < process->ntasks; t++) {
        changed |= read_mask(reader, process, &process->tasks[t]);
        lost |= process->tasks[t].mask < 0;
    }
    lost = lost && reader_list_tasks(process);
    for (size_t t = 0; t < process->ntasks && lost; t++)
        if (process->tasks[t].mask < 0)
            changed |= read_mask(reader, process, &process->tasks[t]);
    process->mask = reader_mask(reader, process, process->pid);
    const struct view_process *parent = view_find(&reader->view, process->parent);
    process->parent_mask = parent ? reader_mask(reader, parent, parent->pid) : -1;
    return changed;
}
