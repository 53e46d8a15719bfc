#include "harness/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <numaif.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "harness/affinity.h"
#include "harness/openmp.h"

extern char **environ;

enum { EXIT_BEFORE_EXEC = 127 };

/* Of what the plan decides: see openmp.h. */
static bool is_ours(const char *variable)
{
    static const char *const ours[] = {"OMP_NUM_THREADS=", OPENMP_NOT_FOR_WORKERS "="};
    for (size_t i = 0; i < sizeof(ours) / sizeof(ours[0]); i++)
        if (strncmp(variable, ours[i], strlen(ours[i])) == 0)
            return true;
    return false;
}

/* A copy of the environment with OMP_NUM_THREADS set to `assignment`; NULL without memory. */
static char **build_environment(char *assignment)
{
    size_t n = 0, used = 0;
    while (environ[n])
        n++;
    char **copy = calloc(n + 2, sizeof(*copy));
    if (!copy)
        return NULL;
    for (size_t i = 0; i < n; i++)
        if (!is_ours(environ[i]))
            copy[used++] = environ[i];
    copy[used] = assignment;
    return copy;
}

static int bind_memory(const struct plan_worker *plan, struct err *err)
{
    static const int modes[] = {MPOL_DEFAULT, MPOL_BIND, MPOL_PREFERRED, MPOL_INTERLEAVE};
    if (plan->mem_policy == MEM_DEFAULT)
        return 0;
    /* The kernel counts maxnode from one past the last bit it reads. */
    if (!set_mempolicy(modes[plan->mem_policy], plan->mem_nodes.word, BITSET_BITS + 1))
        return 0;
    char list[64];
    return err_sys(err, -errno, "memory policy %s on nodes %s refused",
                   mem_policy_name(plan->mem_policy),
                   bitset_format(&plan->mem_nodes, list, sizeof(list)));
}

static int bind_cpus(const struct plan_worker *plan, struct err *err)
{
    int rc = affinity_set(0, &plan->cpus);
    if (!rc)
        return 0;
    char list[64];
    return err_sys(err, rc, "binding to CPUs %s refused",
                   bitset_format(&plan->cpus, list, sizeof(list)));
}

enum worker_state launch_bind(const struct plan_worker *plan, struct err *err)
{
    if (bind_cpus(plan, err))
        return WORKER_FAILED;
    return bind_memory(plan, err) ? WORKER_SKIPPED : WORKER_LAUNCHED;
}

static void redirect_standard_streams(void)
{
    int null_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (null_fd >= 0)
        (void)dup2(null_fd, STDIN_FILENO);
    (void)dup2(STDERR_FILENO, STDOUT_FILENO);
}

/* In the child: a process group of its own, and no life without its parent. */
static void become_child(pid_t parent)
{
    (void)setpgid(0, 0);
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(EXIT_BEFORE_EXEC); /* the parent died before the line above */
}

/* The child, between fork and exec. Returns only by _exit. */
static void become_worker(struct arena *arena, int arena_fd, struct arena_worker *worker,
                          pid_t parent, char **argv, char **envp)
{
    become_child(parent);
    enum worker_state end = launch_bind(&worker->plan, &worker->err);
    if (end == WORKER_LAUNCHED) {
        sigset_t none;
        (void)sigemptyset(&none);
        (void)sigprocmask(SIG_SETMASK, &none, NULL);
        redirect_standard_streams();
        (void)fcntl(arena_fd, F_SETFD, 0);
        (void)fcntl(atomic_load(&arena->event_fd), F_SETFD, 0);
        (void)execve(argv[0], argv, envp);
        (void)err_sys(&worker->err, -errno, "cannot execute '%.150s'", argv[0]);
        end = WORKER_FAILED;
    }
    arena_set_state(arena, worker, end);
    _exit(EXIT_BEFORE_EXEC);
}

static int find_program(char *program, size_t size, struct err *err)
{
    ssize_t length = readlink("/proc/self/exe", program, size - 1);
    if (length < 0)
        return err_sys(err, -errno, "cannot find this program through /proc/self/exe");
    program[length] = '\0';
    return 0;
}

int launch_worker(struct arena *arena, int arena_fd, unsigned index, pid_t *pid, struct err *err)
{
    struct arena_worker *worker = &arena->worker[index];
    char program[4096], fd_text[16], index_text[16], threads[40];
    int found = find_program(program, sizeof(program), err);
    if (found)
        return found;
    (void)snprintf(fd_text, sizeof(fd_text), "%d", arena_fd);
    (void)snprintf(index_text, sizeof(index_text), "%u", index);
    (void)snprintf(threads, sizeof(threads), "OMP_NUM_THREADS=%u", worker->plan.threads);
    char *argv[] = {program, (char[]){LAUNCH_WORKER_COMMAND}, fd_text, index_text, NULL};
    char **envp = build_environment(threads);
    if (!envp)
        return err_set(err, -ENOMEM, "no memory for a worker's environment");

    pid_t parent = getpid();
    pid_t child = fork();
    if (!child)
        become_worker(arena, arena_fd, worker, parent, argv, envp);
    int rc = child < 0 ? err_sys(err, -errno, "cannot start worker %u", index) : 0;
    if (child > 0)
        (void)setpgid(child, child); /* whoever of the two comes first */
    free((void *)envp);
    *pid = child;
    return rc;
}

int launch_mpi(int fd, pid_t *pid, struct err *err)
{
    char program[4096], fd_text[16];
    int rc = find_program(program, sizeof(program), err);
    if (rc)
        return rc;
    (void)snprintf(fd_text, sizeof(fd_text), "%d", fd);
    char *argv[] = {program, (char[]){LAUNCH_MPI_COMMAND}, fd_text, NULL};
    pid_t parent = getpid();
    *pid = fork();
    if (!*pid) {
        become_child(parent);
        redirect_standard_streams();
        (void)fcntl(fd, F_SETFD, 0);
        (void)execve(argv[0], argv, environ);
        _exit(EXIT_BEFORE_EXEC);
    }
    return *pid < 0 ? err_sys(err, -errno, "cannot start the MPI process") : 0;
}

void launch_kill(pid_t pid)
{
    (void)kill(-pid, SIGKILL);
    (void)kill(pid, SIGKILL);
}
