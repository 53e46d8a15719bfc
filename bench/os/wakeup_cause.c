#include "bench/os/wakeup_cause.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/lib/files/file.h"
#include "harness/lib/files/proc.h"
#include "harness/lib/stats/stats.h"
#include "harness/lib/sys/clock.h"

enum {
    ROWS_STEP = 256,
    TASKS = 128,
    SCANS = 16,
    LOOKS = 5,
    FILES = 2,
    STAT_CPU = 39,
    STAT_STATE = 3
};

/* Less than this apart is chance, with the few that are late. */
static const double differ_least = 0.1;

/* Whether a thing came, of wake-ups that were on time and of those that were late. */
struct tally {
    char what[WAKEUP_CAUSE_NAME_MAX];
    unsigned came[2]; /* [was late] */
    unsigned scan;    /* the last one that found it */
};

struct wakeup_cause_log {
    char root[PATH_MAX];
    unsigned os_cpu;
    unsigned judged[2], scans[2];
    unsigned nrows, room_rows;
    bool same;             /* rows, as those of the look before */
    uint64_t *count, *now; /* [room_rows], of the look before the sleep and of the one behind it */
    struct tally *rows;    /* [room_rows] */
    unsigned ntasks;
    struct tally tasks[TASKS];
    char *line;
    size_t room;
};

static const char *const files[FILES] = {"/proc/interrupts", "/proc/softirqs"};
static const char *const prefixes[FILES] = {"irq:", "softirq:"};

/* In a key, so without its separators. */
static void name_it(char what[WAKEUP_CAUSE_NAME_MAX], const char *prefix, const char *name,
                    size_t length)
{
    (void)snprintf(what, WAKEUP_CAUSE_NAME_MAX, "%s%.*s", prefix, (int)length, name);
    for (char *at = what; *at; at++)
        if (*at == ';' || *at == '=' || !isgraph((unsigned char)*at))
            *at = '_';
}

/* A device's name is the last word of its line; others have one for a number. */
static void name_row(struct tally *row, const char *prefix, const char *line)
{
    const char *name = line + strspn(line, " ");
    size_t length = strcspn(name, ":");
    if (isdigit((unsigned char)*name)) {
        size_t end = strlen(line);
        while (end && isspace((unsigned char)line[end - 1]))
            end--;
        size_t begin = end;
        while (begin && !isspace((unsigned char)line[begin - 1]))
            begin--;
        name = line + begin;
        length = end - begin;
    }
    name_it(row->what, prefix, name, length);
}

/* Which of the header's columns, "CPU0 CPU2", is the CPU's; -1 where none is. */
static int column_of(const char *header, unsigned os_cpu)
{
    int column = 0;
    for (const char *at = strstr(header, "CPU"); at; at = strstr(at + 3, "CPU"), column++)
        if (strtoul(at + 3, NULL, 10) == os_cpu)
            return column;
    return -1;
}

/* The number in that column behind "name:"; 0 where the line has fewer. */
static uint64_t count_in(const char *line, int column)
{
    const char *at = strchr(line, ':');
    uint64_t count = 0;
    for (at = at ? at + 1 : ""; column >= 0; column--) {
        char *end;
        count = strtoull(at, &end, 10);
        if (end == at)
            return 0;
        at = end;
    }
    return count;
}

/*
 * Servers have thousands of interrupts, and what all CPUs have is behind those of devices. False:
 * no memory.
 */
static bool grow_rows(struct wakeup_cause_log *log)
{
    unsigned room = log->room_rows + ROWS_STEP;
    struct tally *rows = realloc(log->rows, room * sizeof(*rows));
    log->rows = rows ? rows : log->rows;
    uint64_t *count = realloc(log->count, room * sizeof(*count));
    log->count = count ? count : log->count;
    uint64_t *now = realloc(log->now, room * sizeof(*now));
    log->now = now ? now : log->now;
    if (!rows || !count || !now)
        return false;
    memset(log->rows + log->room_rows, 0, ROWS_STEP * sizeof(*rows));
    log->room_rows = room;
    return true;
}

