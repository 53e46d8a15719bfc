#include "harness/show/figures/gnuplot.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "harness/lib/sys/clock.h"
#include "harness/lib/sys/file.h"
#include "harness/lib/sys/process.h"
#include "harness/lib/text.h"
#include "harness/show/figures/files.h"

enum { PARALLEL = 2, EXEC_FAILED = 127 };

/* Far more than a figure needs: they stop a figure whose data were made to exhaust the machine. */
static const struct limit {
    int resource;
    rlim_t most;
} limits[] = {
    {RLIMIT_AS, (rlim_t)4 << 30},
    {RLIMIT_FSIZE, (rlim_t)256 << 20},
    {RLIMIT_CORE, 0},
};

/* The files of one figure, in memory: gnuplot gets no path into a directory of another user. */
struct files {
    int data;
    int pictures[PLOT_PICTURES];
};

/* A running gnuplot. */
struct plotter {
    struct gnuplot_job *job; /* NULL: this entry is free */
    struct process process;
    struct files files;
    int messages;      /* memfd with gnuplot's output */
    int exec_error_fd; /* yields an errno if exec failed, else end of file */
    uint64_t deadline_ns;
};

static void close_files(struct files *files)
{
    if (files->data >= 0)
        (void)close(files->data);
    for (int i = 0; i < PLOT_PICTURES; i++)
        if (files->pictures[i] >= 0)
            (void)close(files->pictures[i]);
}

static int open_files(int dir_fd, const char *name, struct files *files, struct err *err)
{
    *files = (struct files){plot_files_read(dir_fd, name, ".dat", err), {-1, -1, -1, -1}};
    int rc = files->data < 0 ? files->data : 0;
    for (int i = 0; i < PLOT_PICTURES && !rc; i++) {
        files->pictures[i] = plot_files_memory(err);
        rc = files->pictures[i] < 0 ? files->pictures[i] : 0;
    }
    if (rc)
        close_files(files);
    return rc;
}

/*
 * With a dark theme, black and grey on white become light on dark; data colours stay. The selectors
 * match how gnuplot writes colours: those of texts have no blanks.
 */
static const char theme[] =
    "<style>@media screen and (prefers-color-scheme:dark){rect[fill='#ffffff']{fill:#0d1117}"
    "[color='black']{color:#e6edf3}[stroke='black'],[stroke='rgb(  0,   0,   0)']{stroke:#e6edf3}"
    "[fill='black'],[fill='rgb(0,0,0)']{fill:#e6edf3}[stroke='rgb( 96,  96,  96)']{stroke:#9198a1}"
    "[fill='rgb(96,96,96)']{fill:#9198a1}[stroke='rgb(228, 228, 228)']{stroke:#3d444d}"
    "[fill='rgb(228, 228, 228)'],[fill='rgb(254, 254, 254)']{fill:#3d444d}}</style>\n";

/* Inserts the theme before the first <defs>; an SVG without <defs> stays as it is. */
static int add_theme(int svg_fd)
{
    struct stat status;
    if (fstat(svg_fd, &status))
        return -errno;
    size_t size = (size_t)status.st_size, more = sizeof(theme) - 1;
    char *text = malloc(size + 1);
    if (!text)
        return -ENOMEM;
    ssize_t n = pread(svg_fd, text, size, 0);
    text[n > 0 ? n : 0] = '\0';
    const char *at = strstr(text, "<defs>");
    int rc = n < 0 ? -errno : 0;
    if (at)
        rc = file_write_at(svg_fd, theme, more, at - text);
    if (at && !rc)
        rc = file_write_at(svg_fd, at, strlen(at), at - text + (off_t)more);
    free(text);
    return rc;
}

static int put_pictures(int dir_fd, const char *name, const struct files *files, struct err *err)
{
    int rc = add_theme(files->pictures[PLOT_SVG]);
    if (!rc)
        rc = add_theme(files->pictures[PLOT_NARROW_SVG]);
    if (rc)
        return err_sys(err, rc, "cannot write %s.svg", name);
    for (int i = 0; i < PLOT_PICTURES && !rc; i++)
        rc = plot_files_put(dir_fd, name, plot_suffixes[i], files->pictures[i], err);
    return rc;
}

