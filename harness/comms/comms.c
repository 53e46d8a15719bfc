#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness/cmd/common/cmd.h"
#include "harness/comms/options.h"
#include "harness/comms/plugin/counters.h"
#include "harness/comms/plugin/find.h"
#include "harness/comms/plugin/read.h"
#include "harness/comms/plugin/record.h"
#include "harness/comms/show.h"
#include "harness/engine/job.h"
#include "harness/lib/err.h"
#include "harness/lib/sys/clock.h"
#include "harness/lib/sys/file.h"
#include "harness/lib/sys/log.h"
#include "harness/lib/sys/process.h"
#include "harness/lib/sys/signals.h"
#include "harness/lib/sys/task.h"
#include "harness/lib/text.h"
#include "harness/machine/gpu_links.h"
#include "harness/record/directory.h"

/*
 * Asks NVIDIA's driver for `contend comms`, in a separate process and with a time limit: NVML has
 * been seen not to answer after a program, and a monitor must not hang.
 */

struct comms_driver {
    bool answered;
    struct process process; /* that asked; zeroed = none */
    struct nvlink_counts counts;
    struct err why; /* with a code if there are no counts */
    size_t nlinks;
    struct gpu_link link[2048];
};

static void comms_driver_free(struct comms_driver *driver);

enum { ANSWER_MS = 10000, STEP_MS = 20 };

static bool has_counted(const struct comms_driver *driver)
{
    const struct comms_counted counted = {.counts = driver->counts};
    return !driver->why.code && !comms_counted_why(&counted)[0];
}

/* In the child. */
static int ask(void *arg)
{
    struct comms_driver *driver = arg;
    (void)nvlink_read(&driver->counts, &driver->why);
    driver->nlinks = gpu_links_read(driver->link, sizeof(driver->link) / sizeof(driver->link[0]));
    bool stays = has_counted(driver);
    __atomic_store_n(&driver->answered, true, __ATOMIC_RELEASE);
    while (stays && pause()) /* pause is never 0: this waits until it is killed */
        continue;
    return 0;
}

static bool has_answered(const struct comms_driver *driver)
{
    return driver && __atomic_load_n(&driver->answered, __ATOMIC_ACQUIRE);
}

/* Waits until the process ends or, with a driver, has answered. False: the process still runs,
 * perhaps in the kernel, where no signal ends it. */
static bool comms_driver_wait_for(struct process *process, const struct comms_driver *driver)
{
    const uint64_t end_ns = clock_now_ns() + (uint64_t)ANSWER_MS * 1000000;
    int status;
    while (!has_answered(driver) && !process_ended(process, &status)) {
        struct pollfd end = {.fd = process->pidfd, .events = POLLIN}; /* poll ignores -1 */
        if (clock_now_ns() > end_ns)
            return false;
        (void)poll(&end, 1, STEP_MS);
    }
    return true;
}

/*
 * If there are counts, the process that asked stays until comms_driver_free and keeps the GPUs
 * open: without persistence mode the driver releases a GPU with its last user, and its counters
 * begin at 0 again. Returns NULL after an error, with a message: -ENOMEM, -ETIMEDOUT, -EIO (the
 * process that asked crashed), or that of starting a process.
 */
