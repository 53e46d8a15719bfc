#include "harness/observe.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness/arena.h"
#include "harness/collect.h"
#include "harness/core/clock.h"
#include "harness/core/futex.h"
#include "harness/job_plan.h"
#include "harness/job_results.h"
#include "harness/job_watch.h"
#include "harness/job_worker.h"
#include "harness/launch.h"
#include "harness/topo_gpu.h"
#include "harness/witness.h"

enum { TICK_MS = 200 };
static const double thread_grace_s = 0.5;

struct observer {
    const struct observe_config *config;
    const struct arm *arm;
    struct signals *signals;
    struct arena *arena;
    int arena_fd, event_fd;
    unsigned nworkers, foreground;
    unsigned first, behind; /* places of ours in the arm's plan, in front and behind */
    struct job *job;        /* NULL = all workers are ours */
    struct job_watch watch;
    bool stuck;       /* a thread could not be ended: its memory must stay */
    uint64_t late_ns; /* when the measured time is over; 0 = not in it */
    struct observer_child {
        pid_t pid;                 /* 0 = not started or reaped; of a thread, our own */
        struct job_worker *thread; /* NULL = a process */
        bool censored;
        uint64_t killed_ns; /* clock at which a censored step was ended */
    } * child;
    struct witness_machine machine_go, machine_end;
    double ours_go_s, ours_end_s; /* CPU time that all workers have used */
    uint64_t go_ns;
};

static bool ended(const struct observer *o, unsigned i)
{
    return arena_state(&o->arena->worker[i]) >= WORKER_FINISHED || !o->child[i].pid;
}

static bool past(const struct observer *o, unsigned i, enum worker_state state)
{
    return ended(o, i) || arena_state(&o->arena->worker[i]) >= state;
}

/* Have those in front, or all, come to `state` or ended? In a job: those of all ranks. */
static bool all_past(const struct observer *o, bool background, enum worker_state state)
{
    if (o->job)
        return job_watch_past(&o->watch, background, state);
    for (unsigned i = 0; i < (background ? o->nworkers : o->foreground); i++)
        if (!past(o, i, state))
            return false;
    return true;
}

static bool any_lost_here(const struct observer *o)
{
    for (unsigned i = 0; i < o->nworkers; i++)
        if (arena_state(&o->arena->worker[i]) > WORKER_FINISHED)
            return true;
    return false;
}

static bool any_lost(const struct observer *o)
{
    return o->job ? job_watch_lost(&o->watch) : any_lost_here(o);
}

/* A worker was lost for which others would wait for ever. */
static bool rank_lost(const struct observer *o)
{
    const struct bench *behind = o->config->background;
    return (o->arm->bench->together || (behind && behind->together)) && any_lost(o);
}

/* A worker is gone: if it could not say why, we do. */
static void note_exit(struct observer *o, unsigned i, int status)
{
    struct arena_worker *worker = &o->arena->worker[i];
    enum worker_state state = arena_state(worker);
    o->child[i].pid = 0;
    if (state >= WORKER_FINISHED || o->child[i].censored)
        return;
    if (WIFSIGNALED(status))
        (void)err_set(&worker->err, -ECHILD, "killed by signal %d (%s) while %s", WTERMSIG(status),
                      strsignal(WTERMSIG(status)), worker_state_name(state));
    else
        (void)err_set(&worker->err, -ECHILD, "exited with status %d while %s", WEXITSTATUS(status),
                      worker_state_name(state));
    atomic_store(&worker->state, WORKER_FAILED);
}

static void reap_thread(struct observer *o, unsigned i)
{
    if (!job_worker_reap(o->child[i].thread))
        return;
    free(o->child[i].thread);
    o->child[i].thread = NULL;
    note_exit(o, i, 0);
}

static void reap(struct observer *o)
{
    int status;
    for (unsigned i = 0; i < o->nworkers; i++)
        if (o->child[i].thread)
            reap_thread(o, i);
        else if (o->child[i].pid && waitpid(o->child[i].pid, &status, WNOHANG) == o->child[i].pid)
            note_exit(o, i, status);
}

