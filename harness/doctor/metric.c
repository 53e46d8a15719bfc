#include "harness/doctor/metric.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness/engine/contract/command.h"
#include "harness/lib/array.h"
#include "harness/lib/sys/clock.h"
#include "harness/lib/sys/process.h"
#include "harness/lib/text.h"

enum { COMMAND_LONGEST_S = 2, ANSWER_MAX = 256 };

static const struct {
    const char *prefix;
    const char *unit;
    double period_s;
} kinds[] = {
    [METRIC_LINES] = {"lines:", "lines/s", 0.02},
    [METRIC_FILE] = {"file:", "", 0.02},
    [METRIC_COUNTER] = {"counter:", "/s", 0.25},
    [METRIC_RATE] = {"rate:", "", 0.25},
};

static int find_kind(const char *text, struct metric *metric, struct err *err)
{
    for (int kind = 0; kind <= METRIC_RATE; kind++) {
        size_t length = strlen(kinds[kind].prefix);
        if (strncmp(text, kinds[kind].prefix, length) != 0)
            continue;
        metric->kind = (enum metric_kind)kind;
        return 0;
    }
    return err_set(err, -EINVAL,
                   "'%.60s' is no metric: type --verify lines:LOG, file:LOG:REGEX, "
                   "counter:COMMAND or rate:COMMAND",
                   text);
}

/*
 * Length of PATH in PATH[:REGEX]: the longest part that is a file, else all before the first ':'.
 */
static size_t path_length(const char *text)
{
    char path[PATH_MAX];
    size_t length = strlen(text);
    while (length) {
        if (length < sizeof(path)) {
            memcpy(path, text, length);
            path[length] = '\0';
            if (access(path, F_OK) == 0)
                return length;
        }
        do
            length--;
        while (length && text[length] != ':');
    }
    return strcspn(text, ":");
}

static int parse_path(const char *text, bool starts_job, struct metric *metric, struct err *err)
{
    const char *form = metric->kind == METRIC_LINES ? "lines:LOG" : "file:LOG:REGEX";
    size_t length = path_length(text);
    const char *regex = text[length] ? text + length + 1 : NULL;
    if (!length || length >= sizeof(metric->path))
        return err_set(err, -EINVAL, "--verify %s: LOG is the file that the job writes to", form);
    (void)snprintf(metric->path, sizeof(metric->path), "%.*s", (int)length, text);
    metric->own_output = strcmp(metric->path, "-") == 0;
    if (metric->own_output && !starts_job)
        return err_set(err, -EINVAL,
                       "--verify %.20s-: the output of a running job cannot be read; name its log, "
                       "or start it by --restart COMMAND",
                       kinds[metric->kind].prefix);
    if (!starts_job && access(metric->path, R_OK))
        return err_set(err, -EINVAL,
                       "cannot read '%.120s' (%s); type --verify %s, LOG being the "
                       "file that the job writes to",
                       metric->path, strerror(errno), form);
    if (metric->kind == METRIC_FILE && !regex)
        return err_set(
            err, -EINVAL,
            "--verify file:%.80s has no REGEX: which number of a line is the rate, as in "
            "file:train.log:'([0-9.]+) it/s'",
            metric->path);
    int rc = command_check_expression("verify", regex, metric->kind == METRIC_FILE, err);
    metric->has_regex = !rc && regex && !regcomp(&metric->regex, regex, REG_EXTENDED);
    return rc;
}

int metric_parse(const char *text, bool starts_job, struct metric *metric, struct err *err)
{
    *metric = (struct metric){0};
    int rc = find_kind(text, metric, err);
    if (rc)
        return rc;
    const char *rest = text + strlen(kinds[metric->kind].prefix);
    if (metric->kind == METRIC_LINES || metric->kind == METRIC_FILE)
        return parse_path(rest, starts_job, metric, err);
    metric->command = rest;
    if (!rest[strspn(rest, " ")])
        return err_set(err, -EINVAL, "--verify %sCOMMAND: no command", kinds[metric->kind].prefix);
    return 0;
}

static void close_file(struct metric *metric)
{
    if (metric->fd > 0)
        (void)close(metric->fd);
    metric->fd = 0;
}

void metric_free(struct metric *metric)
{
    close_file(metric);
    free(metric->samples);
    if (metric->has_regex)
        regfree(&metric->regex);
    *metric = (struct metric){0};
}

const char *metric_unit(const struct metric *metric)
{
    return metric->is_cost ? "(1 / the number)" : kinds[metric->kind].unit;
}

double metric_period_s(const struct metric *metric)
{
    return kinds[metric->kind].period_s;
}

void metric_set_output(struct metric *metric, const char *path)
{
    if (metric->own_output)
        (void)snprintf(metric->path, sizeof(metric->path), "%s", path);
    close_file(metric);
}