static struct comms_driver *comms_driver_ask(struct err *err)
{
    struct comms_driver *driver =
        mmap(NULL, sizeof(*driver), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (driver == MAP_FAILED) {
        (void)err_set(err, -ENOMEM, "no memory to ask the NVIDIA driver");
        return NULL;
    }
    struct process process = {0};
    int rc = process_start(&process, true, ask, driver);
    if (rc)
        (void)err_sys(err, rc, "cannot start a process to ask the NVIDIA driver");
    else if (!comms_driver_wait_for(&process, driver)) {
        (void)process_signal(&process, SIGKILL);
        rc = err_set(err, -ETIMEDOUT, "the NVIDIA driver did not answer within %d s",
                     ANSWER_MS / 1000);
    } else if (!has_answered(driver))
        rc = err_set(err, -EIO, "the process that asked the NVIDIA driver crashed");
    if (rc) {
        comms_driver_free(driver);
        return NULL;
    }
    driver->process = process;
    return driver;
}

/*
 * Whether NCCL may be asked for the graphs of communicators (NCCL_GRAPH_DUMP_FILE): only with up to
 * 16 GPUs on one machine. Before 2.29.7 NCCL has room for 4,096 elements in all graphs, and each
 * GPU in each channel of each graph takes one. An element without room is an error that ends the
 * program (src/graph/search.cc, ncclTopoDumpGraphs; src/init.cc). If NVLink leaves the machine, a
 * graph has the GPUs of all machines.
 */
static bool comms_driver_allows_graphs(const struct comms_driver *driver)
{
    enum { GPUS_MOST = 16 };
    return driver && !driver->why.code && driver->counts.n <= GPUS_MOST && !driver->counts.leaves;
}

/*
 * Writes into the directory, beside the logs: how NVLink's counters changed since *before, or why
 * that is unknown, and links.csv. If `before` is NULL, err has the reason. Overwrites err.
 */
static void comms_driver_write(const char *directory, const struct comms_driver *before,
                               struct err *err)
{
    static const struct nvlink_counts none;
    struct comms_driver *after = before ? comms_driver_ask(err) : NULL;
    if (before && before->why.code)
        *err = before->why;
    else if (after && after->why.code)
        *err = after->why;
    else if (after)
        nvlink_since(&before->counts, &after->counts);
    if (after)
        comms_files_add_links(directory, after->link, after->nlinks);
    if (comms_counters_write(directory, after ? &after->counts : &none, err->code ? err->msg : "",
                             err))
        log_warn("%s", err->msg);
    comms_driver_free(after);
}

/* NULL is allowed. */
static void comms_driver_free(struct comms_driver *driver)
{
    if (!driver)
        return;
    (void)process_signal(&driver->process, SIGKILL);
    if (driver->process.pid)
        (void)comms_driver_wait_for(&driver->process, NULL);
    (void)munmap(driver, sizeof(*driver));
}

/* contend comms: runs a command under a profiler plugin of NCCL, or reads the logs of a command. */

#define TIMING_VARIABLE "CONTEND_COMMS_TIMING"

/*
 * The watched command runs as it does without `contend comms`: it has the same stdin, stdout and
 * process group, gets the signals that are sent to this process, and continues if this is killed.
 */
/* Passed on, besides the signals that end a run: launchers notify a job by some of these, and
 * others would end this process first. */
static const int passed_on[] = {SIGUSR1, SIGUSR2, SIGQUIT, SIGCONT, SIGWINCH, 0};

struct command_line {
    char **argv;
    const sigset_t *mask; /* of signals, as it was before signals_open */
    int failed[2];        /* a pipe that exec closes: a byte in it means that exec failed */
};

/* In the child. Returns what a shell does for a command that cannot be started: 127, or 126. */
static int execute(void *arg)
{
    const struct command_line *line = arg;
    process_outlive_parent();
    (void)sigprocmask(SIG_SETMASK, line->mask, NULL);
    (void)execvp(line->argv[0], line->argv);
    int code = errno;
    log_error("cannot start '%.150s': %s", line->argv[0], strerror(code));
    (void)!write(line->failed[1], "", 1);
    return code == ENOENT ? 127 : 126;
}

static bool is_below_us(pid_t pid)
{
    struct tree_process below[TREE_PROCESSES];
    unsigned n = tree_list(getpid(), below, TREE_PROCESSES);
    for (unsigned i = 0; i < n; i++)
        if (below[i].pid == pid)
            return true;
    return false;
}

/* Whether the kernel has sent the signal to the command, too. Keys of a terminal signal its whole
 * foreground group. A hang-up signals only the session leader (tty_signal_session_leader in the
 * kernel's tty_jobctrl.c). */
static bool has_reached(const struct process *process, const struct signals_one *one)
{
    return one->by_kernel && getpgid(process->pid) == getpgrp() &&
           !(one->number == SIGHUP && getsid(0) == getpid());
}

/* A signal from the command itself, which signalled its group, is not passed on. */
static void forward_signal(const struct process *process, const struct signals_one *one)
{
    bool from_below = !one->by_kernel && is_below_us(one->sender);
    if (!has_reached(process, one) && !from_below)
        (void)process_signal(process, one->number);
}

static void wait_for(struct process *process, struct signals *signals, int *status)
{
    struct signals_one one;
    while (!process_ended(process, status)) {
        struct pollfd events = {.fd = signals->fd, .events = POLLIN};
        (void)poll(&events, 1, -1);
        while (signals_next(signals, &one))
            forward_signal(process, &one);
    }
}

/* A signal that arrives during the report was meant for a command that has ended. */
static void ignore_late(void)
{
    (void)signal(SIGUSR1, SIG_IGN);
    (void)signal(SIGUSR2, SIG_IGN);
}

static int run_line(struct command_line *line, int *status, struct err *err)
{
    struct signals signals;
    struct process process = {0};
    int rc = signals_open(&signals, err);
    if (rc)
        return rc;
    signals_add(&signals, passed_on);
    signals_allow_stop(true);
    line->mask = &signals.before;
    rc = process_start(&process, false, execute, line);
    if (rc)
        (void)err_sys(err, rc, "cannot start a process");
    else
        wait_for(&process, &signals, status);
    ignore_late();
    signals_close(&signals);
    return rc;
}

/* Runs the command and returns its exit code, as a shell does. If it could not be started, that was
 * logged and *started is false. < 0: there was no process for it. */
static int run_child(char **argv, bool *started, struct err *err)
{
    char byte;
    int status = 0;
    struct command_line line = {.argv = argv};
    *started = false;
    if (pipe2(line.failed, O_CLOEXEC | O_NONBLOCK))
        return err_sys(err, -errno, "cannot make a pipe");
    int rc = run_line(&line, &status, err);
    *started = !rc && read(line.failed[0], &byte, 1) != 1;
    (void)close(line.failed[0]);
    (void)close(line.failed[1]);
    if (rc)
        return rc;
    return WIFEXITED(status)     ? WEXITSTATUS(status)
           : WIFSIGNALED(status) ? 128 + WTERMSIG(status)
                                 : 3;
}

/* Whether the directory has anything but the directories of tasks; < 0: it cannot be listed. */
static int is_used(const char *path, unsigned tasks, struct err *err)
{
    bool used = false;
    DIR *entries = opendir(path);
    if (!entries)
        return err_sys(err, -errno, "cannot list '%.150s'", path);
    for (const struct dirent *entry; (entry = file_next(&entries));)
        used |= strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0 &&
                !(tasks > 1 && comms_is_task(entry->d_name, tasks));
    return used;
}

/* The user's directory must be empty: old logs in it would be added to the sums. `tasks`: how many
 * tasks use it at once. */
static int use_directory(const char *out, unsigned tasks, char *path, size_t size, struct err *err)
{
    int rc = directory_make_parents(out, err);
    if (rc)
        return rc;
    if (mkdir(out, 0777) && errno != EEXIST)
        return err_sys(err, -errno, "cannot create '%.150s'", out);
    char *whole = realpath(out, NULL);
    int n = whole ? snprintf(path, size, "%s", whole) : -1;
    free(whole);
    if (n < 0 || (size_t)n >= size)
        return err_sys(err, -errno, "cannot use '%.150s'", out);
    int used = is_used(path, tasks, err);
    return used > 0 ? err_set(err, -EEXIST, "'%.150s' is not empty", out) : used;
}

/* Each task of srun or mpirun has its own directory in it. Otherwise a late task would find the
 * logs of other tasks, and refuse to run. */
static int use_directory_of_task(const char *out, const struct job_env *job, char *path,
                                 size_t size, struct err *err)
{
    char task[COMMS_TASK_MAX];
    int rc = use_directory(out, job->size, path, size, err);
    if (rc || job->size == 1)
        return rc;
    comms_task_name(job->rank, job->size, task);
    const char *own = str_fmt("%s/%s", path, task);
    return use_directory(own, 1, path, size, err);
}

static int make_directory(const char *out, const struct job_env *job, char *path, size_t size,
                          struct err *err)
{
    const char *temporary = getenv("TMPDIR");
    if (out)
        return use_directory_of_task(out, job, path, size, err);
    (void)snprintf(path, size, "%s/contend-comms-XXXXXX",
                   temporary && temporary[0] == '/' ? temporary : "/tmp");
    return mkdtemp(path) ? 0 : err_sys(err, -errno, "cannot create '%.150s'", path);
}

/* Removes what contend and the plugin wrote, and nothing else. */
static void clear_logs(int dir_fd)
{
    DIR *files = file_open_folder(dir_fd, ".");
    for (struct dirent *file; (file = file_next(&files));)
        if (strstr(file->d_name, COMMS_SUFFIX) || !strcmp(file->d_name, COMMS_PORTS_NAME))
            (void)unlinkat(dir_fd, file->d_name, 0);
}

static void remove_directory(const char *directory)
{
    int fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd >= 0) {
        clear_logs(fd);
        (void)close(fd);
    }
    (void)rmdir(directory);
}

