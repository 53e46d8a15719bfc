#include "harness/doctor/doctor_apply.h"

#include <errno.h>
#include <math.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness/doctor/doctor_meter.h"
#include "harness/lib/sys/log.h"
#include "harness/lib/text.h"

/*
 * The speed of running workers without a user's word: the lines per second of the files that they
 * print to. CPU time is no speed: threads that spin use more of it the less they get done.
 */

struct doctor_watch {
    struct meter meter;  /* meter.n = 0: no log of theirs is known, or it hardly grows */
    double before, with; /* lines/s without and with the change; NaN = unknown */
};

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

/* Finds their logs. Free it. */
static void doctor_watch_open(const struct doctor_change *change, struct doctor_watch *watch)
{
    struct stat logs[METER_MOST] = {{0}};
    *watch = (struct doctor_watch){.before = NAN, .with = NAN};
    for (size_t i = 0; i < change->n && watch->meter.n < METER_MOST; i++) {
        const pid_t pid = change->processes[i].pid;
        if (!add_log(pid, STDOUT_FILENO, logs, &watch->meter))
            (void)add_log(pid, STDERR_FILENO, logs, &watch->meter);
    }
}

static void doctor_watch_free(struct doctor_watch *watch)
{
    meter_free(&watch->meter);
}

/*
 * Measures a block of some seconds, if there is a log. The view of `reader` then covers the block.
 * A log that grows too little is given up. -EINTR, and errors of the reader.
 */
static int doctor_watch_measure(struct doctor_watch *watch, bool changed, struct reader *reader,
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

/* True if both speeds are known, and the change made the logs slower than 0.95x. */
static bool doctor_watch_fell(const struct doctor_watch *watch)
{
    return watch->with < fell_below * watch->before;
}

/* How long the bystanders are watched after an --apply. */
static const double cost_s = 3;

/* Most bystanders that are named. */
enum { NAMED = 5 };

static void report_more(const struct bystanders *bystanders, FILE *out)
{
    if (bystanders->n > NAMED)
        (void)fprintf(out, "  and %zu more\n", bystanders->n - NAMED);
}

void doctor_print_bystanders(const struct bystanders *bystanders, FILE *out)
{
    if (bystanders->n)
        (void)fprintf(out, "Other busy processes:\n");
    for (size_t i = 0; i < bystanders->n && i < NAMED; i++)
        (void)fprintf(out, "  %s (%d)%s: %.2f CPUs\n", bystanders->all[i].name,
                      bystanders->all[i].pid, doctor_whose(bystanders->all[i].uid),
                      bystanders->all[i].cpus);
    report_more(bystanders, out);
}

void doctor_report_cost(const struct bystanders *bystanders, FILE *out)
{
    double before = bystanders_cpus(bystanders, SIZE_MAX, false),
           after = bystanders_cpus(bystanders, SIZE_MAX, true);
    if (!bystanders->n || isnan(before) || isnan(after))
        return;
    (void)fprintf(out, "The other busy processes had %.2f CPUs before and %.2f with it:\n", before,
                  after);
    for (size_t i = 0; i < bystanders->n && i < NAMED; i++)
        (void)fprintf(out, "  %s (%d)%s: %.2f -> %.2f CPUs\n", bystanders->all[i].name,
                      bystanders->all[i].pid, doctor_whose(bystanders->all[i].uid),
                      bystanders_cpus(bystanders, i, false), bystanders_cpus(bystanders, i, true));
    report_more(bystanders, out);
}

/* Waits for a signal too, so that Ctrl-C answers the question. */
int doctor_ask(const char *question, const char *option, struct signals *signals, bool *wanted,
               struct err *err)
{
    char answer[16] = "";
    if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO))
        return err_set(err, -EINVAL, "nothing was changed: without a terminal, %s needs --yes",
                       option);
    (void)printf("%s? [y/N] ", question);
    (void)fflush(stdout);
    struct pollfd events[] = {{.fd = STDIN_FILENO, .events = POLLIN},
                              {.fd = signals->fd, .events = POLLIN}};
    while (!events[0].revents) {
        (void)poll(events, 2, -1);
        if (signals_take(signals))
            return err_set(err, -EINTR, "interrupted");
    }
    *wanted = fgets(answer, sizeof(answer), stdin) && (answer[0] == 'y' || answer[0] == 'Y');
    return 0;
}

/* Measures the bystanders after the change; their use before it is known. */
static int report_cost(struct reader *reader, const struct doctor_watch *watch,
                       struct bystanders *bystanders, struct signals *signals, struct err *err)
{
    int rc = 0;
    if (!bystanders->n)
        return 0;
    if (!watch->meter.n) { /* else the view covers a block */
        rc = reader_mark(reader, err);
        if (!rc)
            rc = meter_rest(cost_s, signals, err);
        if (!rc)
            rc = reader_tick(reader, READER_WHOLE, err);
    }
    if (!rc)
        bystanders_add_block(bystanders, &reader->view, true);
    if (!rc)
        doctor_report_cost(bystanders, stdout);
    return rc;
}

/* Measures twice before it says that the change harms: other load comes and goes. */
static int watch_change(struct reader *reader, struct doctor_watch *watch, struct signals *signals,
                        struct err *err)
{
    int rc = doctor_watch_measure(watch, true, reader, signals, err);
    return rc || !doctor_watch_fell(watch)
               ? rc
               : doctor_watch_measure(watch, true, reader, signals, err);
}

/* The third number tells other load, which comes and goes, from the change. */
static int undo_and_report(const struct doctor_change *change, struct doctor_watch *watch,
                           struct reader *reader, struct signals *signals, struct err *err)
{
    struct apply_left left;
    const double before = watch->before;
    int rc = apply_undo(change->state, 0, &left, err);
    if (!rc)
        rc = doctor_watch_measure(watch, false, reader, signals, err);
    if (!rc)
        (void)printf("undone: their logs had %s lines/s before, %s with it, and %s after\n",
                     units_si(before), units_si(watch->with), units_si(watch->before));
    return rc;
}

