#include "harness/engine/observe.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness/engine/job.h"
#include "harness/engine/worker/launch.h"
#include "harness/engine/worker/worker.h"
#include "harness/lib/sys/clock.h"
#include "harness/lib/sys/log.h"
#include "harness/lib/sys/net.h"
#include "harness/lib/text.h"
#include "harness/machine/env.h"
#include "harness/plan/placeholders.h"

static const uint64_t mpi_grace_ns = 500000000, hurry_ns = 100000000;

static bool ended(const struct observer *o, unsigned i)
{
    return observe_state(o, i) >= WORKER_FINISHED || !o->child[i].pid;
}

bool observe_reached(const struct observer *o, unsigned i, enum worker_state state)
{
    return ended(o, i) || observe_state(o, i) >= state;
}

bool observe_all_reached(const struct observer *o, bool background, enum worker_state state)
{
    if (o->job)
        return job_reached(o->job, background, state);
    for (unsigned i = 0; i < (background ? o->nworkers : o->foreground); i++)
        if (!observe_reached(o, i, state))
            return false;
    return true;
}

bool observe_any_lost_here(const struct observer *o)
{
    for (unsigned i = 0; i < o->nworkers; i++)
        if (observe_state(o, i) > WORKER_FINISHED)
            return true;
    return false;
}

bool observe_any_lost(const struct observer *o)
{
    return o->job ? o->job->watch.together.lost : observe_any_lost_here(o);
}

/* A worker's process is gone: sets its state and reason, if the worker did not. */
static void note_exit(struct observer *o, unsigned i, int status)
{
    struct worker_end *end = &o->child[i].end;
    enum worker_state state = observe_state(o, i);
    o->child[i].pid = 0;
    if (state >= WORKER_FINISHED || end->killed_ns)
        return;
    if (WIFSIGNALED(status))
        (void)err_set(&end->err, -ECHILD, "killed by signal %d (%s) while %s", WTERMSIG(status),
                      strsignal(WTERMSIG(status)), worker_state_name(state));
    else if (WIFEXITED(status))
        (void)err_set(&end->err, -ECHILD, "exited with status %d while %s", WEXITSTATUS(status),
                      worker_state_name(state));
    else
        (void)err_set(&end->err, -ECHILD, "gone while %s, and nothing says how it ended",
                      worker_state_name(state));
    end->state = WORKER_FAILED;
}

static void reap_in_mpi(struct observer *o, unsigned i)
{
    if (!pthread_tryjoin_np(o->in_mpi, NULL))
        note_exit(o, i, 0);
}

/* Where a worker that stays is between observations; NULL: it ends. */
static struct process *find_place(const struct observer *o, unsigned i)
{
    return o->kept && i < o->foreground ? &o->kept->process[i] : NULL;
}

void observe_reap(struct observer *o)
{
    int status;
    for (unsigned i = 0; i < o->nworkers; i++)
        if (o->child[i].pid && o->child[i].in_mpi)
            reap_in_mpi(o, i);
        else if (o->child[i].pid && find_place(o, i) && observe_state(o, i) == WORKER_FINISHED) {
            *find_place(o, i) = o->child[i].process;
            o->child[i].pid = 0;
        } else if (o->child[i].pid && process_ended(&o->child[i].process, &status))
            note_exit(o, i, status);
}

/* True if the launcher will kill us soon: it told us to stop, or has seen a rank end. */
static bool in_hurry(const struct observer *o)
{
    return o->job && (o->signals->interrupted || job_is_lost(o->job));
}

/*
 * A thread in MPI cannot be ended. It gets a moment to return, but none if we are in a hurry, and
 * is then left where it is.
 */
static void end_in_mpi(struct observer *o, unsigned i)
{
    uint64_t until_ns = clock_now_ns() + (in_hurry(o) ? 0 : mpi_grace_ns);
    while (o->child[i].pid && clock_now_ns() < until_ns) {
        (void)usleep(1000);
        reap_in_mpi(o, i);
    }
    o->stuck |= o->child[i].pid != 0;
    o->child[i].pid = 0;
}

/* A command's processes have sessions of their own, so they are ended before their worker. */
static void end_own(struct observer *o, unsigned i)
{
    const struct process *process = &o->child[i].process;
    if (o->arm->bench->runs_command && !process_signal(process, SIGSTOP))
        (void)process_end_below(process->pid);
    (void)process_signal_group(process, SIGKILL);
}

void observe_end(struct observer *o, unsigned i)
{
    if (o->child[i].pid && o->child[i].in_mpi)
        end_in_mpi(o, i);
    else if (o->child[i].pid)
        end_own(o, i);
}

