/* Part of doctor --verify: starts copies of the job, alternately without and with the fix. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "harness/doctor/doctor_verify.h"
#include "harness/lib/str.h"
#include "harness/lib/sys/clock.h"
#include "harness/lib/sys/log.h"
#include "harness/lib/text.h"

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
