#include "harness/doctor/doctor_watch.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

/* Length of a block; its first second does not count. */
static const double least_s = 2.5, most_s = 4;
/* A speed below this share of the earlier one is a loss. */
static const double fell_below = 0.95;

static bool is_same_file(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

/* True if doctor prints there itself, or the file is one of the `n` earlier ones. */
static bool is_taken(const struct stat *file, const struct stat *earlier, size_t n)
{
    struct stat own = {0};
    for (int fd = STDOUT_FILENO; fd <= STDERR_FILENO; fd++)
        if (!fstat(fd, &own) && is_same_file(file, &own))
            return true;
    for (size_t i = 0; i < n; i++)
        if (is_same_file(file, &earlier[i]))
            return true;
    return false;
}

/* The link in /proc also works for a process of a container, and for a file that was removed. */
static bool add_log(pid_t pid, int fd, struct stat *logs, struct meter *meter)
{
    char text[64];
    struct stat *log = &logs[meter->n];
    struct err ignored;
    (void)snprintf(text, sizeof(text), "lines:/proc/%d/fd/%d", (int)pid, fd);
    if (stat(text + sizeof("lines:") - 1, log) || !S_ISREG(log->st_mode) ||
        is_taken(log, logs, meter->n))
        return false;
    if (metric_parse(text, false, &meter->all[meter->n], &ignored)) {
        metric_free(&meter->all[meter->n]);
        return false;
    }
    meter->n++;
    return true;
}

void doctor_watch_open(const struct doctor_change *change, struct doctor_watch *watch)
{
    struct stat logs[METER_MOST] = {{0}};
    *watch = (struct doctor_watch){.before = NAN, .with = NAN};
    for (size_t i = 0; i < change->n && watch->meter.n < METER_MOST; i++) {
        const pid_t pid = change->processes[i].pid;
        if (!add_log(pid, STDOUT_FILENO, logs, &watch->meter))
            (void)add_log(pid, STDERR_FILENO, logs, &watch->meter);
    }
}

void doctor_watch_free(struct doctor_watch *watch)
{
    meter_free(&watch->meter);
}

int doctor_watch_measure(struct doctor_watch *watch, bool changed, struct reader *reader,
                         struct signals *signals, struct err *err)
{
    double *rate = changed ? &watch->with : &watch->before;
    if (!watch->meter.n)
        return 0;
    int rc = meter_measure(&watch->meter, least_s, most_s, reader, signals, rate, err);
    if (rc != -ENODATA && rc != -ENOENT && rc != -EINVAL)
        return rc;
    *rate = NAN;
    meter_free(&watch->meter);
    return 0;
}

bool doctor_watch_fell(const struct doctor_watch *watch)
{
    return watch->with < fell_below * watch->before;
}