/*
 * Waits for a killed worker. A worker that used a GPU can take seconds, in which the driver frees
 * its memory; a worker that the kernel holds, as for a disk that does not answer, never ends.
 * False: it is still there.
 */
static bool reap_killed(struct observer *o, unsigned i, uint64_t until_ns)
{
    struct process *process = &o->child[i].process;
    int status;
    if (!o->child[i].pid)
        return true;
    while (!process_ended(process, &status)) {
        if (clock_now_ns() >= until_ns)
            return false; /* init reaps it after we have ended */
        (void)usleep(1000);
    }
    note_exit(o, i, status);
    return true;
}

int observe_end_all(struct observer *o)
{
    bool hurry = in_hurry(o);
    int rc = 0;
    for (unsigned i = 0; i < o->nworkers; i++) {
        struct worker_end *end = &o->child[i].end;
        if (o->child[i].pid && observe_state(o, i) < WORKER_FINISHED && !end->killed_ns) {
            (void)err_set(&end->err, -ECANCELED, "ended because another worker was lost");
            end->state = WORKER_FAILED;
        }
        observe_end(o, i);
    }
    uint64_t until_ns = clock_now_ns() + (hurry ? hurry_ns : (uint64_t)(o->config->setup_s * 1e9));
    for (unsigned i = 0; i < o->nworkers; i++)
        if (!reap_killed(o, i, until_ns) && !hurry)
            rc = err_set(o->err, -EBUSY,
                         "worker %u cannot be ended: the kernel holds process %d, and whatever is "
                         "measured beside it is disturbed",
                         i, (int)o->child[i].pid);
    return rc;
}

void observe_end_kept(struct kept *kept, bool now)
{
    int status;
    if (!kept->shared)
        return;
    for (unsigned i = 0; i < kept->n; i++)
        atomic_store(&kept->shared->worker[i].orders, ORDERS_END);
    for (unsigned i = 0; i < kept->n; i++)
        if (kept->process[i].pid)
            (void)process_end(&kept->process[i], now ? 0 : kept->end_s, &status);
    if (!process_end_new(&kept->known))
        log_warn("a process of the command cannot be ended");
    process_adopt(false);
    (void)close(kept->shared_fd);
    (void)close(kept->event_fd);
    shared_destroy(kept->shared);
    kept->shared = NULL;
}

void observe_give_up(struct observer *o, unsigned i, enum worker_state state, double limit_s)
{
    const struct shared_worker *worker = &o->shared->worker[i];
    struct worker_end *end = &o->child[i].end;
    if (ended(o, i))
        observe_end(o, i); /* its last report is made, but it does not exit */
    if (observe_reached(o, i, state))
        return;
    const enum worker_state state_now = shared_state(worker);
    bool has_turn = state_now != WORKER_PRIMED || atomic_load(&worker->warm);
    if (!has_turn || barrier_waits(&o->shared->barrier[i >= o->foreground], worker->index))
        (void)err_set(&end->err, -ECANCELED, "waited %s s for another %s", units_plain(limit_s, 3),
                      has_turn ? "rank" : "worker");
    else if (o->arm->bench->scan && state_now == WORKER_RUNNING) /* slow, or stuck */
        (void)err_set(&end->err, -ETIMEDOUT, "not at its end within %s s (--limit)",
                      units_plain(limit_s, 3));
    else
        (void)err_set(&end->err, -ETIMEDOUT, "no progress within %s s while %s",
                      units_plain(limit_s, 3), worker_state_name(state_now));
    end->state = WORKER_HUNG;
    observe_end(o, i);
}

void observe_give_up_all(struct observer *o, unsigned n, enum worker_state state, double limit_s)
{
    for (unsigned i = 0; i < n; i++)
        observe_give_up(o, i, state, limit_s);
}

/* The worker that calls MPI, of which a rank has one. MPI can be started only once in a rank, so
 * rounds share its process. */
struct mpi_worker {
    const struct job *job;
    const struct bench *bench;
    struct shared *shared;
    unsigned index;
};

static void *work_in_mpi(void *arg)
{
    const struct mpi_worker *self = arg;
    struct shared_worker *slot = &self->shared->worker[self->index];
    enum worker_state end = launch_bind(&slot->plan, &slot->err);
    if (end == WORKER_LAUNCHED && !self->job->world.threads) {
        (void)err_set(&slot->err, -ENOTSUP,
                      "this MPI does not allow calls from a thread (MPI_THREAD_MULTIPLE)");
        end = WORKER_SKIPPED;
    }
    if (end == WORKER_LAUNCHED)
        worker_serve(self->bench, self->shared, self->index, self->job->mpi);
    else
        shared_set_state(self->shared, slot, end);
    return NULL;
}