/* All rows of the files, into `now`; false where one has no column for the CPU. */
static bool read_counts(struct wakeup_cause_log *log)
{
    unsigned n = 0;
    bool there = true;
    for (unsigned i = 0; i < FILES; i++) {
        char path[PATH_MAX];
        int column = -1;
        (void)snprintf(path, sizeof(path), "%.*s%s", PATH_MAX - 32, log->root, files[i]);
        FILE *file = fopen(path, "re");
        if (file && getline(&log->line, &log->room, file) > 0)
            column = column_of(log->line, log->os_cpu);
        while (column >= 0 && (n < log->room_rows || grow_rows(log)) &&
               getline(&log->line, &log->room, file) > 0) {
            if (!log->rows[n].what[0])
                name_row(&log->rows[n], prefixes[i], log->line);
            log->now[n++] = count_in(log->line, column);
        }
        if (file)
            (void)fclose(file);
        there &= column >= 0;
    }
    log->same = n == log->nrows;
    log->nrows = n;
    return there;
}

/* The same, into `count`. */
static bool look(struct wakeup_cause_log *log)
{
    bool there = read_counts(log);
    uint64_t *now = log->now;
    log->now = log->count;
    log->count = now;
    return there;
}

int wakeup_cause_open(struct wakeup_cause_log **log, const char *root, unsigned os_cpu,
                      struct err *err)
{
    struct wakeup_cause_log *made = *log = calloc(1, sizeof(*made));
    if (!made)
        return err_set(err, -ENOMEM, "cannot allocate what is noted of late wake-ups");
    proc_copy_text(made->root, sizeof(made->root), root);
    made->os_cpu = os_cpu;
    if (look(made))
        return 0;
    wakeup_cause_close(made);
    *log = NULL;
    return err_set(err, -ENOTSUP, "the system does not tell the interrupts of CPU %u", os_cpu);
}

void wakeup_cause_close(struct wakeup_cause_log *log)
{
    if (!log)
        return;
    free(log->line);
    free(log->rows);
    free(log->now);
    free(log->count);
    free(log);
}

void wakeup_cause_look(struct wakeup_cause_log *log)
{
    (void)look(log);
}

uint64_t wakeup_cause_cost_ns(struct wakeup_cause_log *log)
{
    double ns[LOOKS];
    for (unsigned i = 0; i < LOOKS; i++) {
        uint64_t start_ns = clock_now_ns();
        wakeup_cause_look(log);
        ns[i] = (double)(clock_now_ns() - start_ns);
    }
    return (uint64_t)stats_sort_median(ns, LOOKS);
}

/* ---- who is runnable ---- */

static void note_task(struct wakeup_cause_log *log, const char *name, size_t length, bool was_late)
{
    char what[WAKEUP_CAUSE_NAME_MAX];
    unsigned i = 0;
    name_it(what, "task:", name, length);
    while (i < log->ntasks && strcmp(log->tasks[i].what, what) != 0)
        i++;
    if (i == TASKS)
        return;
    if (i == log->ntasks)
        memcpy(log->tasks[log->ntasks++].what, what, sizeof(what));
    /* Once a scan, however many of that name there are. */
    unsigned scan = log->scans[0] + log->scans[1];
    log->tasks[i].came[was_late] += log->tasks[i].scan != scan;
    log->tasks[i].scan = scan;
}

/* "42 (name) R ...": runnable, and its field STAT_CPU is our CPU. */
static void judge_task(struct wakeup_cause_log *log, const char *stat, bool was_late)
{
    const char *name = strchr(stat, '('), *end = strrchr(stat, ')');
    if (!name || !end || end[1] != ' ' || end[2] != 'R')
        return;
    const char *at = end + 2;
    for (int field = STAT_STATE; at && field < STAT_CPU; field++)
        at = (at = strchr(at, ' ')) ? at + 1 : NULL;
    if (at && strtoul(at, NULL, 10) == log->os_cpu)
        note_task(log, name + 1, (size_t)(end - name - 1), was_late);
}

static void scan_threads(struct wakeup_cause_log *log, const char *pid, bool was_late)
{
    char path[PATH_MAX], stat[1024];
    int self = gettid();
    (void)snprintf(path, sizeof(path), "%.*s/proc/%.16s/task", PATH_MAX - 64, log->root, pid);
    DIR *threads = opendir(path);
    for (struct dirent *thread; (thread = file_next(&threads));) {
        if (!isdigit((unsigned char)thread->d_name[0]) || atoi(thread->d_name) == self)
            continue;
        if (PROC_TEXT(log->root, stat, "/proc/%.16s/task/%.16s/stat", pid, thread->d_name))
            judge_task(log, stat, was_late);
    }
}