static int make_script(const struct gnuplot_job *job, const struct files *files)
{
    int fd = memfd_create("contend-plot", MFD_CLOEXEC);
    if (fd < 0)
        return -errno;
    const char *names =
        str_fmt("figure = '%s'\ndata_file = '/proc/self/fd/%d'\nnarrow = 0\n"
                "svg_file = '/proc/self/fd/%d'\npng_file = '/proc/self/fd/%d'\n",
                job->name, files->data, files->pictures[PLOT_SVG], files->pictures[PLOT_PNG]);
    const char *again = str_fmt("\nreset\nnarrow = 1\nsvg_file = '/proc/self/fd/%d'\n"
                                "png_file = '/proc/self/fd/%d'\n",
                                files->pictures[PLOT_NARROW_SVG], files->pictures[PLOT_NARROW_PNG]);
    const char *const *scripts = job->scripts;
    const char *const parts[] = {names, scripts[0], scripts[1], again, scripts[0], scripts[1]};
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

static int keep_open_on_exec(const struct files *files)
{
    int rc = fcntl(files->data, F_SETFD, 0);
    for (int i = 0; i < PLOT_PICTURES && rc >= 0; i++)
        rc = fcntl(files->pictures[i], F_SETFD, 0);
    return rc;
}

/* Applies `limits`; lower existing limits stay. */
static void set_limits(void)
{
    for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
        struct rlimit now;
        if (getrlimit(limits[i].resource, &now) || now.rlim_max <= limits[i].most)
            continue;
        now.rlim_max = limits[i].most;
        now.rlim_cur = now.rlim_cur < now.rlim_max ? now.rlim_cur : now.rlim_max;
        (void)setrlimit(limits[i].resource, &now);
    }
    (void)signal(SIGXFSZ, SIG_DFL); /* if ignored, gnuplot would run on at the limit */
}

struct image {
    const char *path;
    const struct files *files;
    int script, messages, exec_error;
};

/* Runs between fork and exec: only async-signal-safe calls. */
static int become_gnuplot(void *arg)
{
    const struct image *image = arg;
    static char name[] = "gnuplot", default_settings[] = "-d", from_stdin[] = "-";
    static char *const argv[] = {name, default_settings, from_stdin, NULL};
    sigset_t none;
    (void)sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
    set_limits();
    if (chdir("/") == 0 && keep_open_on_exec(image->files) >= 0 &&
        dup2(image->script, STDIN_FILENO) >= 0 && dup2(image->messages, STDOUT_FILENO) >= 0 &&
        dup2(image->messages, STDERR_FILENO) >= 0)
        (void)execv(image->path, argv);
    int code = errno;
    (void)!write(image->exec_error, &code, sizeof(code));
    return EXEC_FAILED;
}

static int start(const char *path, struct gnuplot_job *job, const struct files *files,
                 double timeout_s, struct plotter *out, struct err *err)
{
    int exec_error[2] = {-1, -1}, messages = -1, rc = 0;
    int script = make_script(job, files);
    if (script < 0)
        return err_sys(err, script, "cannot hand the plot of %s to gnuplot", job->name);
    messages = memfd_create("contend-plot-messages", MFD_CLOEXEC);
    if (messages < 0 || pipe2(exec_error, O_CLOEXEC)) {
        rc = err_sys(err, -errno, "cannot prepare gnuplot for %s", job->name);
        goto close_files;
    }
    struct image image = {path, files, script, messages, exec_error[1]};
    struct process process;
    /* Own process group: else a terminal's interrupt ends gnuplot before this process knows. */
    rc = process_start(&process, true, become_gnuplot, &image);
    if (rc) {
        (void)err_sys(err, rc, "cannot start gnuplot for %s", job->name);
        (void)close(exec_error[0]);
        goto close_files;
    }
    *out = (struct plotter){job,      process,       *files,
                            messages, exec_error[0], clock_now_ns() + (uint64_t)(timeout_s * 1e9)};
    messages = -1;
close_files:
    if (exec_error[1] >= 0)
        (void)close(exec_error[1]);
    if (messages >= 0)
        (void)close(messages);
    (void)close(script);
    return rc;
}

