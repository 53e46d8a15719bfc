#include "harness/doctor/doctor_verify.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "harness/doctor/apply.h"
#include "harness/lib/sys/clock.h"
#include "harness/lib/sys/log.h"
#include "harness/lib/text.h"

/*
 * Seconds. switch_s: upper bound for changing masks, lower bound for starting a job. guard_s: how
 * long the guard waits beyond the time limit.
 */
static const double switch_s = 0.25, guard_s = 2;

int doctor_verify_open(const struct doctor_verify_options *options,
                       const struct doctor_apply_options *apply, struct signals *signals, FILE *out,
                       struct doctor_verify *verify, struct err *err)
{
    *verify = (struct doctor_verify){
        .options = options, .apply = apply, .signals = signals, .out = out, .output_fd = -1};
    double least_s = 2.0 * GAIN_PAIRS_LEAST * (options->block_s + switch_s);
    if (options->max_time_s < least_s)
        return err_set(err, -EINVAL,
                       "--max-time %g is too short for %d blocks of %g s: type --max-time %.0f, or "
                       "a shorter --block",
                       options->max_time_s, 2 * GAIN_PAIRS_LEAST, options->block_s, ceil(least_s));
    (void)doctor_format_state(apply, verify->state_option, sizeof(verify->state_option));
    int rc = meter_open(&options->metrics, options->restart, options->less_is_better,
                        verify->signals, &verify->meter, err);
    verify->trial.unit = rc ? "" : metric_unit(&verify->meter.all[0]);
    return rc;
}

void doctor_verify_free(struct doctor_verify *verify)
{
    if (!verify->options)
        return;
    doctor_launch_end(&verify->job);
    doctor_change_free(&verify->change);
    if (verify->output_fd >= 0)
        (void)close(verify->output_fd);
    meter_free(&verify->meter);
}

/* A worker that ended makes the block look slow, so that is an error. */
static int check_workers(const struct doctor_verify *verify, int rc, struct err *err)
{
    for (size_t i = 0; i < verify->change.n && rc != -EINTR; i++) {
        const struct apply_process *one = &verify->change.processes[i];
        if (one->is_lead && !apply_is_same(one->pid, one->pid, one->start_ticks))
            return err_set(err, -ESRCH, "%.15s (%d) ended while it was measured", one->name,
                           (int)one->pid);
    }
    return rc;
}

/* Measures a block with or without the change; *longest_s grows to the longest block. */
static int measure_block(struct doctor_verify *verify, struct reader *reader, doctor_set *set,
                         bool changed, double *rate, double *longest_s, struct err *err)
{
    double begin_s = clock_now_s();
    int rc = set(verify, changed, err);
    double from_s = clock_now_s();
    verify->change_s = fmax(verify->change_s, from_s - begin_s);
    if (!rc) {
        double least_s =
            gain_block_s(verify->end_s - begin_s, verify->change_s, verify->trial.pairs.n,
                         meter_shortest_s, verify->options->block_s);
        rc = meter_measure(&verify->meter, least_s, verify->options->block_s, reader,
                           verify->signals, rate, err);
        rc = doctor_verify_check_job(verify, rc, err);
    }
    *longest_s = fmax(*longest_s, clock_now_s() - from_s);
    rc = check_workers(verify, rc, err);
    if (!rc)
        bystanders_add_block(&verify->trial.bystanders, &reader->view, changed);
    return rc;
}

/* The order is ABBA, so that drift over time affects both kinds equally. */
int doctor_verify_pairs(struct doctor_verify *verify, struct reader *reader, doctor_set *set,
                        struct err *err)
{
    struct gain_pairs *pairs = &verify->trial.pairs;
    double begin_s = clock_now_s(), longest_s = meter_shortest_s;
    double pair_s = 2 * (longest_s + fmax(verify->change_s, switch_s));
    int rc = 0;
    while (!rc && pairs->n < GAIN_PAIRS_MOST && clock_now_s() + pair_s <= verify->end_s) {
        double rates[2] = {0, 0};
        for (int half = 0; half < 2 && !rc; half++) {
            bool changed = ((size_t)half + pairs->n) % 2;
            progress_set("verify", 2 * pairs->n + (size_t)half,
                         2 * (size_t)((verify->end_s - begin_s) / pair_s), verify->end_s - begin_s);
            rc = measure_block(verify, reader, set, changed, &rates[changed], &longest_s, err);
        }
        /* The process was stopped, and the guard has undone the change. */
        if (rc || clock_now_s() > verify->end_s + guard_s)
            break;
        pairs->before[pairs->n] = rates[0];
        pairs->after[pairs->n++] = rates[1];
        pair_s = 2 * (longest_s + fmax(verify->change_s, switch_s));
    }
    progress_end();
    verify->trial.gain = gain_make(pairs);
    return rc;
}

