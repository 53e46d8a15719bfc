/*
 * Measures of the speed of a running job, as `contend doctor --verify` takes them:
 *
 *   lines:PATH[:REGEX]   each line that the file grows by (and that matches) is a step
 *   file:PATH:REGEX      the number in new lines is the rate
 *   counter:COMMAND      a shell command prints a number that grows with the work
 *   rate:COMMAND         a shell command prints the rate
 *
 * PATH "-" is what the job prints, where we start it. CPU time of the job is none of them: threads
 * that spin have the more of it the less they get done.
 *
 *   rc = metric_parse(text, false, &metric, err);
 *   rc = metric_begin(&metric, err);                  a block begins
 *   ... rc = metric_look(&metric, err); every metric_period_s() ...
 *   rate = metric_rate(&metric, from_s, to_s);
 *   metric_free(&metric);
 *
 * Times are seconds of clock_now_ns.
 */
#ifndef CONTEND_DOCTOR_APPLY_METRIC_H
#define CONTEND_DOCTOR_APPLY_METRIC_H

#include <limits.h>
#include <regex.h>
#include <stdbool.h>
#include <sys/types.h>

#include "harness/doctor/apply/gain.h"
#include "harness/lib/base/err.h"

enum metric_kind { METRIC_LINES, METRIC_FILE, METRIC_COUNTER, METRIC_RATE };

enum { METRIC_LINE_MAX = 4096 };

struct metric {
    enum metric_kind kind;
    const char *command; /* borrowed; of COUNTER and RATE */
    char path[PATH_MAX]; /* of LINES and FILE */
    bool own_output;     /* the path is what the job prints: metric_set_output */
    bool is_cost;        /* the number is a time or a cost: the less, the faster */
    regex_t regex;
    bool has_regex;

    int fd;      /* 0 = not open */
    ino_t inode; /* a log that is rotated is another file */
    off_t at;
    char line[METRIC_LINE_MAX]; /* under way, cut */
    size_t used;
    double total; /* lines that counted so far */

    size_t n, capacity;
    struct gain_sample *samples; /* owned; of this block */
};

/*
 * `starts_job`: the file may come into being later, and "-" is one. -EINVAL says what to type. Free
 * it, also then.
 */
int metric_parse(const char *text, bool starts_job, struct metric *metric, struct err *err);
void metric_free(struct metric *metric);

/* "lines/s", or "" of a rate: how it is printed behind a number. */
const char *metric_unit(const struct metric *metric);

/* How often to look: commands cost more than a file. */
double metric_period_s(const struct metric *metric);

/* Sets the output of the job, once it is started. */
void metric_set_output(struct metric *metric, const char *path);

/* A block begins: what was before does not count. -ENOENT, -EINVAL of the file or the command. */
int metric_begin(struct metric *metric, struct err *err);

/* -ETIME a command takes longer than 2 s; -EINVAL it prints no number, or a counter that falls. */
int metric_look(struct metric *metric, struct err *err);

/* NaN: too little was seen. For a cost, the steps done a second. */
double metric_rate(const struct metric *metric, double from_s, double to_s);

/* Something was seen since the block began. */
bool metric_has_news(const struct metric *metric);

#endif