/* Sets the variables that NCCL and the plugin read, for all processes of the command. */
static int set_environment(const char *plugin, const char *directory, const struct comms_args *args,
                           struct err *err)
{
    const bool timing = !args->no_timing;
    int rc = comms_plugin_check(plugin, err);
    if (rc)
        return rc;
    if ((!timing && setenv(TIMING_VARIABLE, "0", 1)) || setenv(COMMS_PLUGIN_VARIABLE, plugin, 1) ||
        setenv(COMMS_DIRECTORY_VARIABLE, directory, 1))
        return err_set(err, -ENOMEM, "no memory for the environment");
    return 0;
}

/* Makes NCCL write the order of its rings. Without it the rings are modelled. */
static void ask_for_graphs(const char *directory)
{
    const char *graph = str_fmt("%s/" COMMS_GRAPH_FILE, directory);
    (void)setenv(COMMS_GRAPH_VARIABLE, graph, 0);
}

/* The report goes to stderr: stdout is the command's. */
static void report(const char *directory, const struct comms_args *args, const struct job_env *job)
{
    const bool keep = args->out != NULL;
    struct comms_found found;
    const struct comms_showing showing = {directory, false, keep, args->verbose, stderr};
    const bool whole = comms_show(&showing, &found) == EXIT_GOOD && !found.unread;
    if (!found.logs && !found.unread)
        log_warn("no process of the command loaded the plugin: no NCCL, NCCL before 2.23, or a "
                 "command that clears its environment");
    else if (keep)
        log_info("logs: %s; read them again with 'contend comms --read', also with --json",
                 directory);
    if (job->size > 1)
        log_info("this is only task %u of %u: 'contend comms --read %s' has all%s", job->rank,
                 job->size, keep ? args->out : "DIR", keep ? "" : ", if --out DIR kept their logs");
    if (!keep && whole)
        remove_directory(directory);
    else if (!keep)
        log_warn("not all logs could be read: they are kept in %s", directory);
}