/* Without --restart: binds as --apply does, or undoes it. */
static int set_masks(struct doctor_verify *verify, bool changed, struct err *err)
{
    struct apply_left left;
    size_t bound;
    if (verify->is_bound == changed)
        return 0;
    verify->is_bound = changed;
    if (changed)
        return doctor_change_do(&verify->change, APPLY_TRIAL, &bound, err);
    int rc = apply_undo(verify->change.state, getpid(), &left, err);
    if (!rc && !left.nlive)
        return err_set(err, -ESRCH, "all processes ended while they were measured");
    return rc == -ENOENT ? 0 : rc; /* the guard has undone it */
}

static void print_verdict(const struct doctor_verify *verify)
{
    const struct evidence *gain = &verify->trial.gain;
    const char *undone = verify->options->restart ? "" : ": undone";
    const char *text;
    if (gain->outcome == OUTCOME_UNCLEAR && isnan(gain->ratio))
        text = str_fmt("inconclusive%s. %s: fewer than %d pairs of blocks were "
                       "measured; allow more by --max-time.",
                       undone, verify->trial.what, GAIN_PAIRS_LEAST);
    else
        text = str_fmt(
            "%s%s%s: %sx the speed (%sx to %sx), %s -> %s%s%s.%s%s",
            gain->outcome == OUTCOME_FASTER    ? ""
            : gain->outcome == OUTCOME_UNCLEAR ? "inconclusive"
                                               : "no gain",
            gain->outcome == OUTCOME_FASTER ? "" : undone,
            gain->outcome == OUTCOME_FASTER ? verify->trial.what : "", units_plain(gain->ratio, 3),
            units_plain(gain->low, 3), units_plain(gain->high, 3), units_si(gain->base),
            units_si(gain->other), verify->trial.unit[0] ? " " : "", verify->trial.unit,
            gain->outcome == OUTCOME_FASTER && !verify->options->restart
                ? verify->trial.kept ? " Kept." : " Undone."
                : "",
            gain->outcome == OUTCOME_UNCLEAR ? " More --max-time measures more pairs." : "");
    int column = fprintf(verify->out, "VERDICT  ");
    text_wrap(text, column, column, verify->out);
}

static void print(const struct doctor_verify *verify)
{
    (void)fputc('\n', verify->out);
    print_verdict(verify);
    if (verify->trial.kept)
        (void)fprintf(verify->out, "UNDO     contend doctor --undo%s\n", verify->state_option);
    else if (verify->trial.gain.outcome == OUTCOME_FASTER)
        (void)fprintf(verify->out, "APPLY    %s\n", verify->trial.redo);
    (void)fprintf(
        verify->out,
        verify->trial.pairs.are_starts
            ? "\n%zu starts without it and as many with it, in alternation; 95%% interval\nfrom "
              "the spread of such starts\n"
            : "\n%zu pairs of blocks, without it and with it in alternation; 95%% interval\n",
        verify->trial.pairs.n);
    doctor_report_cost(&verify->trial.bystanders, verify->out);
    if (verify->env_changes.n && !verify->options->restart) {
        (void)fprintf(verify->out,
                      "Not tried: %s, which needs a restart. --verify METRIC --restart COMMAND "
                      "measures it.\n",
                      env_changes_format(&verify->env_changes));
    }
}

/* The commands that were tried, or what does the same again: another look may decide otherwise. */
static void report_redo(struct doctor_verify *verify)
{
    const char *placement = verify->apply->placement;
    char pids[640] = "";
    const bool all = doctor_change_name_pids(&verify->change, pids, sizeof(pids));
    text_set(verify->trial.what,
             verify->change.commands[0] ? "the CPUs that the findings name"
                                        : "own CPUs for each worker (%s)",
             placement ? placement : doctor_usual_placement);
    if (verify->change.commands[0])
        text_set(verify->trial.redo, "%s", verify->change.commands);
    else
        text_set(verify->trial.redo, "contend doctor --apply --force --placement %s%s%s",
                 placement ? placement : doctor_usual_placement, all ? pids : "",
                 verify->state_option);
}