static int launch_in_mpi(struct observer *o, unsigned i, struct err *err)
{
    static struct mpi_worker worker; /* not the observer's: a thread that is stuck outlives it */
    worker = (struct mpi_worker){o->job, o->arm->bench, o->shared, i};
    o->child[i].in_mpi = true;
    o->child[i].pid = getpid();
    int error = pthread_create(&o->in_mpi, NULL, work_in_mpi, &worker);
    return error ? err_sys(err, -error, "cannot start a thread for the worker") : 0;
}

enum { COMMAND_ENV_MOST = 8 };

/* A worker's copy of the command, and the memory that it uses. */
struct own_command {
    struct user_command command;
    char output[4096];
    char *env[COMMAND_ENV_MOST], *text[3], **argv; /* owned */
};

/*
 * False if nobody chose the number of threads: OMP_NUM_THREADS is then the user's. Likewise if the
 * user's says the same number, and perhaps more: levels, as in "4,2".
 */
static bool sets_threads(const struct arm *arm, const struct plan_worker *plan)
{
    bool is_default = arm->placement == PLACE_NONE || arm->placement == PLACE_PASSIVE;
    return (!is_default || arm->plan.threads) && openmp_threads(getenv) != plan->threads;
}

static void set_env(struct own_command *own, const char *name, const char *value)
{
    struct opt_texts *env = &own->command.env;
    char **text = &own->env[env->n];
    if (asprintf(text, "%s=%s", name, value) < 0)
        *text = NULL;
    else
        env->text[env->n++] = *text;
}

/* Shows the command only its own GPU, but all GPUs if it uses {gpu}. */
static void choose_gpu(const struct topo_gpu *gpu, const struct placeholder_values *values,
                       struct own_command *own)
{
    bool uses_gpu = false;
    for (size_t i = 0; own->command.argv[i]; i++)
        uses_gpu = uses_gpu || placeholders_use(own->command.argv[i], PLACEHOLDER_GPU);
    set_env(own, "CUDA_DEVICE_ORDER", "PCI_BUS_ID");
    if (!uses_gpu) /* numbers change once the variable is set */
        set_env(own, "CUDA_VISIBLE_DEVICES",
                getenv("CUDA_VISIBLE_DEVICES") && gpu->uuid[0] ? gpu->uuid
                                                               : values->of[PLACEHOLDER_GPU]);
}

static int expand_words(const struct placeholder_values *values, struct own_command *own,
                        struct err *err)
{
    struct user_command *command = &own->command;
    size_t n = 0;
    while (command->argv[n])
        n++;
    own->argv = calloc(n + 1, sizeof(*own->argv));
    if (!own->argv)
        return err_set(err, -ENOMEM, "no memory for the command");
    for (size_t i = 0; i < n; i++)
        if (!(own->argv[i] = placeholders_expand(command->argv[i], values, err)))
            return -EINVAL;
    command->argv = own->argv;
    const char **const texts[] = {&command->options.metric_file, &command->options.load,
                                  &command->options.ready};
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        if (*texts[i] && !(own->text[i] = placeholders_expand(*texts[i], values, err)))
            return -EINVAL;
        *texts[i] = own->text[i];
    }
    return 0;
}

static void free_own(struct own_command *own)
{
    command_words_free(own->argv, 0);
    for (size_t i = 0; i < sizeof(own->text) / sizeof(own->text[0]); i++)
        free(own->text[i]);
    for (size_t i = 0; i < COMMAND_ENV_MOST; i++)
        free(own->env[i]);
}

/* By enum placeholder, of those that are known before the start. */
static const char *const variables[] = {
    [PLACEHOLDER_WORKER] = "CONTEND_WORKER",   [PLACEHOLDER_GPU] = "CONTEND_GPU",
    [PLACEHOLDER_WORKERS] = "CONTEND_WORKERS", [PLACEHOLDER_THREADS] = "CONTEND_THREADS",
    [PLACEHOLDER_CPUS] = "CONTEND_CPUS",       [PLACEHOLDER_NODE] = "CONTEND_NODE"};

