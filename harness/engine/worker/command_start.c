#include "harness/engine/worker/command_start.h"

#include <errno.h>
#include <fcntl.h>
#include <numaif.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness/lib/sys/affinity.h"
#include "harness/lib/text.h"

/* The child's data between fork and exec. */
struct image {
    char *const *argv;
    const struct bitset *cpus;
    bool is_client;
    pid_t contend; /* the worker's parent */
    int out_fd, error_fd;
};

/* The environment of contend, which has nothing that a placement or a variant sets for servers. */
static void take_environment(pid_t contend)
{
    char *text = NULL;
    size_t room = 0;
    FILE *in = fopen(str_fmt("/proc/%d/environ", (int)contend), "re");
    if (in)
        (void)clearenv();
    for (; in && getdelim(&text, &room, '\0', in) > 0; text = NULL, room = 0)
        (void)putenv(text);
}

/* The child's last steps as this program: a session without a terminal, and the plan's CPUs. */
static int become_command(void *arg)
{
    const struct image *image = arg;
    sigset_t none;
    (void)setsid();
    (void)affinity_set(0, image->cpus);
    if (image->is_client) {
        (void)set_mempolicy(MPOL_DEFAULT, NULL, 0);
        take_environment(image->contend);
    }
    (void)sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
    (void)signal(SIGXFSZ, SIG_DFL);
    (void)dup2(image->out_fd, STDOUT_FILENO);
    (void)dup2(image->out_fd, STDERR_FILENO);
    (void)execvp(image->argv[0], image->argv);
    int code = errno;
    (void)!write(image->error_fd, &code, sizeof(code));
    return 127;
}

/* 0, or the -errno of exec: a successful exec closes the pipe. */
static int await_exec(int fd)
{
    int code = 0;
    ssize_t n;
    do
        n = read(fd, &code, sizeof(code));
    while (n < 0 && errno == EINTR);
    return n == (ssize_t)sizeof(code) ? -code : 0;
}

static int start_with(const struct image *image, int error_fd, struct process *process,
                      struct err *err)
{
    int rc = process_start(process, false, become_command, (void *)image);
    (void)close(image->out_fd);
    (void)close(image->error_fd);
    int failed = rc ? 0 : await_exec(error_fd);
    (void)close(error_fd);
    if (rc)
        return err_sys(err, rc, "cannot start '%.80s'", image->argv[0]);
    if (!failed)
        return 0;
    int status;
    process_wait(process, &status);
    return err_sys(err, -ENOEXEC, "cannot execute '%.100s': %s", image->argv[0], strerror(-failed));
}

int command_start(char *const *argv, const struct bitset *cpus, bool is_client,
                  struct process *process, int *out_fd, struct err *err)
{
    int out[2], error[2];
    if (pipe2(out, O_CLOEXEC))
        return err_sys(err, -errno, "no pipe for the output of '%.80s'", argv[0]);
    if (pipe2(error, O_CLOEXEC)) {
        (void)close(out[0]);
        (void)close(out[1]);
        return err_sys(err, -errno, "no pipe to start '%.80s'", argv[0]);
    }
    (void)fcntl(out[0], F_SETFL, O_NONBLOCK);
    *out_fd = out[0];
    const struct image image = {argv, cpus, is_client, getppid(), out[1], error[1]};
    return start_with(&image, error[0], process, err);
}

/* The worker runs nothing else. */
int command_export(const struct opt_texts *env, struct err *err)
{
    for (size_t i = 0; i < env->n; i++)
        if (putenv((char *)(uintptr_t)env->text[i])) /* points into our argv, which stays valid */
            return err_set(err, -ENOMEM, "no memory for the command's environment");
    return 0;
}

int command_judge(const char *what, int status, const char *when,
                  const struct command_output *output, bool never, struct err *err)
{
    const char *last = command_output_format_last(output);
    if (WIFEXITED(status) && (never || WEXITSTATUS(status)))
        return err_set(err, -ECHILD, "%s exited with status %d%s%.170s", what, WEXITSTATUS(status),
                       when, last);
    if (WIFSIGNALED(status))
        return err_set(err, -ECHILD, "%s was killed by signal %d (%s)%s%.170s", what,
                       WTERMSIG(status), strsignal(WTERMSIG(status)), when, last);
    return WIFEXITED(status) ? 0 : err_set(err, -ECHILD, "nothing says how %s ended%s", what, when);
}
