/*
 * Metrics: the speed of a running job, as `contend doctor --verify` measures it.
 *
 *   lines:PATH[:REGEX]   each new line of the file (that matches) is a step
 *   file:PATH:REGEX      the number in new lines is the rate
 *   counter:COMMAND      a shell command prints a number that grows with the work
 *   rate:COMMAND         a shell command prints the rate
 *
 * PATH "-" is the output of the job, if contend starts it. CPU time is not offered as a metric:
 * threads that spin use more of it the less they get done.
 *
 *   rc = metric_parse(text, false, &metric, err);
 *   rc = metric_begin(&metric, err);                  a block begins
 *   ... rc = metric_look(&metric, err); every metric_period_s() ...
 *   rate = metric_rate(&metric, from_s, to_s);
 *   metric_free(&metric);
 *
 * Times are seconds of clock_now_ns.
 */
#ifndef CONTEND_DOCTOR_METRIC_H
#define CONTEND_DOCTOR_METRIC_H

#include <limits.h>
#include <regex.h>
#include <stdbool.h>
#include <sys/types.h>

#include "harness/doctor/gain.h"
#include "harness/lib/err.h"
#include "harness/lib/sys/signals.h"

enum metric_kind { METRIC_LINES, METRIC_FILE, METRIC_COUNTER, METRIC_RATE };

enum { METRIC_LINE_MAX = 4096 };

struct metric {
    enum metric_kind kind;
    const char *command;     /* borrowed; for COUNTER and RATE */
    struct signals *signals; /* borrowed; they end a command that runs; NULL = none */
    char path[PATH_MAX];     /* for LINES and FILE */
    bool own_output;         /* PATH was "-": metric_set_output sets the path */
    bool is_cost;            /* the number is a time or a cost: lower is faster */
    regex_t regex;
    bool has_regex;

    int fd;      /* 0 = not open */
    ino_t inode; /* to notice that the log was rotated */
    off_t at;
    char line[METRIC_LINE_MAX]; /* the unfinished line, truncated */
    size_t used;
    double total; /* matching lines so far in this block */

    size_t n, capacity;
    struct gain_sample *samples; /* owned; of this block */
};

/*
 * `starts_job`: contend starts the job, so the file may appear later, and "-" is allowed. -EINVAL:
 * the message says what to type. Free it, also after an error.
 */
int metric_parse(const char *text, bool starts_job, struct metric *metric, struct err *err);
void metric_free(struct metric *metric);

/* Unit of the rate, such as "lines/s"; "" if unknown. */
const char *metric_unit(const struct metric *metric);

/* Interval between calls of metric_look: longer for commands, which cost more than a file. */
double metric_period_s(const struct metric *metric);

/* Sets the path of a metric whose PATH is "-"; others keep theirs. */
void metric_set_output(struct metric *metric, const char *path);

/* Begins a block: earlier output does not count. -ENOENT, -EINVAL: bad file or command. */
int metric_begin(struct metric *metric, struct err *err);

/* Takes a sample. -ETIME: a command takes over 2 s; -EINTR. -EINVAL: no number, or a falling
 * counter. */
int metric_look(struct metric *metric, struct err *err);

/* Rate between two times; NaN = too few samples. For a cost, 1 / the number. */
double metric_rate(const struct metric *metric, double from_s, double to_s);

/* True if there was progress since the block began. */
bool metric_has_progress(const struct metric *metric);

#endif