/* The least state of the first n workers; WORKER_STATES when all are gone. */
static uint32_t least_state(const struct observer *o, unsigned n)
{
    uint32_t least = WORKER_STATES;
    for (unsigned i = 0; i < n; i++)
        if (o->child[i].pid && arena_state(&o->arena->worker[i]) < least)
            least = arena_state(&o->arena->worker[i]);
    return least;
}

static int tell_job(struct observer *o, bool interrupted)
{
    const struct board *board = &o->arena->board[0];
    struct job_beat beat = {.foreground = least_state(o, o->foreground),
                            .all = least_state(o, o->nworkers),
                            .lost = any_lost_here(o),
                            .late = o->late_ns && clock_now_ns() >= o->late_ns,
                            .interrupted = interrupted};
    beat.posted = board_posted(board, &beat.bytes);
    bool idle = board_waits(board) || beat.foreground == WORKER_PRIMED ||
                beat.foreground == WORKER_READY || beat.foreground >= WORKER_DONE;
    return job_watch_step(&o->watch, &beat, idle, NULL);
}

/*
 * Sleeps until a worker or a signal has news, `until_ns`, or a tick. -EINTR: asked to stop; in a
 * job, also -EIO: a rank is lost.
 */
static int wait_for_news(struct observer *o, uint64_t until_ns)
{
    uint64_t now_ns = clock_now_ns();
    uint64_t left_ms = until_ns > now_ns ? (until_ns - now_ns) / 1000000 + 1 : 0;
    struct pollfd fds[] = {{.fd = o->signals->fd, .events = POLLIN},
                           {.fd = o->event_fd, .events = POLLIN}};
    int most_ms = o->job ? job_watch_pause_ms(&o->watch) : TICK_MS;
    (void)poll(fds, 2, left_ms < (uint64_t)most_ms ? (int)left_ms : most_ms);
    uint64_t events;
    if (fds[1].revents & POLLIN)
        (void)!read(o->event_fd, &events, sizeof(events));
    bool interrupted = signals_take(o->signals);
    reap(o);
    if (o->config->on_wait)
        o->config->on_wait(o->config->on_wait_arg);
    if (o->job)
        return tell_job(o, interrupted);
    return interrupted ? -EINTR : 0;
}

static uint64_t deadline(double seconds)
{
    return clock_now_ns() + (uint64_t)(seconds * 1e9);
}

/* A thread in MPI cannot be ended: after a moment to come back, it is left where it is. */
static void end_thread(struct observer *o, unsigned i)
{
    uint64_t until_ns = deadline(thread_grace_s);
    while (o->child[i].thread && clock_now_ns() < until_ns) {
        (void)usleep(1000);
        reap_thread(o, i);
    }
    o->stuck |= o->child[i].thread != NULL;
    o->child[i].thread = NULL;
    o->child[i].pid = 0;
}

static void end_child(struct observer *o, unsigned i)
{
    if (o->child[i].thread)
        end_thread(o, i);
    else if (o->child[i].pid)
        launch_kill(o->child[i].pid);
}

/* Ends whoever is left. They are not the cause of what went wrong: -ECANCELED says so. */
static void kill_all(struct observer *o)
{
    for (unsigned i = 0; i < o->nworkers; i++) {
        struct arena_worker *worker = &o->arena->worker[i];
        if (o->child[i].pid && arena_state(worker) < WORKER_FINISHED && !o->child[i].censored) {
            (void)err_set(&worker->err, -ECANCELED, "ended because another worker was lost");
            atomic_store(&worker->state, WORKER_FAILED);
        }
        end_child(o, i);
    }
    int status;
    for (unsigned i = 0; i < o->nworkers; i++)
        if (o->child[i].pid && waitpid(o->child[i].pid, &status, 0) == o->child[i].pid)
            note_exit(o, i, status);
}

/* A worker that has not come to `state` is declared hung and killed. */
static void give_up(struct observer *o, unsigned i, enum worker_state state, double limit_s)
{
    struct arena_worker *worker = &o->arena->worker[i];
    if (past(o, i, state))
        return;
    if (o->job && i < o->foreground && board_waits(&o->arena->board[0]))
        (void)err_set(&worker->err, -ECANCELED, "waited %.3g s for another rank", limit_s);
    else
        (void)err_set(&worker->err, -ETIMEDOUT, "no progress within %.3g s while %s", limit_s,
                      worker_state_name(arena_state(worker)));
    atomic_store(&worker->state, WORKER_HUNG);
    end_child(o, i);
}