/* The caller frees *own with free_own, also after an error. */
static int make_own(const struct observer *o, unsigned i, struct own_command *own, struct err *err)
{
    const struct arm *arm = o->arm;
    const struct shared_worker *worker = &o->shared->worker[i];
    struct placeholder_values values;
    *own = (struct own_command){.command = *o->config->command};
    if (arm_jobs(o->config->run, arm)) {
        const struct neighbour *job = neighbour_of(o->config->run->neighbours, arm->alone, i, NULL);
        own->command.options = job->options;
        own->command.argv = job->argv;
    }
    if (arm->variant && arm->variant->argv)
        own->command.argv = arm->variant->argv;
    const bool keeps = own->command.options.keep; /* it lives through all placements */
    own->command.sets_threads = !keeps && sets_threads(arm, &worker->plan);
    placeholders_of(o->config->topo, &arm->plan, o->slot + o->first + i, &values);
    /* Number and count are those of running workers: a baseline is worker 0 of 1. */
    values.of[PLACEHOLDER_WORKER] = str_fmt("%u", worker->index);
    values.of[PLACEHOLDER_WORKERS] = str_fmt("%u", worker->team);
    for (size_t p = 0; p < sizeof(variables) / sizeof(variables[0]); p++)
        if (!keeps || (p != PLACEHOLDER_THREADS && p != PLACEHOLDER_CPUS && p != PLACEHOLDER_NODE))
            set_env(own, variables[p], values.of[p]);
    if (values.of[PLACEHOLDER_GPU][0])
        choose_gpu(&o->config->topo->gpus[worker->plan.gpu], &values, own);
    if (o->config->outputs)
        (void)snprintf(own->output, sizeof(own->output), "%.3800s/%.40s-%u%s-worker%u.txt",
                       o->config->outputs,
                       keeps          ? "kept"
                       : arm->variant ? arm->variant->name
                                      : placement_infos[arm->placement].name,
                       arm->planned_workers, arm->is_baseline ? "-alone" : "", i);
    own->command.output = own->output[0] ? own->output : NULL;
    if (own->command.options.load)
        own->command.load_cpus = bitset_format(&o->config->run->client_cpus);
    int port = net_free_port();
    values.of[PLACEHOLDER_PORT] = port > 0 ? str_fmt("%d", port) : "";
    return expand_words(&values, own, err);
}

static bool runs_command(const struct observer *o, unsigned i)
{
    return i < o->foreground && o->arm->bench->runs_command && o->config->command;
}

/* Doses of throttling begin with a quota of all CPUs, which stops no worker, and lower it later. */
static double find_cpu_max(const struct observer *o, unsigned i)
{
    if (i >= o->foreground && o->arm->plan.has_dose)
        return 0;
    return arm_is_throttled(o->arm) ? bitset_count(&o->shared->worker[i].plan.cpus)
                                    : o->arm->cpu_max;
}

/* Helpers that hold a dose are left as they are. */
static struct cpu_priority find_priority(const struct observer *o, unsigned i)
{
    const bool background = i >= o->foreground;
    return background && o->arm->plan.has_dose ? (struct cpu_priority){0}
                                               : o->arm->priority[background];
}

static int launch_own(struct observer *o, unsigned i, struct err *err)
{
    const struct opt_texts *env = o->arm->variant ? &o->arm->variant->env : NULL;
    struct own_command own = {.argv = NULL};
    struct process *place = find_place(o, i), *process = &o->child[i].process;
    if (place && place->pid) {
        *process = *place;
        *place = (struct process){0};
        o->child[i].pid = process->pid;
        atomic_store(&o->shared->worker[i].orders, ORDERS_NEXT);
        return 0;
    }
    int rc = runs_command(o, i) ? make_own(o, i, &own, err) : 0;
    const struct launch_request request = {.env = env,
                                           .command = own.argv ? &own.command : NULL,
                                           .cgroups = o->config->cgroups,
                                           .cpu_max = find_cpu_max(o, i),
                                           .priority = find_priority(o, i)};
    if (!rc)
        rc = launch_worker(o->shared, o->shared_fd, i, &request, process, err);
    free_own(&own);
    o->child[i].pid = process->pid;
    return rc;
}

void observe_launch_all(struct observer *o)
{
    struct err err = {0};
    bool lost = false;
    enum device device = arm_device(o->config->run, o->arm);
    for (unsigned i = 0; i < o->nworkers; i++) {
        struct worker_end *end = &o->child[i].end;
        bool in_mpi = o->job && device == DEVICE_MPI && i < o->foreground;
        int rc = lost ? -ECANCELED : in_mpi ? launch_in_mpi(o, i, &err) : launch_own(o, i, &err);
        if (!rc)
            continue;
        o->child[i].pid = 0;
        (void)err_set(&end->err, rc, "%s",
                      lost ? "not started because another worker could not be" : err.msg);
        end->state = WORKER_FAILED;
        lost = true;
    }
}
