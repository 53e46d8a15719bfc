#include "harness/engine/worker/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <numaif.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "harness/lib/sys/log.h"
#include "harness/lib/text.h"
#include "harness/machine/env.h"

void cgroups_open(struct cgroups *cgroups)
{
    struct groups *groups = &cgroups->groups;
    if (groups_open(groups, &cgroups->err))
        return;
    int rc = cgroups->cpuset ? groups_enable(groups, "cpuset", &cgroups->err) : 0;
    if (!rc && cgroups->cpu)
        rc = groups_enable(groups, "cpu", &cgroups->err);
    if (rc)
        groups_close(groups);
}

void cgroups_close(struct cgroups *cgroups)
{
    groups_close(&cgroups->groups);
    if (cgroups->throttled > 0)
        log_info("CPU quotas stopped workers %.0f times, for %s s of their time in all",
                 cgroups->throttled, units_plain(cgroups->throttled_s, 3));
}

static int set_cpuset(const char *dir, const struct plan_worker *plan, struct err *err)
{
    char got[BITSET_BITS * 5]; /* the longest list */
    const char *list = bitset_format(&plan->cpus);
    int rc = groups_set(dir, "cpuset.cpus", list, err);
    if (!rc &&
        (!groups_get(dir, "cpuset.cpus.effective", got, sizeof(got)) || strcmp(list, got) != 0))
        rc =
            err_set(err, -EINVAL, "cgroup: CPUs %.80s were asked for, and it has %.80s", list, got);
    if (!rc && plan->mem_policy == MEM_BIND)
        rc = groups_set(dir, "cpuset.mems", bitset_format(&plan->mem_nodes), err);
    return rc;
}

static int check_mask(const struct plan_worker *plan, struct err *err)
{
    struct bitset mask;
    int rc = affinity_get(0, &mask);
    if (rc)
        return err_sys(err, rc, "the mask cannot be read back");
    if (bitset_equal(&mask, &plan->cpus))
        return 0;
    return err_set(err, -EINVAL, "its cpuset is CPUs %s, and its mask %s",
                   bitset_format(&plan->cpus), bitset_format(&mask));
}

/*
 * Moves the calling process, a worker between fork and exec, into its own cgroup. This has its
 * CPUs, its memory nodes if their policy is bind, and the requested quota and weight. CPUs are read
 * back from the cgroup and the process's mask. Without all these the process stays where it is.
 * -errno with the reason.
 */
static int cgroups_join(const struct cgroups *cgroups, unsigned index,
                        const struct plan_worker *plan, const struct launch_request *request,
                        struct err *err)
{
    char dir[GROUPS_PATH_MAX];
    const int64_t weight = request->priority.weight;
    if (!cgroups->cpuset && !(request->cpu_max > 0) && !weight)
        return 0;
    if (cgroups->err.code)
        return err_set(err, cgroups->err.code, "%s", cgroups->err.msg);
    int rc = groups_make(&cgroups->groups, index, dir, sizeof(dir), err);
    if (!rc && cgroups->cpuset)
        rc = set_cpuset(dir, plan, err);
    if (!rc && request->cpu_max > 0)
        rc = groups_set_quota(dir, request->cpu_max, GROUPS_PERIOD_US, err);
    if (!rc && weight)
        rc = groups_set_weight(dir, (unsigned)weight, err);
    if (!rc)
        rc = groups_set(dir, "cgroup.procs", "0", err);
    return !rc && cgroups->cpuset ? check_mask(plan, err) : rc;
}

/* Adds how often, and how long, the quota stopped one worker. */
static void add_throttled(struct cgroups *cgroups, const char *dir)
{
    struct cgroup_counts counts = cgroup_read_counts("", dir);
    cgroups->throttled += isnan(counts.throttled_periods) ? 0 : counts.throttled_periods;
    cgroups->throttled_s += isnan(counts.throttled_s) ? 0 : counts.throttled_s;
}

void cgroups_clear(struct cgroups *cgroups, unsigned n)
{
    char dir[GROUPS_PATH_MAX];
    for (unsigned i = 0; cgroups->groups.dir[0] && i < n; i++) {
        if (groups_make(&cgroups->groups, i, dir, sizeof(dir), NULL))
            continue;
        if (cgroups->cpu)
            add_throttled(cgroups, dir);
        (void)groups_remove(dir);
    }
}