/* Of the first n workers. */
static void give_up_all(struct observer *o, unsigned n, enum worker_state state, double limit_s)
{
    for (unsigned i = 0; i < n; i++)
        give_up(o, i, state, limit_s);
}

static void describe_gpus(const struct topo *topo, struct bench_machine *machine)
{
    unsigned visible = topo_visible_gpus(topo);
    unsigned most = sizeof(machine->gpus) / sizeof(machine->gpus[0]);
    machine->ngpus = visible < most ? visible : most;
    for (unsigned i = 0; i < machine->ngpus; i++) {
        const struct topo_gpu *gpu = &topo->gpus[i];
        memcpy(machine->gpus[i].pci_bdf, gpu->pci_bdf, sizeof(gpu->pci_bdf));
        machine->gpus[i].os_node = gpu->node < 0 ? -1 : (int)topo->nodes[gpu->node].os_node;
    }
}

/* The part of the topology that benchmarks may know; each worker keeps what it is bound to. */
static void describe_machine(const struct topo *topo, struct bench_machine *machine)
{
    for (unsigned i = 0; i < topo->ncpus && machine->ncpus < BITSET_BITS; i++) {
        const struct topo_cpu *cpu = &topo->cpus[i];
        int os_node = cpu->node < 0 ? -1 : (int)topo->nodes[cpu->node].os_node;
        if (cpu->allowed)
            machine->cpus[machine->ncpus++] = (struct bench_cpu){
                cpu->os_cpu, cpu->core, cpu->smt, cpu->llc, cpu->package, os_node};
    }
    unsigned most = sizeof(machine->nodes) / sizeof(machine->nodes[0]);
    for (unsigned i = 0; i < topo->nnodes && machine->nnodes < most; i++)
        if (topo->nodes[i].allowed)
            machine->nodes[machine->nnodes++] =
                (struct bench_node){topo->nodes[i].os_node, topo->nodes[i].memory_bytes};
    most = sizeof(machine->caches) / sizeof(machine->caches[0]);
    for (unsigned i = 0; i < topo->ncaches && machine->ncaches < most; i++)
        machine->caches[machine->ncaches++] = (struct bench_cache){
            topo->caches[i].level, topo->caches[i].size_bytes, topo->caches[i].cpus};
    describe_gpus(topo, machine);
}

static void write_orders(struct observer *o)
{
    const struct observe_config *config = o->config;
    o->arena->warmup_s = config->warmup_s;
    o->arena->measure_s = config->measure_s;
    describe_machine(config->topo, &o->arena->machine);
    for (unsigned i = 0; i < o->nworkers; i++) {
        struct arena_worker *worker = &o->arena->worker[i];
        bool behind = i >= o->foreground;
        const struct bench *bench = behind ? config->background : o->arm->bench;
        const void *params = behind ? config->background_params : o->arm->params;
        unsigned slot = behind ? o->behind + i - o->foreground : o->first + i;
        worker->plan = o->arm->plan.workers[slot];
        worker->index = behind ? i - o->foreground : o->first + i;
        worker->team = behind ? o->nworkers - o->foreground : o->arm->workers;
        worker->slots = behind ? worker->team : o->arm->slots;
        worker->device = bench_device(bench, config->device, config->transport);
        worker->seed = config->seed + slot;
        (void)snprintf(worker->bench, sizeof(worker->bench), "%s", bench->name);
        assert(bench->params_size <= sizeof(worker->params));
        if (params)
            memcpy(worker->params, params, bench->params_size);
        if (worker->plan.gpu >= 0)
            memcpy(worker->pci_bdf, config->topo->gpus[worker->plan.gpu].pci_bdf,
                   sizeof(worker->pci_bdf));
    }
}