/* gnuplot's last line that is not blank, which says why it failed. Cut to fit. */
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
    for (char *c = text; *c; c++) /* the line may quote data, and it goes to a terminal */
        if ((unsigned char)*c < ' ' || *c == 0x7f)
            *c = '?';
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
    if (WIFSIGNALED(wait_status))
        return err_set(err, -EIO, "gnuplot failed on %s: it was ended by signal %d",
                       plotter->job->name, WTERMSIG(wait_status));
    char message[160];
    last_message(plotter->messages, message, sizeof(message));
    return err_set(err, -EIO, "gnuplot failed on %s: %s", plotter->job->name,
                   message[0] ? message : "it gave no reason");
}

/* Kills gnuplot and waits for its end. */
static void end(struct plotter *plotter, int *wait_status)
{
    (void)process_end(&plotter->process, 0, wait_status);
}

static void release(struct plotter *plotter)
{
    close_files(&plotter->files);
    (void)close(plotter->messages);
    (void)close(plotter->exec_error_fd);
    *plotter = (struct plotter){0};
}

/* Collects gnuplot if it has ended or its time is up. Returns true if it did. */
static bool finish(int dir_fd, struct plotter *plotter, struct err *err)
{
    struct gnuplot_job *job = plotter->job;
    int wait_status = 0;
    int timed_out = 0;
    bool ended = process_ended(&plotter->process, &wait_status);
    if (!ended && clock_now_ns() < plotter->deadline_ns)
        return false;
    if (!ended) {
        timed_out = 1;
        end(plotter, &wait_status);
    }
    job->rc = judge(plotter, wait_status, timed_out, err);
    if (!job->rc)
        job->rc = put_pictures(dir_fd, job->name, &plotter->files, err);
    release(plotter);
    return true;
}

static bool start_next(int dir_fd, const char *path, struct gnuplot_job *job, double timeout_s,
                       struct plotter *plotter, struct err *err)
{
    struct files files;
    job->rc = open_files(dir_fd, job->name, &files, err);
    if (job->rc)
        return false;
    job->rc = start(path, job, &files, timeout_s, plotter, err);
    if (job->rc)
        close_files(&files);
    return !job->rc;
}

/* Kills running gnuplots, and sets the result of all figures that are not drawn yet. */
static int give_up(struct plotter running[static PARALLEL], struct gnuplot_job *jobs, size_t njobs,
                   int code)
{
    for (size_t i = 0; i < PARALLEL; i++) {
        int wait_status;
        if (!running[i].job)
            continue;
        running[i].job->rc = code;
        end(&running[i], &wait_status);
        release(&running[i]);
    }
    for (size_t i = 0; i < njobs; i++)
        jobs[i].rc = code;
    return code;
}

int gnuplot_run(int dir_fd, struct gnuplot_job *jobs, size_t njobs, double timeout_s,
                struct signals *signals, struct err *err)
{
    static const struct timespec pause = {.tv_nsec = 5000000};
    struct plotter running[PARALLEL] = {0};
    char path[PATH_MAX];
    size_t next = 0, active = 0;
    int rc = 0;
    if (file_find_program("gnuplot", true, path, sizeof(path)))
        return err_set(err, give_up(running, jobs, njobs, -ENOENT), "gnuplot is not installed");
    while (next < njobs || active > 0) {
        if (signals && signals_take(signals))
            return err_set(err, give_up(running, jobs + next, njobs - next, -EINTR),
                           "interrupted while figures were drawn");
        for (size_t i = 0; i < PARALLEL; i++) {
            struct err why;
            int failed = 0;
            struct gnuplot_job *job = running[i].job;
            if (job && finish(dir_fd, &running[i], &why)) {
                failed = job->rc;
                active--;
            }
            if (!running[i].job && next < njobs && !failed) {
                job = &jobs[next++];
                active += start_next(dir_fd, path, job, timeout_s, &running[i], &why);
                failed = job->rc;
            }
            if (failed && !rc)
                rc = err_set(err, failed, "%s", why.msg);
        }
        if (active)
            (void)nanosleep(&pause, NULL);
    }
    return rc;
}