extern char **environ;

enum { EXIT_BEFORE_EXEC = 127 };

/* Leads to this program even if its file was replaced since the start, as by a build. */
static const char this_program[] = "/proc/self/exe";

/*
 * True for variables that the plan decides: see machine/env.h. GOMP_SPINCOUNT would
 * override OMP_WAIT_POLICY.
 */
static bool is_ours(const char *variable, const struct plan_worker *plan, bool sets_threads)
{
    static const char *const ours[] = {"OMP_NUM_THREADS=", OPENMP_NOT_FOR_WORKERS "=",
                                       "OMP_WAIT_POLICY=", "GOMP_SPINCOUNT="};
    size_t n = sizeof(ours) / sizeof(ours[0]);
    for (size_t i = sets_threads ? 0 : 1; i < (plan->passive ? n : n - 2); i++)
        if (strncmp(variable, ours[i], strlen(ours[i])) == 0)
            return true;
    return false;
}

/* True if `env` sets or unsets the same variable. */
static bool is_in(const char *variable, const struct opt_texts *env)
{
    for (size_t i = 0; env && i < env->n; i++) {
        size_t length = strcspn(env->text[i], "=");
        if (!strncmp(variable, env->text[i], length) && variable[length] == '=')
            return true;
    }
    return false;
}

/*
 * A copy of the environment with the plan's variables, and with `env`, which counts more; NULL: no
 * memory. `threads`: "OMP_NUM_THREADS=N", or NULL to leave the number to the user.
 */
static char **build_environment(const struct plan_worker *plan, const struct opt_texts *env,
                                char *threads)
{
    static char passive[] = "OMP_WAIT_POLICY=passive";
    size_t n = 0, used = 0;
    while (environ[n])
        n++;
    char **copy = calloc(n + (env ? env->n : 0) + 3, sizeof(*copy));
    if (!copy)
        return NULL;
    for (size_t i = 0; i < n; i++)
        if (!is_ours(environ[i], plan, threads) && !is_in(environ[i], env))
            copy[used++] = environ[i];
    for (size_t i = 0; env && i < env->n; i++)
        if (strchr(env->text[i], '='))
            copy[used++] = (char *)(uintptr_t)env->text[i];
    if (threads && !is_in(threads, env))
        copy[used++] = threads;
    if (plan->passive && !is_in(passive, env))
        copy[used] = passive;
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
    return err_sys(err, -errno, "memory policy %s on nodes %s refused",
                   mem_policy_name(plan->mem_policy), bitset_format(&plan->mem_nodes));
}

