/*
 * Reads live processes into a view (view.h). Changes nothing and needs no root; what is kept from
 * it is left open and counted. Cheap, since it watches machines that are at work: files stay open
 * and are read again in place, what is long is read once, and a task is looked at closely only
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
 * Errors: -EIO, -ENOMEM, or what /proc itself could not be opened with; a process that ends is
 * none.
 */
#ifndef CONTEND_DOCTOR_READER_READER_H
#define CONTEND_DOCTOR_READER_READER_H

#include <dirent.h>
#include <sys/types.h>

#include "harness/doctor/view/view.h"

struct reader {
    struct view view;
    char root[256]; /* "", or in tests what stands for "/" */
    int proc_fd;
    DIR *proc;
    int pressure_fd; /* /proc/pressure/cpu; -1 = cannot be had */
    char *text;      /* owned: what was read last */
    size_t text_size;
    double pressure_then_us;
    uint64_t mark_ns, own_mark_ns, tick_ns;
    double hertz;           /* clock ticks a second */
    bool counts_migrations; /* set it to have them of tasks that are looked at closely */
    bool samples; /* set it to see what busy tasks do on their CPU, and who started them */
};

/* Lists all processes. Free with reader_close, also after an error. */
int reader_open(const char *root, struct reader *reader, struct err *err);
void reader_close(struct reader *reader);

/*
 * Watches these and what they started. -ESRCH none of that pid or a zombie; it says which. Those
 * that are there and that /proc hides are noted in view.hidden: -EACCES where they are all.
 */
int reader_watch_pids(struct reader *reader, const pid_t *pids, size_t n, struct err *err);

/* -EACCES, in words: of those that view.hidden names nothing can be read, and who could. */
int reader_refuse_hidden(const struct reader *reader, struct err *err);

/*
 * Watches who had at least `share` of one CPU from the mark to the last tick, or, with a share of
 * 0, all but the kernel's threads. Ourselves never. *n: how many.
 */
int reader_watch_busy(struct reader *reader, double share, size_t *n, struct err *err);

/*
 * Asks NVML which of the processes use which GPUs, in place of what it said before. *users: how
 * many of those that are here. -ENOTSUP without NVML, with the reason.
 */
int reader_read_gpus(struct reader *reader, size_t *users, struct err *err);

/* Watches those and what they started. */
int reader_watch_gpu_users(struct reader *reader, struct err *err);

/* The extent of a tick. */
enum reader_scope {
    READER_WATCHED, /* the times of the watched processes and their tasks */
    READER_WHOLE    /* also the other processes, the CPUs, masks, cgroups */
};

/* Differences begin here. Is a whole tick itself. */
int reader_mark(struct reader *reader, struct err *err);
int reader_tick(struct reader *reader, enum reader_scope scope, struct err *err);

/* Differences begin where the last tick ended, a whole one; nothing is read. */
void reader_roll(struct reader *reader);

#endif
