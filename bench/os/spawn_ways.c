#include "bench/os/spawn_ways.h"

#include <errno.h>
#include <pthread.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

enum { NO_PROGRAM = 127 };

static char *const no_environment[] = {NULL};

static int await_end(pid_t pid)
{
    int status = -1;
    pid_t ended;
    do
        ended = waitpid(pid, &status, 0);
    while (ended < 0 && errno == EINTR);
    if (ended < 0)
        return -errno;
    return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : -ENOEXEC;
}

static int by_fork(void)
{
    pid_t pid = fork();
    if (!pid)
        _exit(0);
    return pid < 0 ? -errno : await_end(pid);
}

static int by_fork_exec(char *const *arguments)
{
    pid_t pid = fork();
    if (!pid) {
        (void)execve(arguments[0], arguments, no_environment);
        _exit(NO_PROGRAM);
    }
    return pid < 0 ? -errno : await_end(pid);
}

static int by_vfork_exec(char *const *arguments)
{
    pid_t pid = vfork();
    if (!pid) {
        (void)execve(arguments[0], arguments, no_environment);
        _exit(NO_PROGRAM);
    }
    return pid < 0 ? -errno : await_end(pid);
}

static int by_posix_spawn(char *const *arguments)
{
    pid_t pid;
    int rc = -posix_spawn(&pid, arguments[0], NULL, NULL, arguments, no_environment);
    return rc ? rc : await_end(pid);
}

static void *end_at_once(void *arg)
{
    return arg;
}

static int by_thread(void)
{
    pthread_t thread;
    int rc = -pthread_create(&thread, NULL, end_at_once, NULL);
    return rc ? rc : -pthread_join(thread, NULL);
}

int spawn_once(enum spawn_way way, const char *program)
{
    char *const arguments[] = {(char *)program, NULL};
    switch (way) {
    case SPAWN_FORK:
        return by_fork();
    case SPAWN_FORK_EXEC:
        return by_fork_exec(arguments);
    case SPAWN_VFORK_EXEC:
        return by_vfork_exec(arguments);
    case SPAWN_POSIX:
        return by_posix_spawn(arguments);
    case SPAWN_THREAD:
        return by_thread();
    }
    return -EINVAL;
}
