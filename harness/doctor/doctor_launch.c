#include "harness/doctor/doctor_launch.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { GRACE_TRIES = 150, GRACE_PAUSE_US = 20000 };

struct job_line {
    const char *line;
    struct env_changes *env_changes;
    int output_fd;
};

static int run_shell(void *arg)
{
    const struct job_line *job = arg;
    for (unsigned i = 0; job->env_changes && i < job->env_changes->n; i++) {
        char *setting = job->env_changes->settings[i];
        if (strchr(setting, '=') ? putenv(setting) : unsetenv(setting))
            return 127;
    }
    return process_become_shell(job->line, job->output_fd, job->output_fd);
}

/* Runs as the parent of the job, and ends all of it when the job or contend ends. */
static int supervise_job(void *arg)
{
    struct process shell;
    int status;
    process_adopt(true);
    process_end_with_parent();
    if (process_start(&shell, false, run_shell, arg))
        return 127;
    process_wait(&shell, &status);
    (void)process_end_below(getpid());
    return 0;
}

int doctor_launch_begin(const char *line, struct env_changes *env_changes, int output_fd,
                        struct doctor_launch *launch, struct err *err)
{
    struct job_line job = {line, env_changes, output_fd};
    int rc = process_start(&launch->process, true, supervise_job, &job);
    return rc ? err_sys(err, rc, "cannot start '%.100s'", line) : 0;
}

bool doctor_launch_runs(const struct doctor_launch *launch)
{
    return !process_is_zombie(&launch->process);
}

void doctor_launch_end(struct doctor_launch *launch)
{
    int status;
    if (!launch->process.pid)
        return;
    (void)process_signal_below(launch->process.pid, SIGTERM);
    for (int i = 0; i < GRACE_TRIES && !process_is_zombie(&launch->process); i++)
        (void)usleep(GRACE_PAUSE_US);
    if (!process_is_zombie(&launch->process))
        (void)process_end_below(launch->process.pid);
    (void)process_end(&launch->process, GRACE_TRIES * GRACE_PAUSE_US * 1e-6, &status);
}
