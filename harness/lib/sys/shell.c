#include "harness/lib/sys/shell.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "harness/lib/sys/clock.h"
#include "harness/lib/sys/process.h"

enum { TICK_MS = 20 };

struct output {
    const struct shell *shell;
    int fd, write_fd;
    char *text;
    size_t used, size;
};

static int become_shell(void *arg)
{
    const struct output *output = arg;
    return process_become_shell(output->shell->line, output->write_fd,
                                output->shell->with_errors ? output->write_fd : STDERR_FILENO);
}

/* Reads the output so far. */
static void take(struct output *output)
{
    char piece[512];
    ssize_t n;
    while ((n = read(output->fd, piece, sizeof(piece))) > 0) {
        size_t room = output->size - 1 - output->used;
        size_t taken = (size_t)n < room ? (size_t)n : room;
        memcpy(output->text + output->used, piece, taken);
        output->used += taken;
        output->text[output->used] = '\0';
        if (!taken)
            return; /* endless output must not keep us from the time */
    }
}

static int await(struct output *output, struct process *process, int *status)
{
    const struct shell *shell = output->shell;
    const uint64_t until_ns = clock_now_ns() + (uint64_t)(shell->limit_s * 1e9);
    struct pollfd fds[] = {{.fd = output->fd, .events = POLLIN},
                           {.fd = process->pidfd, .events = POLLIN}};
    int rc = 0;
    while (!rc && !process_ended(process, status)) {
        (void)poll(fds, 2, TICK_MS);
        take(output);
        if (fds[0].revents & POLLHUP)
            fds[0].fd = -1; /* it closed its output and runs on */
        if (clock_now_ns() >= until_ns)
            rc = -ETIME;
        else if (shell->stops && shell->stops(shell->stops_arg))
            rc = -EINTR;
    }
    if (rc)
        (void)process_end(process, 0, status);
    take(output);
    return rc;
}

int shell_run(const struct shell *shell, char *text, size_t size, int *status)
{
    int pipe_fd[2];
    struct process process;
    text[0] = '\0';
    if (pipe2(pipe_fd, O_CLOEXEC))
        return -errno;
    (void)fcntl(pipe_fd[0], F_SETFL, O_NONBLOCK);
    struct output output = {shell, pipe_fd[0], pipe_fd[1], text, 0, size};
    int rc = process_start(&process, true, become_shell, &output);
    (void)close(pipe_fd[1]);
    if (!rc)
        rc = await(&output, &process, status);
    (void)close(pipe_fd[0]);
    return rc;
}
