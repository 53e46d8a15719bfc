#include "harness/comms/cmd/comms_child.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness/lib/say/log.h"
#include "harness/lib/sys/process.h"
#include "harness/lib/sys/signals.h"
#include "harness/lib/sys/tree.h"

/* Beside those that end a run: what launchers tell a job by, and what would end us first. */
static const int passed_on[] = {SIGUSR1, SIGUSR2, SIGQUIT, SIGCONT, SIGWINCH, 0};

struct command_line {
    char **argv;
    const sigset_t *mask; /* of signals, as it was before ours */
    int failed[2];        /* a pipe that exec closes: a byte in it means that there was none */
};

/* In the child. What a shell says of a command that cannot be started: 127, or 126. */
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

/* The terminal's keys reach all of its foreground group. A hang-up reaches the leader of the
 * session alone (tty_signal_session_leader in the kernel's tty_jobctrl.c). */
static bool has_reached(const struct process *process, const struct signals_one *one)
{
    return one->by_kernel && getpgid(process->pid) == getpgrp() &&
           !(one->number == SIGHUP && getsid(0) == getpid());
}

/* What the command has sent us it does not mean for itself, as when it signals its group. */
static void pass_on(const struct process *process, const struct signals_one *one)
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
            pass_on(process, &one);
    }
}

/* One that comes late, while we report, is of a command that is no more. */
static void ignore_late(void)
{
    (void)signal(SIGUSR1, SIG_IGN);
    (void)signal(SIGUSR2, SIG_IGN);
}

static int run(struct command_line *line, int *status, struct err *err)
{
    struct signals signals;
    struct process process = {0};
    int rc = signals_open(&signals, err);
    if (rc)
        return rc;
    signals_add(&signals, passed_on);
    signals_let_stop(true);
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

int comms_child_run(char **argv, bool *started, struct err *err)
{
    char byte;
    int status = 0;
    struct command_line line = {.argv = argv};
    *started = false;
    if (pipe2(line.failed, O_CLOEXEC | O_NONBLOCK))
        return err_sys(err, -errno, "cannot make a pipe");
    int rc = run(&line, &status, err);
    *started = !rc && read(line.failed[0], &byte, 1) != 1;
    (void)close(line.failed[0]);
    (void)close(line.failed[1]);
    if (rc)
        return rc;
    return WIFEXITED(status)     ? WEXITSTATUS(status)
           : WIFSIGNALED(status) ? 128 + WTERMSIG(status)
                                 : 3;
}
