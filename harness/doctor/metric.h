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

#include "harness/doctor/apply_plan.h"
#include "harness/lib/err.h"
#include "harness/lib/sys/signals.h"
#include "harness/verdict/evidence.h"

/*
 * The gain of a change: job speed per block of time, from its progress, and the ratio between
 * paired blocks with its confidence interval. Pure.
 */

/* A number and when it was first seen: a growing total, or a rate. */
struct gain_sample {
    double at_s, value;
};

/*
 * Growth of a total per second between two times. Steps that straddle either end count in part, so
 * that a slow job is not measured in whole steps. The first sample is the total at the start of the
 * block; the samples are sorted by time. NaN: fewer than two steps ended in between.
 */
double gain_growth(const struct gain_sample *samples, size_t n, double from_s, double to_s);

/* Number of samples in (from_s, to_s]. */
size_t gain_count(const struct gain_sample *samples, size_t n, double from_s, double to_s);

/*
 * Mean of the rates in (from_s, to_s]; NaN if there is none. `leave_first` skips the first one,
 * which averages over time before the block.
 */
double gain_mean(const struct gain_sample *samples, size_t n, double from_s, double to_s,
                 bool leave_first);

enum { GAIN_PAIRS_LEAST = 2, GAIN_PAIRS_WANTED = 6, GAIN_PAIRS_MOST = 64 };

/*
 * Minimum length of the next blocks, chosen so that GAIN_PAIRS_WANTED pairs fit into the time that
 * is left. Each block follows a change that takes change_s. `done`: pairs measured so far.
 */
double gain_block_s(double left_s, double change_s, size_t done, double shortest_s,
                    double longest_s);

/* Rates of adjacent blocks, without and with the change. */
struct gain_pairs {
    size_t n;
    bool are_starts; /* each block measures a new start of the job: see gain_make */
    double before[GAIN_PAIRS_MOST], after[GAIN_PAIRS_MOST];
};

/*
 * The geometric mean of the ratios, with a 95% interval: Student's t on logarithms. For one running
 * job, the interval uses the ratios of the pairs: drift of the machine cancels within a pair.
 *
 * For starts (are_starts), the two starts of a pair are no more alike than any others. So the
 * interval uses the variance within each kind, pooled: with two pairs it is a third as wide. If the
 * change does nothing, both kinds have one distribution, and 2.5% of trials report a gain, with any
 * number of pairs. The size of the gain assumes that starts vary equally with and without the
 * change. If one kind hardly varies, the interval covers 85% with two pairs, 91% with four.
 *
 * All rates must be above 0. `base` and `other` are mean rates. FASTER: the interval is above 1.
 * SAME: its upper end is at most 1.05: no useful gain, or slower. UNCLEAR: neither, or fewer than
 * GAIN_PAIRS_LEAST pairs.
 */
struct evidence gain_make(const struct gain_pairs *pairs);

/* "proven", "none", "unclear", as scripts see these outcomes. */
const char *gain_name(const struct evidence *gain);

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

/* The result of a fix that was tried, for text and JSON output. */
struct trial {
    char what[640];   /* what was tried, in words; "" = there was nothing to try */
    char redo[2048];  /* the command that applies it again */
    const char *unit; /* of the rates, such as "lines/s"; "" = unknown */
    struct gain_pairs pairs;
    struct evidence gain;
    struct bystanders bystanders;
    bool kept; /* else it was undone */
};

#endif