/* Keeps a proven gain if --keep or the answer on the terminal says so. */
static int keep_if_wanted(struct doctor_verify *verify, struct err *err)
{
    bool proven = verify->trial.gain.outcome == OUTCOME_FASTER, wanted = verify->options->keep;
    size_t bound;
    int rc = proven && wanted ? doctor_change_do(&verify->change, APPLY_KEPT, &bound, err) : 0;
    verify->trial.kept = proven && wanted && !rc;
    print(verify);
    if (rc || !proven || wanted || verify->out != stdout || !isatty(STDIN_FILENO) ||
        !isatty(STDOUT_FILENO))
        return rc;
    rc = doctor_ask("Keep it", "--verify", verify->signals, &wanted, err);
    if (!rc && wanted)
        rc = doctor_change_do(&verify->change, APPLY_KEPT, &bound, err);
    verify->trial.kept = !rc && wanted;
    if (verify->trial.kept)
        (void)printf("kept until you type contend doctor --undo%s\n", verify->state_option);
    return rc;
}

static int try_live(struct doctor_verify *verify, struct reader *reader, struct err *err)
{
    struct apply_guard guard;
    struct err later;
    log_info("measures for up to %.0f s, without it and with it in alternation; Ctrl-C undoes it",
             verify->options->max_time_s);
    verify->end_s = clock_now_s() + verify->options->max_time_s;
    int rc =
        apply_guard_start(&guard, verify->change.state, verify->options->max_time_s + guard_s, err);
    if (rc)
        return rc;
    rc = doctor_verify_pairs(verify, reader, set_masks, err);
    int undone = set_masks(verify, false, rc ? &later : err);
    apply_guard_end(&guard);
    if (rc && undone)
        log_error("%s", later.msg);
    return rc ? rc : undone;
}

static int verify_live(struct doctor_verify *verify, struct reader *reader,
                       const struct diagnosis *diagnosis, bool *done, struct err *err)
{
    bool wanted = verify->apply->yes;
    int rc = doctor_change_make(&reader->view, diagnosis, true, verify->apply, verify->out,
                                &verify->change, err);
    verify->trial.bystanders = verify->change.bystanders;
    if (rc)
        return rc;
    if (!verify->change.n || !verify->change.is_new) {
        if (verify->change.n)
            (void)fputs("they have these CPUs already: nothing to try\n", verify->out);
        return 0;
    }
    if (!wanted)
        rc = doctor_ask("Try it, and undo it", "--verify", verify->signals, &wanted, err);
    if (rc || !wanted)
        return rc;
    report_redo(verify);
    rc = try_live(verify, reader, err);
    if (!rc)
        rc = keep_if_wanted(verify, err);
    *done = !rc;
    return rc;
}

int doctor_verify_run(struct doctor_verify *verify, struct reader *reader,
                      const struct diagnosis *diagnosis, bool *done, struct err *err)
{
    *done = false;
    verify->env_changes = diagnosis_env_changes(diagnosis);
    if (!verify->options->restart)
        return verify_live(verify, reader, diagnosis, done, err);
    int rc = doctor_verify_check_job(verify, 0, err);
    if (rc)
        return rc;
    if (!verify->env_changes.n) {
        (void)fprintf(
            verify->out, "no finding names a setting for a restart: nothing to try%s\n",
            diagnosis->n && diagnosis->all[0].finding.command[0]
                ? "; start the\njob yourself and verify the command above without --restart"
                : "");
        return 0;
    }
    text_set(verify->trial.redo, "%s", env_changes_format(&verify->env_changes));
    text_set(verify->trial.what, "started with '%.600s'", verify->trial.redo);
    rc = doctor_verify_restart(verify, reader, err);
    if (!rc)
        print(verify);
    *done = !rc;
    return rc;
}

/* Part of doctor --verify: starts copies of the job, alternately without and with the fix. */

/* How long the bystanders are watched before the job starts. */
static const double before_s = 1;