static void report_watch(const struct doctor_apply_options *options,
                         const struct doctor_change *change, const struct doctor_watch *watch)
{
    char state[1040], pids[640] = "";
    if (isfinite(watch->with / watch->before)) {
        (void)printf("their logs: %s -> %s lines/s (%sx), in one block each\n",
                     units_si(watch->before), units_si(watch->with),
                     units_plain(watch->with / watch->before, 3));
        return;
    }
    (void)doctor_change_name_pids(change, pids, sizeof(pids));
    (void)doctor_format_state(options, state, sizeof(state));
    (void)printf("No gain is proven: no log of theirs shows their speed. These commands prove it:\n"
                 "  contend doctor --undo%s\n  contend doctor --verify METRIC%s%s\n",
                 state, pids, state);
}

static int bind_and_watch(struct reader *reader, const struct doctor_apply_options *options,
                          struct doctor_change *change, struct doctor_watch *watch,
                          struct signals *signals, bool *done, struct err *err)
{
    size_t bound = 0;
    int rc = doctor_watch_measure(watch, false, reader, signals, err);
    if (rc)
        return rc;
    bystanders_add_block(&change->bystanders, &reader->view, false);
    rc = doctor_change_do(change, APPLY_KEPT, &bound, err);
    if (rc)
        return rc;
    (void)printf("bound %zu process%s; contend doctor --undo restores what they had\n", bound,
                 bound == 1 ? "" : "es");
    (void)fflush(stdout);
    rc = watch_change(reader, watch, signals, err);
    if (!rc && doctor_watch_fell(watch) && !options->force)
        return undo_and_report(change, watch, reader, signals, err);
    *done = true;
    if (!rc && !reader->view.plan)
        report_watch(options, change, watch);
    if (!rc)
        rc = report_cost(reader, watch, &change->bystanders, signals, err);
    return rc == -EINTR
               ? err_set(err, rc, "interrupted; they stay bound until 'contend doctor --undo'")
               : rc;
}

int doctor_apply(struct reader *reader, const struct diagnosis *diagnosis,
                 const struct doctor_apply_options *options, struct signals *signals, bool *done,
                 struct err *err)
{
    struct doctor_change change;
    struct doctor_watch watch = {0};
    bool wanted = options->yes;
    *done = false;
    int rc = doctor_change_make(&reader->view, diagnosis, false, options, stdout, &change, err);
    if (!rc && change.n && !change.is_new) {
        (void)puts("nothing was changed: they have these CPUs already");
        change.n = 0;
    }
    if (!rc && change.n && !wanted)
        rc = doctor_ask("Bind them", "--apply", signals, &wanted, err);
    if (!rc && change.n && wanted) {
        if (!reader->view.plan) /* the plan is to be held, whatever it brings */
            doctor_watch_open(&change, &watch);
        rc = bind_and_watch(reader, options, &change, &watch, signals, done, err);
    }
    doctor_watch_free(&watch);
    doctor_change_free(&change);
    return rc;
}

/* A trial that is running has a better message than its lock. */
static int undo_alone(const char *path, struct apply_left *left, struct err *err)
{
    struct apply_lock lock;
    struct apply_state state = {0};
    struct err ignored;
    int rc = apply_lock_take(path, &lock, err);
    if (rc == -EBUSY) {
        const bool is_read = !apply_state_read(path, &state, &ignored);
        free(state.masks);
        return is_read && state.left.kind == APPLY_LEFT_AT_WORK ? apply_undo(path, 0, left, err)
                                                                : rc;
    }
    if (!rc || rc == -ENOENT)
        rc = apply_undo(path, 0, left, err);
    apply_lock_release(&lock);
    return rc;
}

int doctor_undo(const struct doctor_apply_options *options, struct err *err)
{
    char state[PATH_MAX];
    struct apply_left left = {0};
    int rc = doctor_find_state(options, state, sizeof(state), err);
    if (!rc)
        rc = undo_alone(state, &left, err);
    if (!rc)
        (void)printf("%zu process%s may run where %s could before; %zu ended meanwhile\n",
                     left.nlive, left.nlive == 1 ? "" : "es", left.nlive == 1 ? "it" : "they",
                     left.nended);
    return rc;
}

/* Only logs errors: none of them stops the diagnosis. */
void doctor_undo_stale_trial(const struct doctor_apply_options *options)
{
    char path[PATH_MAX];
    struct apply_state state = {0};
    struct err err;
    if (doctor_find_state(options, path, sizeof(path), &err))
        return;
    int rc = apply_state_read(path, &state, &err);
    struct apply_left *left = &state.left;
    bool behind = !rc && left->kind == APPLY_LEFT_BEHIND;
    bool over = !rc && left->kind == APPLY_LEFT_KEPT && !left->nlive;
    if (behind || over)
        rc = undo_alone(path, left, &err);
    if (rc && rc != -ENOENT)
        log_warn("%s", err.msg);
    else if (behind)
        log_warn("an earlier 'contend doctor --verify' was killed: undone, %zu process%s may run "
                 "where %s could before; %zu ended meanwhile",
                 left->nlive, left->nlive == 1 ? "" : "es", left->nlive == 1 ? "it" : "they",
                 left->nended);
    else if (left->kind == APPLY_LEFT_KEPT && !over)
        log_info("%zu process%s still bound by an earlier --apply; 'contend doctor --undo' "
                 "restores what they had",
                 left->nlive, left->nlive == 1 ? " is" : "es are");
    free(state.masks);
}