static int bind_cpus(const struct plan_worker *plan, struct err *err)
{
    int rc = affinity_set(0, &plan->cpus);
    if (!rc)
        return 0;
    return err_sys(err, rc, "binding to CPUs %s refused", bitset_format(&plan->cpus));
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

/* The child's data between fork and exec. */
struct image {
    char **argv, **envp;
    struct shared *shared; /* these and the next: of a worker */
    struct shared_worker *worker;
    const struct launch_request *request;
    unsigned index;
    int fd; /* of the shared memory, or of the socket to a guard */
};

static enum worker_state bind(const struct image *image)
{
    struct shared_worker *worker = image->worker;
    const struct cgroups *cgroups = image->request->cgroups;
    if (cgroups && cgroups_join(cgroups, image->index, &worker->plan, image->request, &worker->err))
        return WORKER_SKIPPED;
    if (cpu_priority_set(&image->request->priority, &worker->err))
        return WORKER_SKIPPED;
    if (cgroups && cgroups->cpuset)
        return bind_memory(&worker->plan, &worker->err) ? WORKER_SKIPPED : WORKER_LAUNCHED;
    return launch_bind(&worker->plan, &worker->err);
}

static int become_worker(void *arg)
{
    const struct image *image = arg;
    struct shared_worker *worker = image->worker;
    enum worker_state end = bind(image);
    if (end == WORKER_LAUNCHED) {
        sigset_t none;
        (void)sigemptyset(&none);
        (void)sigprocmask(SIG_SETMASK, &none, NULL);
        redirect_standard_streams();
        (void)fcntl(image->fd, F_SETFD, 0);
        (void)fcntl(atomic_load(&image->shared->event_fd), F_SETFD, 0);
        (void)execve(this_program, image->argv, image->envp);
        (void)err_sys(&worker->err, -errno, "cannot execute '%.150s'", image->argv[0]);
        end = WORKER_FAILED;
    }
    shared_set_state(image->shared, worker, end);
    return EXIT_BEFORE_EXEC;
}

int launch_find_program(char *program, size_t size, struct err *err)
{
    static const char replaced[] = " (deleted)";
    const size_t end = sizeof(replaced) - 1;
    ssize_t length = readlink(this_program, program, size - 1);
    if (length < 0)
        return err_sys(err, -errno, "cannot find this program through %s", this_program);
    program[length] = '\0';
    if ((size_t)length > end && strcmp(program + (size_t)length - end, replaced) == 0)
        program[(size_t)length - end] = '\0';
    return 0;
}

void launch_take_name(void)
{
    (void)prctl(PR_SET_NAME, program_invocation_short_name);
}

/* EAGAIN usually means a limit on processes, which its own message does not say. */
static int refuse(int rc, struct err *err)
{
    return err_sys(err, rc, "cannot be started%s",
                   rc == -EAGAIN ? ", too many processes (ulimit -u, or pids.max of a cgroup)"
                                 : "");
}

/* Words before those of the command. */
enum { WORKER_WORDS = 4 };

/* The worker's command line; NULL: no memory. */
static char **build_words(char *const own[WORKER_WORDS], const struct user_command *command)
{
    char **words =
        command ? command_words(command, WORKER_WORDS) : calloc(WORKER_WORDS + 1, sizeof(*words));
    for (size_t i = 0; words && i < WORKER_WORDS; i++)
        words[i] = own[i];
    return words;
}

int launch_worker(struct shared *shared, int shared_fd, unsigned index,
                  const struct launch_request *request, struct process *process, struct err *err)
{
    struct shared_worker *worker = &shared->worker[index];
    char program[4096], fd_text[16], index_text[16], threads[40];
    int found = launch_find_program(program, sizeof(program), err);
    if (found)
        return found;
    (void)snprintf(fd_text, sizeof(fd_text), "%d", shared_fd);
    (void)snprintf(index_text, sizeof(index_text), "%u", index);
    (void)snprintf(threads, sizeof(threads), "OMP_NUM_THREADS=%u", worker->plan.threads);
    char *const own[WORKER_WORDS] = {program, (char[]){LAUNCH_WORKER_COMMAND}, fd_text, index_text};
    char **argv = build_words(own, request->command);
    char **envp =
        build_environment(&worker->plan, request->env,
                          request->command && !request->command->sets_threads ? NULL : threads);
    struct image image = {argv, envp, shared, worker, request, index, shared_fd};
    int rc = -ENOMEM;
    if (!argv || !envp)
        (void)err_set(err, rc, "no memory for a worker's environment");
    else if ((rc = process_start(process, true, become_worker, &image)) != 0)
        (void)refuse(rc, err);
    free((void *)envp);
    command_words_free(argv, WORKER_WORDS);
    return rc;
}

static int become_guard(void *arg)
{
    const struct image *image = arg;
    redirect_standard_streams();
    (void)fcntl(image->fd, F_SETFD, 0);
    (void)execve(this_program, image->argv, image->envp);
    return EXIT_BEFORE_EXEC;
}

int launch_guard(int fd, const char *const *commands, struct process *process, struct err *err)
{
    char program[4096], fd_text[16];
    int rc = launch_find_program(program, sizeof(program), err);
    if (rc)
        return rc;
    (void)snprintf(fd_text, sizeof(fd_text), "%d", fd);
    const char *argv[] = {program,     LAUNCH_GUARD_COMMAND, fd_text, commands[0],
                          commands[1], commands[2],          NULL};
    struct image image = {.argv = (char **)(uintptr_t)argv, .envp = environ, .fd = fd};
    rc = process_start(process, true, become_guard, &image);
    return rc ? err_sys(err, rc, "cannot start who runs the commands of a variant") : 0;
}
