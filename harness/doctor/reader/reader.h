/*
 * Reads live processes into a view (view.h). Changes nothing and needs no root; what it may not
 * read stays unknown and is counted. Cheap, since the machines that it watches are at work: files
 * stay open and are reread in place, long files are read once, and a task gets a detailed read only
 * while it runs.
 *
 *   struct reader reader;
 *   int rc = reader_open("", &reader, &err);
 *   if (!rc)
 *       rc = reader_watch_pids(&reader, pids, npids, &err);
 *   if (!rc)
 *       rc = reader_mark(&reader, &err);
 *   ... a second ...
 *   if (!rc)
 *       rc = reader_tick(&reader, READER_WHOLE, &err);   // reader.view has what happened since
 *   reader_close(&reader);
 *
 * Errors: -EIO, -ENOMEM, -EMFILE, or that of opening /proc. A process that ends is no error.
 */
#ifndef CONTEND_DOCTOR_READER_READER_H
#define CONTEND_DOCTOR_READER_READER_H

#include <sys/types.h>

#include "harness/doctor/reader/view.h"
#include "harness/lib/err.h"
#include "harness/lib/opt.h"

struct reader {
    struct view view;
    char root[256]; /* "", or the root of a fake system in tests */
    int proc_fd;
    char *text; /* owned: the last long file read */
    size_t text_size;
    double pressure_then_s;
    uint64_t mark_ns, own_mark_ns, tick_ns;
    bool counts_migrations; /* set it to count migrations of tasks with detailed reads */
    bool has_times;         /* the last tick read the times of tasks */
    unsigned quiet_ticks;   /* ticks of masks since one has changed */
    bool samples;           /* set it to sample busy tasks (samples.c) */
};

/* Lists all processes. Free with reader_close, also after an error. */
int reader_open(const char *root, struct reader *reader, struct err *err);
void reader_close(struct reader *reader);

/*
 * Watches these processes and their descendants. -ESRCH: no such pid, or a zombie; -EINVAL: contend
 * itself or a kernel thread; the message names it. Processes that exist but that /proc hides go to
 * view.hidden; -EACCES if all are hidden.
 */
int reader_watch_pids(struct reader *reader, const pid_t *pids, size_t n, struct err *err);

/* Returns -EACCES; the message names a process of view.hidden and who could watch it. */
int reader_refuse_hidden(const struct reader *reader, struct err *err);

/*
 * Watches the processes that used at least `share` of one CPU from the mark to the last tick; with
 * 0, all but kernel threads. Never contend itself. *n: how many.
 */
int reader_watch_busy(struct reader *reader, double share, size_t *n, struct err *err);

/*
 * Asks NVML which processes use which GPUs, and replaces earlier answers. *users: number of GPU
 * users in the view. -ENOTSUP: no NVML; the message says why.
 */
int reader_read_gpus(struct reader *reader, size_t *users, struct err *err);

/* Watches the GPU users and their descendants. */
int reader_watch_gpu_users(struct reader *reader, struct err *err);

/* The extent of a tick. */
enum reader_scope {
    READER_MASKS,   /* new processes, tasks of watched ones and their masks, at times their times;
                       it moves the mark itself */
    READER_WATCHED, /* watched processes, their tasks, and cgroup counters */
    READER_WHOLE    /* also other processes, CPUs, masks */
};

/* reader_mark is a whole tick; differences of later ticks start at it. */
int reader_mark(struct reader *reader, struct err *err);
int reader_tick(struct reader *reader, enum reader_scope scope, struct err *err);

/* Reads again what a process was started with and has loaded since. -ENOMEM only. */
int reader_read_again(struct reader *reader, struct view_process *process, struct err *err);

/* Moves the mark to the last tick; of machine and cgroups, to the last whole one. Reads nothing. */
void reader_roll(struct reader *reader);

/* Resolves the processes that the command line of doctor names. */

/*
 * Watches the processes of --pid and writes them to `pids`, or with --gpu-procs those that use a
 * GPU; without either, none. -EINVAL names an invalid pid. Also errors of
 * processes_watch_gpu_users.
 */
int processes_watch(const struct opt_texts *texts, bool gpu_procs, struct reader *reader,
                    pid_t pids[OPT_TEXTS_MOST], struct err *err);

/*
 * Finds the GPUs that watched processes use now. Starts NVML, which takes a while, only if the
 * mapped libraries show that one may use a GPU. Without NVML the GPUs stay unknown.
 */
void processes_find_gpus(struct reader *reader);

/* Watches the processes that use a GPU. -ENOTSUP: no NVML; -ESRCH: NVML lists none that is here. */
int processes_watch_gpu_users(struct reader *reader, struct err *err);

#endif