static int add_sample(struct metric *metric, double value, struct err *err)
{
    struct gain_sample *added = array_add(metric->samples, metric->n, metric->capacity);
    if (!added)
        return err_set(err, -ENOMEM, "out of memory for the output of the job");
    *added = (struct gain_sample){clock_now_s(), value};
    return 0;
}

/* Fails while the file does not exist. A job that contend starts may create it later. */
static int open_log(struct metric *metric, struct err *err)
{
    struct stat about;
    metric->fd = open(metric->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (metric->fd < 0 || fstat(metric->fd, &about))
        return err_sys(err, -errno, "cannot read '%.150s'", metric->path);
    if (!S_ISREG(about.st_mode))
        return err_set(err, -EINVAL, "'%.150s' is no regular file", metric->path);
    metric->inode = about.st_ino;
    metric->at = 0;
    metric->used = 0;
    return 0;
}

/* Reopens a rotated log, and rereads a truncated one, from the start. */
static int follow_log(struct metric *metric, struct err *err)
{
    struct stat about;
    if (metric->fd > 0 && (stat(metric->path, &about) || about.st_ino == metric->inode)) {
        if (!fstat(metric->fd, &about) && about.st_size < metric->at)
            metric->at = 0;
        return 0;
    }
    close_file(metric);
    int rc = open_log(metric, err);
    if (rc)
        close_file(metric);
    return rc;
}

static int take_number(struct metric *metric, const char *text, struct err *err)
{
    char *end;
    double value = strtod(text, &end);
    end += strspn(end, " \t\r\n");
    if (end == text || *end || !isfinite(value) || value < 0)
        return err_set(err, -EINVAL, "'%.60s' is no number from 0: --verify needs a rate", text);
    if (metric->kind == METRIC_COUNTER) {
        double before = metric->n ? metric->samples[metric->n - 1].value : 0;
        if (value < before)
            return err_set(err, -EINVAL,
                           "the counter fell from %s to %s; for a rate type --verify rate:COMMAND",
                           units_plain(before, 9), units_plain(value, 9));
        return metric->n && value <= before ? 0 : add_sample(metric, value, err);
    }
    if (metric->is_cost && value <= 0)
        return err_set(err, -EINVAL, "a cost of 0: is --less-is-better right?");
    return add_sample(metric, metric->is_cost ? 1 / value : value, err);
}

static int end_line(struct metric *metric, struct err *err)
{
    regmatch_t match[2] = {{.rm_so = -1}, {.rm_so = -1}};
    metric->line[metric->used] = '\0';
    bool empty = !metric->used;
    metric->used = 0;
    if (empty || (metric->has_regex && regexec(&metric->regex, metric->line, 2, match, 0)))
        return 0;
    if (metric->kind == METRIC_LINES) {
        metric->total++;
        return 0;
    }
    if (match[1].rm_so < 0)
        return 0;
    metric->line[match[1].rm_eo] = '\0';
    return take_number(metric, metric->line + match[1].rm_so, err);
}

/* `counts`: false skips what the file had before the block. */
static int read_log(struct metric *metric, bool counts, struct err *err)
{
    char bytes[1 << 14];
    ssize_t n = 0;
    int rc = follow_log(metric, err);
    while (!rc && (n = pread(metric->fd, bytes, sizeof(bytes), metric->at)) > 0) {
        metric->at += n;
        for (ssize_t i = 0; i < n && !rc && counts; i++)
            if (bytes[i] == '\n' || bytes[i] == '\r')
                rc = end_line(metric, err);
            else if (metric->used < sizeof(metric->line) - 1)
                metric->line[metric->used++] = bytes[i];
    }
    return rc;
}

static bool is_interrupted(void *signals)
{
    return signals && signals_take(signals);
}

static int ask_command(struct metric *metric, struct err *err)
{
    char answer[ANSWER_MAX];
    int status;
    const struct shell shell = {.line = metric->command,
                                .limit_s = COMMAND_LONGEST_S,
                                .stops = is_interrupted,
                                .stops_arg = metric->signals};
    int rc = shell_run(&shell, answer, sizeof(answer), &status);
    if (rc == -EINTR)
        return err_set(err, rc, "interrupted");
    if (rc == -ETIME)
        return err_set(err, rc, "'%.80s' takes longer than %d s", metric->command,
                       COMMAND_LONGEST_S);
    if (rc)
        return err_sys(err, rc, "cannot start '%.80s'", metric->command);
    if (!answer[0])
        return err_set(err, -EINVAL, "'%.100s' prints no number", metric->command);
    return take_number(metric, answer, err);
}

int metric_begin(struct metric *metric, struct err *err)
{
    metric->n = 0;
    metric->used = 0;
    metric->total = 0;
    switch (metric->kind) {
    case METRIC_LINES:
    case METRIC_FILE: {
        int rc = read_log(metric, false, err);
        return rc || metric->kind == METRIC_FILE ? rc : add_sample(metric, 0, err);
    }
    case METRIC_COUNTER:
        return ask_command(metric, err);
    default:
        return 0;
    }
}

int metric_look(struct metric *metric, struct err *err)
{
    double before = metric->total;
    int rc;
    switch (metric->kind) {
    case METRIC_LINES:
        rc = read_log(metric, true, err);
        return rc || metric->total <= before ? rc : add_sample(metric, metric->total, err);
    case METRIC_FILE:
        return read_log(metric, true, err);
    default:
        return ask_command(metric, err);
    }
}

double metric_rate(const struct metric *metric, double from_s, double to_s)
{
    bool grows = metric->kind == METRIC_LINES || metric->kind == METRIC_COUNTER;
    return grows ? gain_growth(metric->samples, metric->n, from_s, to_s)
                 : gain_mean(metric->samples, metric->n, from_s, to_s, metric->kind == METRIC_FILE);
}

bool metric_has_progress(const struct metric *metric)
{
    bool grows = metric->kind == METRIC_LINES || metric->kind == METRIC_COUNTER;
    return metric->n > (grows ? 1 : 0);
}

/* A smaller gain is not worth a change to a running job. */
static const double least_gain = 1.05;

/* The total at a time; the step under way counts in part. */
static double total_at(const struct gain_sample *samples, size_t n, double at_s)
{
    size_t next = 1;
    while (next < n && samples[next].at_s <= at_s)
        next++;
    const struct gain_sample *one = &samples[next - 1], *other = one + 1;
    if (next < n)
        return one->value +
               (other->value - one->value) * (at_s - one->at_s) / (other->at_s - one->at_s);
    /* The next step is assumed to take as long as the last one, and counts as one at most. */
    if (n < 3)
        return one->value;
    double took_s = one->at_s - one[-1].at_s;
    return one->value + (one->value - one[-1].value) * fmin((at_s - one->at_s) / took_s, 1);
}

size_t gain_count(const struct gain_sample *samples, size_t n, double from_s, double to_s)
{
    size_t seen = 0;
    for (size_t i = 0; i < n; i++)
        seen += samples[i].at_s > from_s && samples[i].at_s <= to_s;
    return seen;
}

double gain_growth(const struct gain_sample *samples, size_t n, double from_s, double to_s)
{
    if (gain_count(samples, n, from_s, to_s) < 2)
        return NAN;
    return (total_at(samples, n, to_s) - total_at(samples, n, from_s)) / (to_s - from_s);
}

double gain_mean(const struct gain_sample *samples, size_t n, double from_s, double to_s,
                 bool leave_first)
{
    double sum = 0, count = 0;
    for (size_t i = 0; i < n; i++) {
        if (samples[i].at_s <= from_s || samples[i].at_s > to_s)
            continue;
        if (!leave_first) {
            sum += samples[i].value;
            count++;
        }
        leave_first = false;
    }
    return count > 0 ? sum / count : (double)NAN;
}

double gain_block_s(double left_s, double change_s, size_t done, double shortest_s,
                    double longest_s)
{
    double pairs = done < GAIN_PAIRS_WANTED ? (double)(GAIN_PAIRS_WANTED - done) : 1;
    return fmin(fmax(left_s / (2 * pairs) - change_s, shortest_s), longest_s);
}

struct evidence gain_make(const struct gain_pairs *pairs)
{
    struct evidence gain = evidence_none;
    struct evidence_runs runs = {.known.nothing = true, .tail = 0.025};
    double before = 0, after = 0;
    for (size_t i = 0; i < pairs->n; i++) {
        const double log_before = log(pairs->before[i]), log_after = log(pairs->after[i]);
        before += pairs->before[i] / (double)pairs->n;
        after += pairs->after[i] / (double)pairs->n;
        if (pairs->are_starts)
            moments_add(&runs.sides[RUN_SPREAD_BASE], log_before);
        moments_add(&runs.sides[RUN_SPREAD_OTHER],
                    pairs->are_starts ? log_after : log_after - log_before);
    }
    if (pairs->n >= GAIN_PAIRS_LEAST)
        gain = evidence_of_runs(&runs);
    gain.base = before;
    gain.other = after;
    gain.outcome = gain.low > 1              ? OUTCOME_FASTER
                   : gain.high <= least_gain ? OUTCOME_SAME
                                             : OUTCOME_UNCLEAR;
    return gain;
}

const char *gain_name(const struct evidence *gain)
{
    return gain->outcome == OUTCOME_FASTER ? "proven"
           : gain->outcome == OUTCOME_SAME ? "none"
                                           : "unclear";
}
