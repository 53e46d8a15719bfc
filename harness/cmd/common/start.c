#include "harness/cmd/common/start.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness/engine/guard.h"
#include "harness/engine/worker/launch.h"
#include "harness/engine/worker/worker.h"
#include "harness/lib/sys/affinity.h"
#include "harness/lib/sys/clock.h"
#include "harness/lib/sys/log.h"
#include "harness/lib/sys/process.h"
#include "harness/lib/text.h"

/* Opens missing standard descriptors. Else a file opened later could get the number of stderr, and
 * messages would be written into it. */
static int open_standard_files(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0 &&
            open("/dev/null", fd == STDIN_FILENO ? O_RDONLY : O_WRONLY) != fd)
            return -1;
    return 0;
}

bool start(const struct cmd_env *env, int argc, char **argv, int *code)
{
    const char *name = argc > 1 ? argv[1] : "";
    *code = EXIT_NOT_RUN;
    if (open_standard_files())
        return true;
    text_fit_stdout(terminal_columns(STDOUT_FILENO));
    /* With SIGXFSZ ignored, a file size limit makes write fail, which is reported. */
    (void)signal(SIGXFSZ, SIG_IGN);
    process_keep_children();
    bool is_worker = strcmp(name, LAUNCH_WORKER_COMMAND) == 0;
    bool is_guard = strcmp(name, LAUNCH_GUARD_COMMAND) == 0;
    if (is_worker || is_guard) {
        launch_take_name();
        (void)signal(SIGPIPE, SIG_IGN); /* libraries may print to a pipe without a reader */
    }
    if (!is_worker && !is_guard)
        affinity_restore(); /* libgomp may have narrowed the mask, for OMP_PROC_BIND */
    if (is_worker)
        *code = worker_main(env->benches, argc, argv);
    else if (is_guard)
        *code = guard_main(argc, argv);
    return is_worker || is_guard;
}

int end(int code)
{
    if (fflush(stdout) && !code) {
        perror("contend: stdout");
        return EXIT_NOT_RUN;
    }
    return code;
}

int start_tool(const struct cmd_env *env, int argc, char **argv)
{
    for (const struct tool_command *tool = env->tools; argc > 1 && tool->command; tool++)
        if (strcmp(tool->command->name, argv[1]) == 0)
            return tool->main(env, argc - 1, argv + 1);
    return env->tools->main(env, argc, argv);
}

char *program_name(const char *argv0, char *buf, size_t size)
{
    const char *front = getenv("CONTEND_PROGRAM");
    const char *name = front && front[0] ? front : argv0 ? argv0 : "";
    size_t needs = (size_t)snprintf(buf, size, "%s", text_shell_word(name));
    if (!name[0] || needs >= size || strpbrk(name, "\n\r\t\033"))
        (void)snprintf(buf, size, "contend");
    return buf;
}

int program_beside(const char *name, char *path, size_t size, struct err *err)
{
    int rc = launch_find_program(path, size, err);
    char *end = rc ? NULL : strrchr(path, '/');
    if (end)
        (void)snprintf(end + 1, size - (size_t)(end + 1 - path), "%s", name);
    return rc;
}

int program_share(const char *name, char *path, size_t size, struct err *err)
{
    static const char *const folders[] = {"", "../share/contend/"};
    char program[PROGRAM_PATH_MAX];
    int rc = launch_find_program(program, sizeof(program), err);
    if (rc)
        return rc;
    char *end = strrchr(program, '/');
    for (size_t i = 0; end && i < sizeof(folders) / sizeof(folders[0]); i++) {
        int n =
            snprintf(path, size, "%.*s%s%s", (int)(end + 1 - program), program, folders[i], name);
        if (n > 0 && (size_t)n < size && !access(path, R_OK))
            return 0;
    }
    return err_set(err, -ENOENT, "%s is neither beside %.100s nor in ../share/contend", name,
                   program);
}

enum { TICK_MS = 200, END_LIMIT_S = 120 };