static int observer_open(struct observer *o, struct err *err)
{
    o->arena_fd = o->event_fd = -1;
    o->child = calloc(o->nworkers, sizeof(*o->child));
    if (!o->child)
        return err_set(err, -ENOMEM, "no memory for %u workers", o->nworkers);
    o->arena = arena_create(o->nworkers, &o->arena_fd, err);
    if (!o->arena)
        return err ? err->code : -ENOMEM;
    o->event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (o->event_fd < 0)
        return err_sys(err, -errno, "cannot create an eventfd");
    atomic_store(&o->arena->event_fd, o->event_fd);
    o->arena->board[0].relay = o->job != NULL;
    return o->job ? job_watch_open(&o->watch, o->job, &o->arena->board[0], err) : 0;
}

static void observer_close(struct observer *o)
{
    job_watch_close(&o->watch);
    free(o->child);
    if (o->stuck)
        return;
    if (o->event_fd >= 0)
        (void)close(o->event_fd);
    if (o->arena_fd >= 0)
        (void)close(o->arena_fd);
    arena_destroy(o->arena);
}

static int launch_thread(struct observer *o, unsigned i, struct err *err)
{
    struct job_worker *thread = calloc(1, sizeof(*thread));
    if (!thread)
        return err_set(err, -ENOMEM, "no memory for a worker");
    thread->arena = o->arena;
    thread->index = i;
    thread->bench = o->arm->bench;
    thread->mpi = o->job->ops;
    thread->may_call = o->job->world.threads;
    int rc = job_worker_start(thread, err);
    if (rc) {
        free(thread);
        return rc;
    }
    o->child[i].thread = thread;
    o->child[i].pid = getpid();
    return 0;
}

/* In a job, what one rank cannot start is a lost worker to all; alone, an error. */
static int launch_all(struct observer *o, struct err *err)
{
    enum device device = bench_device(o->arm->bench, o->config->device, o->config->transport);
    for (unsigned i = 0; i < o->nworkers; i++) {
        struct arena_worker *worker = &o->arena->worker[i];
        bool thread = o->job && device == DEVICE_MPI && i < o->foreground;
        int rc = thread ? launch_thread(o, i, err)
                        : launch_worker(o->arena, o->arena_fd, i, &o->child[i].pid, err);
        if (rc && !o->job)
            return rc;
        if (!rc)
            continue;
        o->child[i].pid = 0;
        (void)err_set(&worker->err, rc, "%s", err->msg);
        atomic_store(&worker->state, WORKER_FAILED);
    }
    return 0;
}

/* Behind the last worker whose turn comes with worker i's: ranks that meet have one together. */
static unsigned turn_end(const struct observer *o, unsigned i)
{
    bool behind = i >= o->foreground;
    const struct bench *bench = behind ? o->config->background : o->arm->bench;
    unsigned team_end = behind ? o->nworkers : o->foreground;
    return bench->together ? team_end : i + 1;
}

/*
 * Gives leave to warm up. Workers that share CPUs go one after the other: in a collapse one step
 * takes seconds, and the fight itself is measured after go, not here.
 */
static void grant_warm_up(struct observer *o, bool one_by_one)
{
    for (unsigned i = 0; i < o->nworkers; i++) {
        for (unsigned j = i; j < turn_end(o, i); j++)
            if (!atomic_load(&o->arena->worker[j].warm))
                futex_set(&o->arena->worker[j].warm, 1);
        if (one_by_one && !past(o, i, WORKER_READY))
            return;
    }
}

/* Not in a job: its ranks meet, and CPUs of the same number may be of two machines. */
static bool takes_turns(const struct observer *o)
{
    return !o->job && plan_overlaps(&o->arm->plan);
}

/* 0: all are ready. -ECANCELED: a worker was lost, there is nothing to measure. */
static int prepare(struct observer *o)
{
    bool one_by_one = takes_turns(o);
    double limit_s = o->config->setup_s + o->config->warmup_s * o->nworkers;
    uint64_t until_ns = deadline(limit_s);
    while (!all_past(o, true, WORKER_READY)) {
        if (all_past(o, true, WORKER_PRIMED))
            grant_warm_up(o, one_by_one);
        int rc = wait_for_news(o, until_ns);
        if (rc)
            return rc;
        if (any_lost(o))
            return -ECANCELED;
        if (clock_now_ns() >= until_ns)
            give_up_all(o, o->nworkers, WORKER_READY, limit_s);
    }
    return any_lost(o) ? -ECANCELED : 0;
}