/* One output for all copies of the job. */
static int open_output(struct doctor_verify *verify, struct err *err)
{
    verify->output_fd = memfd_create("contend doctor", MFD_CLOEXEC);
    if (verify->output_fd < 0)
        return err_sys(err, -errno, "no memory for what the job prints");
    (void)fcntl(verify->output_fd, F_SETFL, O_APPEND); /* several processes write there */
    const char *path = str_fmt("/proc/self/fd/%d", verify->output_fd);
    for (size_t i = 0; i < verify->meter.n; i++)
        metric_set_output(&verify->meter.all[i], path);
    return 0;
}

static bool job_runs(void *arg)
{
    return doctor_launch_runs(arg);
}

/* Appends the last line of the job's output to the message. */
static int add_last_line(const struct doctor_verify *verify, int rc, struct err *err)
{
    char text[512];
    off_t end = lseek(verify->output_fd, 0, SEEK_END);
    off_t from = end > (off_t)sizeof(text) - 1 ? end - (off_t)sizeof(text) + 1 : 0;
    ssize_t n = pread(verify->output_fd, text, sizeof(text) - 1, from);
    while (n > 0 && text[n - 1] == '\n')
        n--;
    text[n > 0 ? n : 0] = '\0';
    char *last = strrchr(text, '\n');
    last = last ? last + 1 : text;
    if (*last)
        (void)check_append(err->msg, sizeof(err->msg), "; its last line: %.90s",
                           text_one_line(last));
    return rc;
}

int doctor_verify_check_job(const struct doctor_verify *verify, int rc, struct err *err)
{
    const bool runs = rc != -ESRCH && doctor_launch_runs(&verify->job);
    if (!verify->options->restart || runs || rc == -EINTR)
        return rc;
    return add_last_line(
        verify,
        err_set(err, -ECHILD, "the job ended while it was measured: it must run for longer"), err);
}

static int start_job(struct doctor_verify *verify, struct env_changes *env_changes, struct err *err)
{
    struct err ignored; /* the job's log may not exist yet */
    for (size_t i = 0; i < verify->meter.n; i++)
        (void)metric_begin(&verify->meter.all[i], &ignored);
    int rc = doctor_launch_begin(verify->options->restart, env_changes, verify->output_fd,
                                 &verify->job, err);
    if (!rc)
        rc = meter_await(&verify->meter, verify->end_s, job_runs, &verify->job, verify->signals,
                         err);
    return rc == -ECHILD || rc == -ETIME ? add_last_line(verify, rc, err) : rc;
}

int doctor_verify_start(struct doctor_verify *verify, struct reader *reader, pid_t *pid,
                        bool *wanted, struct err *err)
{
    *wanted = verify->apply->yes;
    int rc = reader_mark(reader, err);
    if (!rc)
        rc = meter_rest(before_s, verify->signals, err);
    if (!rc)
        rc = reader_tick(reader, READER_WHOLE, err);
    if (!rc)
        rc = open_output(verify, err);
    if (rc)
        return rc;
    bystanders_find(&reader->view, doctor_is_own_process, NULL, &verify->trial.bystanders);
    doctor_print_bystanders(&verify->trial.bystanders, verify->out);
    if (!*wanted)
        rc = doctor_ask("Start the job repeatedly", "--restart", verify->signals, wanted, err);
    if (rc || !*wanted)
        return rc;
    verify->end_s = clock_now_s() + verify->options->max_time_s;
    log_info("starts '%.100s' for up to %.0f s in all; Ctrl-C ends it", verify->options->restart,
             verify->options->max_time_s);
    double begin_s = clock_now_s();
    rc = start_job(verify, NULL, err);
    verify->change_s = clock_now_s() - begin_s;
    verify->is_fresh = !rc;
    *pid = verify->job.process.pid;
    /* The mark adds the new job to the view. */
    return rc ? rc : doctor_verify_check_job(verify, reader_mark(reader, err), err);
}

static int set_job(struct doctor_verify *verify, bool changed, struct err *err)
{
    bool fresh = verify->is_fresh && !changed;
    verify->is_fresh = false;
    if (fresh)
        return 0;
    doctor_launch_end(&verify->job);
    return start_job(verify, changed ? &verify->env_changes : NULL, err);
}

int doctor_verify_restart(struct doctor_verify *verify, struct reader *reader, struct err *err)
{
    verify->trial.pairs.are_starts = true;
    int rc = doctor_verify_pairs(verify, reader, set_job, err);
    doctor_launch_end(&verify->job);
    /* Too little time for the last start: the earlier pairs still count. */
    return rc == -ETIME && verify->trial.pairs.n ? 0 : rc;
}