void child_run_add(struct child_run *run, const char *fmt, ...)
{
    va_list args;
    size_t room = sizeof(run->text) - run->used;
    va_start(args, fmt);
    int length = vsnprintf(run->text + run->used, room, fmt, args);
    va_end(args);
    if (run->n + 1 >= CHILD_RUN_WORDS || length < 0 || (size_t)length >= room) {
        run->n = CHILD_RUN_WORDS;
        return;
    }
    run->argv[run->n++] = run->text + run->used;
    run->used += (size_t)length + 1;
}

static int become(void *arg)
{
    struct child_run *run = arg;
    sigset_t none;
    int null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
    (void)sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
    (void)dup2(null_fd, STDIN_FILENO);
    (void)dup2(run->out_fd > 0 ? run->out_fd : null_fd, STDOUT_FILENO);
    (void)dup2(run->log_fd, STDERR_FILENO);
    for (size_t i = 0; i < run->nenv; i++)
        if (putenv((char *)(uintptr_t)run->env[i]))
            return 127;
    (void)execv(run->argv[0], run->argv);
    (void)dprintf(STDERR_FILENO, "cannot start '%s': %s\n", run->argv[0], strerror(errno));
    return 127;
}

/* SIGTSTP makes the child stop its workers. Measurements across a stop are invalid. */
static void stop_and_continue(const struct process *process, struct signals *signals)
{
    signals->stop_requested = false;
    (void)process_signal(process, SIGTSTP);
    process_stop_self();
    (void)process_signal(process, SIGCONT);
}

static int await(struct process *process, struct signals *signals)
{
    int status = 0;
    bool stopped = false, signaled = false;
    const uint64_t limit_ns = END_LIMIT_S * UINT64_C(1000000000);
    while (!process_ended(process, &status)) {
        struct pollfd wakeup = {.fd = signals->fd, .events = POLLIN};
        (void)poll(&wakeup, 1, TICK_MS);
        if (signals_take(signals) && !signaled) {
            (void)process_signal(process, SIGTERM);
            signaled = true;
        } else if (signaled && clock_now_ns() - signals->since_ns > limit_ns) {
            (void)process_end(process, 0, &status);
        } else if (signals->stop_requested) {
            stop_and_continue(process, signals);
            stopped = true;
        }
    }
    if (signaled)
        return -EINTR;
    return stopped ? -ERESTART : WIFEXITED(status) ? WEXITSTATUS(status) : -ECHILD;
}

static const char *read_last_line(int fd)
{
    char text[2048];
    off_t end = lseek(fd, 0, SEEK_END);
    off_t from = end > (off_t)sizeof(text) - 1 ? end - (off_t)sizeof(text) + 1 : 0;
    ssize_t n = pread(fd, text, sizeof(text) - 1, from);
    while (n > 0 && text[n - 1] == '\n')
        n--;
    text[n > 0 ? n : 0] = '\0';
    static const char prefix[] = "contend: error: ";
    const char *last = strrchr(text, '\n');
    last = last ? last + 1 : text;
    last += strncmp(last, prefix, strlen(prefix)) ? 0 : strlen(prefix);
    return str_fmt("%.190s", last);
}

int child_run(struct child_run *run, struct signals *signals, struct err *err)
{
    struct process process;
    if (run->n == CHILD_RUN_WORDS)
        return err_set(err, -E2BIG, "the command line of '%.60s' is too long", run->argv[0]);
    run->argv[run->n] = NULL;
    run->log_fd = memfd_create("contend run", MFD_CLOEXEC);
    if (run->log_fd < 0)
        return err_sys(err, -errno, "no memory for the output of a run");
    int rc = process_start(&process, true, become, run);
    if (rc)
        rc = err_sys(err, rc, "cannot start '%.60s'", run->argv[0]);
    else
        rc = await(&process, signals);
    text_set(run->last_line, "%s", read_last_line(run->log_fd));
    (void)close(run->log_fd);
    return rc;
}