/* Steps that are still under way become lower bounds; what the kernel knows is read first. */
static void censor_running(struct observer *o)
{
    uint64_t now_ns = clock_now_ns();
    for (unsigned i = 0; i < o->foreground; i++) {
        struct arena_worker *worker = &o->arena->worker[i];
        if (past(o, i, WORKER_DONE))
            continue;
        witness_read(o->child[i].pid, &worker->visits, &worker->at_end);
        o->child[i].censored = true;
        o->child[i].killed_ns = now_ns;
    }
    for (unsigned i = 0; i < o->foreground; i++)
        if (o->child[i].censored)
            end_child(o, i);
}

static void read_machine(const struct observer *o, struct witness_machine *machine, double *ours_s)
{
    witness_machine_read(machine);
    *ours_s = 0;
    for (unsigned i = 0; i < o->nworkers; i++)
        if (o->child[i].pid)
            *ours_s += witness_process_cpu_s(o->child[i].pid);
}

static bool time_is_over(const struct observer *o)
{
    return o->job ? job_watch_late(&o->watch) : clock_now_ns() >= o->late_ns;
}

static int measure(struct observer *o)
{
    read_machine(o, &o->machine_go, &o->ours_go_s);
    o->go_ns = clock_now_ns();
    futex_set(&o->arena->go, 1);
    uint64_t until_ns = deadline(o->config->limit_s);
    int rc = 0;
    o->late_ns = until_ns;
    while (!rc && !all_past(o, false, WORKER_DONE)) {
        rc = wait_for_news(o, until_ns);
        if (!rc && time_is_over(o))
            break;
        if (!rc && rank_lost(o))
            rc = -ECANCELED; /* the others would wait for it for ever */
    }
    o->late_ns = 0;
    read_machine(o, &o->machine_end, &o->ours_end_s);
    if (!rc && o->arm->bench->scan)
        give_up_all(o, o->foreground, WORKER_DONE, o->config->limit_s);
    else if (!rc)
        censor_running(o);
    return rc;
}

/* Workers first .. end - 1. */
static void signal_all(const struct observer *o, unsigned first, unsigned end, int signal)
{
    for (unsigned i = first; i < end; i++)
        if (o->child[i].pid)
            (void)kill(o->child[i].pid, signal);
}

/* Until all ranks' workers are gone: while one has to meet the others, ours is asked, too. */
static int finish_job(struct observer *o)
{
    uint64_t until_ns = deadline(o->config->setup_s);
    futex_set(&o->arena->stop, 1);
    while (!all_past(o, true, WORKER_STATES)) {
        int rc = wait_for_news(o, until_ns);
        if (rc)
            return rc;
        if (any_lost(o))
            return -ECANCELED;
        if (clock_now_ns() >= until_ns)
            give_up_all(o, o->nworkers, WORKER_FINISHED, o->config->setup_s);
    }
    return 0;
}

/*
 * The last, uncounted step and the check take one worker milliseconds, and workers that share CPUs
 * as long as the measuring itself: those are held, and let go one after the other.
 */
static int finish(struct observer *o)
{
    bool one_by_one = takes_turns(o);
    double limit_s = o->config->setup_s;
    if (o->job)
        return finish_job(o);
    /* Held before they are told, or a quick one is stopped on its way out of the process. */
    if (one_by_one)
        signal_all(o, 0, o->nworkers, SIGSTOP);
    futex_set(&o->arena->stop, 1);
    for (unsigned i = 0, released = 0; i < o->nworkers; i++) {
        uint64_t until_ns = deadline(limit_s);
        if (one_by_one && i == released) {
            released = turn_end(o, i);
            signal_all(o, i, released, SIGCONT);
        }
        while (o->child[i].pid) {
            int rc = wait_for_news(o, until_ns);
            if (rc)
                return rc;
            if (rank_lost(o))
                return -ECANCELED;
            if (clock_now_ns() >= until_ns)
                give_up(o, i, WORKER_FINISHED, limit_s);
        }
    }
    return 0;
}