/* As many that were on time as were late, and not many of either: /proc is long. */
static void scan_tasks(struct wakeup_cause_log *log, bool was_late)
{
    char path[PATH_MAX];
    if (log->scans[was_late] == SCANS || (!was_late && log->scans[0] >= log->scans[1]))
        return;
    log->scans[was_late]++;
    (void)snprintf(path, sizeof(path), "%.*s/proc", PATH_MAX - 8, log->root);
    DIR *processes = opendir(path);
    for (struct dirent *process; (process = file_next(&processes));)
        if (isdigit((unsigned char)process->d_name[0]))
            scan_threads(log, process->d_name, was_late);
}

void wakeup_cause_judge(struct wakeup_cause_log *log, bool was_late)
{
    (void)read_counts(log);
    log->judged[was_late]++;
    for (unsigned i = 0; log->same && i < log->nrows; i++)
        log->rows[i].came[was_late] += log->now[i] != log->count[i];
    scan_tasks(log, was_late);
}

/* ---- what is told ---- */

struct sums {
    unsigned n, room;
    struct tally *all;
};

static void add_tallies(struct sums *sums, const struct tally *tallies, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        unsigned at = 0;
        if (!tallies[i].came[1])
            continue;
        while (at < sums->n && strcmp(sums->all[at].what, tallies[i].what) != 0)
            at++;
        if (at == sums->room)
            continue;
        if (at == sums->n)
            sums->all[sums->n++] = (struct tally){.came = {0}};
        memcpy(sums->all[at].what, tallies[i].what, sizeof(sums->all[at].what));
        for (unsigned late = 0; late < 2; late++)
            sums->all[at].came[late] += tallies[i].came[late];
    }
}

static int by_difference(const void *a, const void *b)
{
    const struct wakeup_cause *x = a, *y = b;
    double dx = x->late - x->on_time, dy = y->late - y->on_time;
    return dx != dy ? (dx < dy) - (dx > dy) : strcmp(x->what, y->what);
}

/* Those of `sums` that differ, into tells[n..most-1]; `of` is how many there were of each. */
static size_t report_sums(const struct sums *sums, const unsigned of[2], struct wakeup_cause *tells,
                          size_t n, size_t most)
{
    for (unsigned i = 0; i < sums->n && n < most && of[0] && of[1]; i++) {
        const struct tally *tally = &sums->all[i];
        /* Some devices have several lines of one name, which may all have come. */
        struct wakeup_cause tell = {.late = fmin((double)tally->came[1] / of[1], 1),
                                    .on_time = fmin((double)tally->came[0] / of[0], 1)};
        memcpy(tell.what, tally->what, sizeof(tell.what));
        if (tell.late - tell.on_time >= differ_least)
            tells[n++] = tell;
    }
    return n;
}

size_t wakeup_cause_find(struct wakeup_cause_log *const *logs, size_t n, struct wakeup_cause *tells,
                         size_t most)
{
    struct sums rows = {.room = 1}, tasks = {.room = 2 * TASKS};
    for (size_t i = 0; i < n; i++) /* of all CPUs the same, but for some that come and go */
        rows.room = 2 * logs[i]->nrows > rows.room ? 2 * logs[i]->nrows : rows.room;
    struct wakeup_cause *all = calloc(rows.room + tasks.room, sizeof(*all));
    unsigned judged[2] = {0}, scans[2] = {0};
    size_t found = 0;
    rows.all = calloc(rows.room, sizeof(*rows.all));
    tasks.all = calloc(tasks.room, sizeof(*tasks.all));
    for (size_t i = 0; all && rows.all && tasks.all && i < n; i++) {
        add_tallies(&rows, logs[i]->rows, logs[i]->nrows);
        add_tallies(&tasks, logs[i]->tasks, logs[i]->ntasks);
        for (unsigned late = 0; late < 2; late++) {
            judged[late] += logs[i]->judged[late];
            scans[late] += logs[i]->scans[late];
        }
    }
    found = report_sums(&rows, judged, all, found, rows.room + tasks.room);
    found = report_sums(&tasks, scans, all, found, rows.room + tasks.room);
    if (all)
        qsort(all, found, sizeof(*all), by_difference);
    found = found < most ? found : most;
    memcpy(tells, all ? all : tells, found * sizeof(*tells));
    free(rows.all);
    free(tasks.all);
    free(all);
    return found;
}
