#include "harness/gnuplot.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "harness/core/clock.h"
#include "harness/process.h"

enum { PARALLEL = 2, EXEC_FAILED = 127 };

/* A running gnuplot. */
struct plotter {
    struct gnuplot_job *job;
    struct process process;
    int messages;      /* memfd with what it printed */
    int exec_error_fd; /* reads an errno when exec failed, else end of file */
    uint64_t deadline_ns;
};

static int make_script(const struct gnuplot_job *job)
{
    int fd = memfd_create("contend-plot", MFD_CLOEXEC);
    if (fd < 0)
        return -errno;
    char figure[80];
    (void)snprintf(figure, sizeof(figure), "figure = '%s'\n", job->name);
    const char *const parts[] = {figure, job->scripts[0], job->scripts[1]};
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
        size_t size = strlen(parts[i]);
        if (write(fd, parts[i], size) != (ssize_t)size) {
            (void)close(fd);
            return -EIO;
        }
    }
    if (lseek(fd, 0, SEEK_SET) < 0) {
        (void)close(fd);
        return -EIO;
    }
    return fd;
}

struct image {
    int dir_fd, script, messages, exec_error;
};

/* Between fork and exec: only calls that are safe there. */
static int become_gnuplot(void *arg)
{
    const struct image *image = arg;
    static char name[] = "gnuplot", default_settings[] = "-d", from_stdin[] = "-";
    static char *const argv[] = {name, default_settings, from_stdin, NULL};
    sigset_t none;
    (void)sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
    if (fchdir(image->dir_fd) == 0 && dup2(image->script, STDIN_FILENO) >= 0 &&
        dup2(image->messages, STDOUT_FILENO) >= 0 && dup2(image->messages, STDERR_FILENO) >= 0)
        (void)execvp(name, argv);
    int code = errno;
    (void)!write(image->exec_error, &code, sizeof(code));
    return EXEC_FAILED;
}

static int start(int dir_fd, struct gnuplot_job *job, double timeout_s, struct plotter *out,
                 struct err *err)
{
    int exec_error[2] = {-1, -1}, messages = -1, rc = 0;
    int script = make_script(job);
    if (script < 0)
        return err_sys(err, script, "cannot hand the plot of %s to gnuplot", job->name);
    messages = memfd_create("contend-plot-messages", MFD_CLOEXEC);
    if (messages < 0 || pipe2(exec_error, O_CLOEXEC)) {
        rc = err_sys(err, -errno, "cannot prepare gnuplot for %s", job->name);
        goto close_files;
    }
    struct image image = {dir_fd, script, messages, exec_error[1]};
    struct process process;
    rc = process_start(&process, false, become_gnuplot, &image);
    if (rc) {
        (void)err_sys(err, rc, "cannot start gnuplot for %s", job->name);
        (void)close(exec_error[0]);
        goto close_files;
    }
    *out = (struct plotter){job, process, messages, exec_error[0],
                            clock_now_ns() + (uint64_t)(timeout_s * 1e9)};
    messages = -1;
close_files:
    if (exec_error[1] >= 0)
        (void)close(exec_error[1]);
    if (messages >= 0)
        (void)close(messages);
    (void)close(script);
    return rc;
}

/* gnuplot's last line that is not blank: why it gave up. Cut to fit. */
static void last_message(int fd, char *text, size_t size)
{
    struct stat status;
    off_t from = fstat(fd, &status) ? 0 : status.st_size - (off_t)size + 1;
    ssize_t n = pread(fd, text, size - 1, from > 0 ? from : 0);
    size_t end = n > 0 ? (size_t)n : 0;
    while (end > 0 && isspace((unsigned char)text[end - 1]))
        end--;
    text[end] = '\0';
    char *line = strrchr(text, '\n');
    line = line ? line + 1 : text;
    line += strspn(line, " \t");
    memmove(text, line, strlen(line) + 1);
}

static int judge(const struct plotter *plotter, int wait_status, int timed_out, struct err *err)
{
    int code = 0;
    if (read(plotter->exec_error_fd, &code, sizeof(code)) == (ssize_t)sizeof(code))
        return code == ENOENT ? err_set(err, -ENOENT, "gnuplot is not installed")
                              : err_sys(err, -code, "cannot run gnuplot");
    if (timed_out)
        return err_set(err, -ETIMEDOUT, "gnuplot did not finish %s in time", plotter->job->name);
    if (WIFEXITED(wait_status) && WEXITSTATUS(wait_status) == 0)
        return 0;
    char message[160];
    last_message(plotter->messages, message, sizeof(message));
    return err_set(err, -EIO, "gnuplot failed on %s: %s", plotter->job->name,
                   message[0] ? message : "it gave no reason");
}

/* Collects the process if it has ended or its time is up. Returns 1 when it is done. */
static int finish(struct plotter *plotter, int *rc, struct err *err)
{
    int wait_status = 0;
    int timed_out = 0;
    if (!process_ended(&plotter->process, &wait_status)) {
        if (clock_now_ns() < plotter->deadline_ns)
            return 0;
        timed_out = 1;
        (void)process_signal(&plotter->process, SIGKILL);
        process_wait(&plotter->process, &wait_status);
    }
    struct err why;
    plotter->job->rc = judge(plotter, wait_status, timed_out, &why);
    if (plotter->job->rc && !*rc)
        *rc = err_set(err, plotter->job->rc, "%s", why.msg);
    (void)close(plotter->messages);
    (void)close(plotter->exec_error_fd);
    return 1;
}

int gnuplot_run(int dir_fd, struct gnuplot_job *jobs, size_t njobs, double timeout_s,
                struct err *err)
{
    static const struct timespec pause = {.tv_nsec = 5000000};
    struct plotter running[PARALLEL] = {0};
    size_t next = 0, active = 0;
    int rc = 0;
    while (next < njobs || active > 0) {
        for (size_t i = 0; i < PARALLEL; i++) {
            if (running[i].process.pid && finish(&running[i], &rc, err))
                active--;
            if (running[i].process.pid || next == njobs)
                continue;
            struct err why;
            struct gnuplot_job *job = &jobs[next++];
            job->rc = start(dir_fd, job, timeout_s, &running[i], &why);
            active += !job->rc;
            if (job->rc && !rc)
                rc = err_set(err, job->rc, "%s", why.msg);
        }
        if (active)
            (void)nanosleep(&pause, NULL);
    }
    return rc;
}