/* GPUs in use, while they still work: clocks and temperatures fall within milliseconds. */
static void read_gpus(const struct observer *o, struct observation *out)
{
    out->gpu_clock_mhz = out->gpu_temp_c = NAN;
    enum device device = bench_device(o->arm->bench, o->config->device, o->config->transport);
    if (device != DEVICE_CUDA && device != DEVICE_NCCL)
        return;
    double clock_mhz = 0, temp_c = 0;
    unsigned known = 0;
    for (unsigned i = 0; i < o->foreground; i++) {
        struct gpu_state state;
        const struct arena_worker *worker = &o->arena->worker[i];
        if (!worker->pci_bdf[0] || gpu_state_read(worker->pci_bdf, &state))
            continue;
        known++;
        clock_mhz += state.clock_mhz;
        temp_c += state.temperature_c;
        out->gpu_throttle_reasons |= state.throttle_reasons;
    }
    if (known) {
        out->gpu_clock_mhz = clock_mhz / known;
        out->gpu_temp_c = temp_c / known;
    }
}

static int collect_all(const struct observer *o, struct observation *out, struct err *err)
{
    out->start_ns = o->go_ns;
    out->workers = calloc(o->nworkers, sizeof(*out->workers));
    if (!out->workers)
        return err_set(err, -ENOMEM, "no memory for the results of %u workers", o->nworkers);
    out->nworkers = o->nworkers;
    for (unsigned i = 0; i < o->nworkers; i++) {
        int rc = collect_worker(&o->arena->worker[i], o->go_ns,
                                o->child[i].censored ? o->child[i].killed_ns : 0, &out->workers[i]);
        if (rc)
            return err_set(err, rc, "no memory for the samples of worker %u", i);
    }
    collect_machine(&o->machine_go, &o->machine_end, o->ours_end_s - o->ours_go_s, out);
    collect_verdict(out);
    return 0;
}

/* Which workers of the arm's plan are ours to start. */
static void find_ours(struct observer *o)
{
    o->behind = o->arm->slots;
    if (!o->job) {
        o->foreground = o->arm->workers;
        o->nworkers = o->foreground + arm_background(o->arm);
        return;
    }
    o->first = o->job->world.rank;
    o->foreground = 1;
    o->nworkers = 1 + job_plan_background(o->job, o->arm, &o->behind);
}

/* Our part of the observation becomes that of all ranks; what cannot be told is a failed one. */
static int join_job(const struct observer *o, int rc, struct observation *out, struct err *err)
{
    const struct job_readings readings = {.go = o->machine_go,
                                          .end = o->machine_end,
                                          .ours_s = o->ours_end_s - o->ours_go_s,
                                          .stuck = o->stuck};
    if (!rc)
        rc = job_results_join(o->job, o->arm, &readings, out, err);
    if (rc != -EIO)
        return rc;
    job_results_none(o->job->lost, out);
    return 0;
}

static int run_phases(struct observer *o, struct observation *out, struct err *err)
{
    write_orders(o);
    int rc = launch_all(o, err);
    if (!rc)
        rc = prepare(o);
    if (!rc)
        rc = measure(o);
    read_gpus(o, out);
    if (!rc)
        rc = finish(o);
    kill_all(o);
    if (!rc || rc == -ECANCELED)
        rc = collect_all(o, out, err);
    return o->job ? join_job(o, rc, out, err) : rc;
}

int observe_arm(const struct observe_config *config, const struct arm *arm, bool record_visits,
                struct signals *signals, struct observation *out, struct err *err)
{
    struct observer o = {.config = config, .arm = arm, .signals = signals, .job = config->job};
    if (o.job && (o.job->over[0] || o.job->lost[0])) {
        job_results_none(o.job->over[0] ? o.job->over : o.job->lost, out);
        return 0;
    }
    find_ours(&o);
    int rc = observer_open(&o, err);
    if (!rc) {
        o.arena->record_visits = record_visits;
        rc = run_phases(&o, out, err);
    }
    observer_close(&o);
    return rc;
}