static int watch(const struct comms_args *args, char **argv)
{
    char plugin[PATH_MAX + 64], directory[PATH_MAX];
    struct err err = {0};
    struct job_env job;
    job_env_read(getenv, &job);
    int rc = comms_plugin_find(plugin, sizeof(plugin), &err);
    if (!rc)
        rc = make_directory(args->out, &job, directory, sizeof(directory), &err);
    if (rc) {
        log_error("%s", err.msg);
        return rc == -EEXIST ? EXIT_USAGE : EXIT_NOT_RUN;
    }
    rc = set_environment(plugin, directory, args, &err);
    struct err why_not = {0};
    struct comms_driver *before = comms_driver_ask(&why_not);
    if (comms_driver_allows_graphs(before))
        ask_for_graphs(directory);
    bool started = false;
    int code = rc ? rc : run_child(argv, &started, &err);
    if (started)
        comms_driver_write(directory, before, &why_not);
    comms_driver_free(before);
    if (started) {
        report(directory, args, &job);
        return code;
    }
    if (code < 0)
        log_error("%s", err.msg);
    if (!args->out)
        remove_directory(directory);
    return code < 0 ? EXIT_NOT_RUN : code;
}

static int comms_main(const struct cmd_env *env, int argc, char **argv)
{
    struct comms_args args = {0};
    struct cli cli;
    int code, options = 0;
    while (options < argc && strcmp(argv[options], "--") != 0)
        options++;
    if (!cmd_parse(env, &comms_command, options, argv, &args, &cli, &code))
        return code;
    bool has_command = options + 1 < argc;
    if (has_command == (args.read != NULL)) {
        log_error("give either a command, 'contend comms -- ./train', or logs, 'contend comms "
                  "--read DIR'");
        return EXIT_USAGE;
    }
    if (has_command && (args.json || args.last_s > 0)) {
        log_error("--json and --last exclude a command: use --out DIR, then 'contend comms --read "
                  "DIR --json'");
        return EXIT_USAGE;
    }
    if (has_command)
        return watch(&args, &argv[options + 1]);
    const struct comms_showing showing = {args.read,    args.json, !args.json && !(args.last_s > 0),
                                          args.verbose, stdout,    args.last_s};
    code = comms_show_logs(&showing);
    int written = cmd_finish();
    return code ? code : written;
}

const struct tool_command comms_tool[] = {{&comms_command, comms_main}, {NULL, NULL}};
