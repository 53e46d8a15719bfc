#include "harness/engine/observe.h"

#include <errno.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "harness/engine/job.h"
#include "harness/engine/job_results.h"
#include "harness/lib/sys/clock.h"
#include "harness/lib/sys/log.h"
#include "harness/lib/sys/task.h"
#include "harness/machine/gpu_health.h"

enum { TICK_MS = 200 };

/* True if a worker was lost for which others would wait forever. */
static bool rank_lost(const struct observer *o)
{
    const struct bench *background = o->config->run->background;
    return (o->arm->bench->gang || (background && background->gang)) && observe_any_lost(o);
}

/* The least state of the first n workers; WORKER_STATES when all have exited. */
static uint32_t least_state(const struct observer *o, unsigned n)
{
    uint32_t least = WORKER_STATES;
    for (unsigned i = 0; i < n; i++)
        if (o->child[i].pid && observe_state(o, i) < least)
            least = observe_state(o, i);
    return least;
}

static int report_to_ranks(struct observer *o, bool interrupted)
{
    const struct barrier *barrier = &o->shared->barrier[0];
    struct job_report report = {.foreground = least_state(o, o->foreground),
                                .all = least_state(o, o->nworkers),
                                .lost = observe_any_lost_here(o),
                                .timed_out = o->deadline_ns && clock_now_ns() >= o->deadline_ns,
                                .interrupted = interrupted};
    report.posted = barrier_posted(barrier, &report.bytes);
    bool idle = barrier_waits(barrier, o->first) || report.foreground == WORKER_PRIMED ||
                report.foreground == WORKER_READY || report.foreground >= WORKER_CHECKING;
    return job_watch_step(o->job, &report, idle, o->err);
}

/* Signals the worker and all that it has started. */
static void signal_worker(const struct observer *o, unsigned i, int signal)
{
    const struct process *process = &o->child[i].process;
    if (!process_signal_group(process, signal) && o->arm->bench->runs_command)
        (void)process_signal_below(process->pid, signal);
}

/*
 * Ctrl-Z: workers have process groups of their own, so we stop them too. A measurement with a stop
 * in it is no result. A job is not stopped: the other ranks would take the stopped rank for lost.
 */
static int stop_and_continue(struct observer *o)
{
    o->signals->stop_requested = false;
    if (o->job) {
        log_warn("a job of several ranks is not stopped by SIGTSTP; it goes on");
        return 0;
    }
    for (unsigned i = 0; i < o->nworkers; i++)
        signal_worker(o, i, SIGSTOP);
    process_stop_self();
    for (unsigned i = 0; i < o->nworkers; i++)
        signal_worker(o, i, SIGCONT);
    return signals_take(o->signals) ? -EINTR : err_set(o->err, -ERESTART, "stopped by SIGTSTP");
}

/*
 * Sleeps until a worker changes its state, a signal comes, until_ns, or a tick. -EINTR: asked to
 * end; -ERESTART: stopped meanwhile; in a job, also -EIO: a rank is lost.
 */
static int wait_for_event(struct observer *o, uint64_t until_ns)
{
    uint64_t now_ns = clock_now_ns();
    uint64_t left_ms = until_ns > now_ns ? (until_ns - now_ns) / 1000000 + 1 : 0;
    struct pollfd fds[] = {{.fd = o->signals->fd, .events = POLLIN},
                           {.fd = o->event_fd, .events = POLLIN}};
    int most_ms = o->job ? job_watch_pause_ms(o->job) : TICK_MS;
    int pause_ms = left_ms < (uint64_t)most_ms ? (int)left_ms : most_ms;
    /* After until_ns a job goes on until all ranks know, but must not spin. */
    (void)poll(fds, 2, o->job && pause_ms < 1 ? 1 : pause_ms);
    uint64_t events;
    if (fds[1].revents & POLLIN)
        (void)!read(o->event_fd, &events, sizeof(events));
    bool interrupted = signals_take(o->signals);
    observe_reap(o);
    if (o->config->on_wait)
        o->config->on_wait(o->config->on_wait_arg);
    int rc = o->signals->stop_requested && !interrupted ? stop_and_continue(o) : 0;
    if (o->job)
        return report_to_ranks(o, interrupted);
    return interrupted ? -EINTR : rc;
}

static uint64_t deadline(double seconds)
{
    return clock_now_ns() + (uint64_t)(seconds * 1e9);
}

/* Index after the last worker of worker i's turn: coupled ranks have their turn together. */
static unsigned turn_end(const struct observer *o, unsigned i)
{
    bool background = i >= o->foreground;
    const struct bench *bench = background ? o->config->run->background : o->arm->bench;
    unsigned team_end = background ? o->nworkers : o->foreground;
    return bench->gang ? team_end : i + 1;
}

/*
 * Lets workers warm up; returns the index after the last of them. Workers that share CPUs warm up
 * one after the other: in a collapse one step takes seconds, and contention is measured after go,
 * not here.
 */
static unsigned grant_warm_up(struct observer *o, bool one_by_one)
{
    for (unsigned i = 0; i < o->nworkers; i++) {
        for (unsigned j = i; j < turn_end(o, i); j++)
            if (!atomic_load(&o->shared->worker[j].warm))
                futex_set(&o->shared->worker[j].warm, 1);
        if (one_by_one && !observe_reached(o, i, WORKER_READY))
            return turn_end(o, i);
    }
    return o->nworkers;
}

/* True if workers must take turns outside of the measured time. Never in a job: its ranks meet, and
 * equal CPU numbers may be of different machines. */
static bool takes_turns(const struct observer *o)
{
    const struct plan *plan = &o->arm->plan;
    bool crowded = o->arm->bench->runs_command ? plan_overlaps(plan) : plan_is_oversubscribed(plan);
    return !o->job && crowded;
}

/*
 * Returns 0 when all are ready; -ECANCELED: a worker was lost, so there is nothing to measure. Each
 * turn has its own time limit, in which a step may take as long as a measured one.
 */
static int prepare(struct observer *o)
{
    const struct observe_config *config = o->config;
    bool one_by_one = takes_turns(o);
    unsigned granted = 0;
    double limit_s = config->setup_s;
    uint64_t until_ns = deadline(limit_s);
    while (!observe_all_reached(o, true, WORKER_READY)) {
        unsigned before = granted;
        if (observe_all_reached(o, true, WORKER_PRIMED))
            granted = grant_warm_up(o, one_by_one);
        if (granted != before) {
            limit_s = config->setup_s + config->warmup_s + o->shared->limit_s;
            until_ns = deadline(limit_s);
        }
        int rc = wait_for_event(o, until_ns);
        if (rc)
            return rc;
        if (observe_any_lost(o))
            return -ECANCELED;
        if (clock_now_ns() >= until_ns)
            observe_give_up_all(o, o->nworkers, WORKER_READY, limit_s);
    }
    return observe_any_lost(o) ? -ECANCELED : 0;
}

/* Ends workers that are still in a step, whose time becomes a lower bound; reads usage first. */
static void censor_running(struct observer *o)
{
    for (unsigned i = 0; i < o->foreground; i++) {
        const struct shared_worker *worker = &o->shared->worker[i];
        struct worker_end *end = &o->child[i].end;
        struct command_seen seen;
        if (observe_reached(o, i, WORKER_DONE))
            continue;
        command_read_seen(&worker->command, &seen);
        if (o->arm->bench->runs_command)
            usage_read_tree(&seen.used, &end->at_end);
        else
            usage_read(o->child[i].pid, &worker->cpu_samples, &end->at_end);
        usage_read_quota(o->child[i].pid, o->shared->nworkers, &end->at_end);
        end->killed_ns = clock_now_ns(); /* many threads take a while to read */
    }
    for (unsigned i = 0; i < o->foreground; i++)
        if (o->child[i].end.killed_ns)
            observe_end(o, i);
}

/* Includes child processes, which commands and scans that measure processes have. */
static double worker_cpu_s(const struct observer *o, pid_t pid)
{
    const struct bench *bench = o->arm->bench;
    return bench->runs_command || bench->scan ? tree_cpu_s(pid) : task_cpu_s(pid);
}

/* Reads only the CPUs in use: others disturb no worker, and would dilute the shares of these. */
static void read_machine(struct observer *o, struct observer_reading *reading)
{
    *reading = (struct observer_reading){.helpers_s = task_cpu_s(getpid())};
    bitset_or(&o->cpus, &o->config->run->client_cpus);
    for (unsigned i = 0; i < o->nworkers; i++) {
        bitset_or(&o->cpus, &o->shared->worker[i].plan.cpus);
        if (o->child[i].pid && o->child[i].in_mpi) { /* a thread of this process */
            reading->workers_s += reading->helpers_s;
            reading->helpers_s = 0;
        } else if (o->child[i].pid) {
            reading->workers_s += worker_cpu_s(o, o->child[i].pid);
        }
    }
    usage_machine_read(&o->cpus, &reading->machine);
}

static bool time_is_over(const struct observer *o)
{
    return o->job ? o->job->watch.together.timed_out : clock_now_ns() >= o->deadline_ns;
}

/* Waits until the foreground workers reach `state`, at most until o->deadline_ns. */
static int await_foreground(struct observer *o, enum worker_state state)
{
    int rc = 0;
    while (!rc && !observe_all_reached(o, false, state)) {
        rc = wait_for_event(o, o->deadline_ns);
        gpu_watch_sample(&o->watch);
        if (!rc && time_is_over(o))
            break;
        if (!rc && rank_lost(o))
            rc = -ECANCELED; /* other workers would wait for it forever */
    }
    return rc;
}

/* Reads the machine at the begin of the measured time. */
static void read_go(struct observer *o)
{
    read_machine(o, &o->at_go);
    gpu_watch_start(&o->watch);
}

/* The measured time begins when the last worker counts its steps. */
static int observe_measure(struct observer *o)
{
    read_go(o);
    o->go_ns = clock_now_ns();
    const double wait_s = bench_is_whole(o->arm->bench) ? o->shared->settle_s : 0;
    o->deadline_ns = deadline(o->shared->limit_s + wait_s);
    futex_set(&o->shared->go, 1);
    int rc = await_foreground(o, WORKER_RUNNING);
    if (!rc && o->shared->settle_s > 0 && observe_all_reached(o, false, WORKER_RUNNING)) {
        read_go(o);
        o->deadline_ns = deadline(o->shared->limit_s);
    }
    if (!rc)
        rc = await_foreground(o, WORKER_DONE);
    o->deadline_ns = 0;
    read_machine(o, &o->at_end);
    gpu_watch_sample(&o->watch); /* a short load may have had no sample so far */
    gpu_watch_stop(&o->watch);
    if (!rc && o->arm->bench->scan)
        observe_give_up_all(o, o->foreground, WORKER_DONE, o->shared->limit_s);
    else if (!rc)
        censor_running(o);
    return rc;
}

/* Signals workers first .. end - 1. */
static void signal_all(const struct observer *o, unsigned first, unsigned end, int signal)
{
    for (unsigned i = first; i < end; i++)
        if (o->child[i].pid)
            (void)process_signal(&o->child[i].process, signal);
}

/* Waits until the workers of all ranks are gone. Ours must keep meeting the others until then. */
static int finish_with_ranks(struct observer *o)
{
    uint64_t until_ns = deadline(o->config->setup_s);
    futex_set(&o->shared->stop, 1);
    while (!observe_all_reached(o, true, WORKER_STATES)) {
        int rc = wait_for_event(o, until_ns);
        if (rc)
            return rc;
        if (observe_any_lost(o))
            return -ECANCELED;
        if (clock_now_ns() >= until_ns)
            observe_give_up_all(o, o->nworkers, WORKER_FINISHED, o->config->setup_s);
    }
    return 0;
}

/*
 * The last, uncounted step and the check take milliseconds, but of workers that share CPUs as long
 * as the measuring itself. So these workers are stopped, and continued one after the other.
 */
static int finish(struct observer *o)
{
    bool one_by_one = takes_turns(o);
    double limit_s = o->config->setup_s;
    if (o->job)
        return finish_with_ranks(o);
    /* Stopped before they are told to end, or a quick worker is stopped while it exits. */
    if (one_by_one)
        signal_all(o, 0, o->nworkers, SIGSTOP);
    futex_set(&o->shared->stop, 1);
    for (unsigned i = 0, released = 0; i < o->nworkers; i++) {
        uint64_t until_ns = deadline(limit_s);
        if (one_by_one && i == released) {
            released = turn_end(o, i);
            signal_all(o, i, released, SIGCONT);
        }
        while (o->child[i].pid) {
            int rc = wait_for_event(o, until_ns);
            if (rc)
                return rc;
            if (rank_lost(o))
                return -ECANCELED;
            if (clock_now_ns() < until_ns)
                continue;
            observe_give_up(o, i, WORKER_FINISHED, limit_s);
            break; /* observe_end_all waits for it again */
        }
    }
    return 0;
}

/* Reads GPUs while they still work: clocks and temperatures fall within milliseconds. */
static void read_gpus(const struct observer *o, struct observation *out)
{
    out->gpu_clock_mhz = out->gpu_temp_c = NAN;
    enum device device = arm_device(o->config->run, o->arm);
    if (!device_infos[device].on_gpus)
        return;
    double clock_mhz = 0, temp_c = 0;
    unsigned known = 0;
    for (unsigned i = 0; i < o->foreground; i++) {
        struct gpu_state state;
        const struct shared_worker *worker = &o->shared->worker[i];
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
        int rc =
            collect_worker(&o->shared->worker[i], o->go_ns, &o->child[i].end, &out->workers[i]);
        if (rc)
            return err_set(err, rc, "no memory for the samples of worker %u", i);
        const struct neighbours *jobs = arm_jobs(o->config->run, o->arm);
        for (size_t k = 0; jobs && k < out->workers[i].nvalues; k++)
            out->workers[i].values[k].metric += neighbour_of(jobs, o->arm->alone, i, NULL)->first;
    }
    const struct observer_reading *go = &o->at_go, *end = &o->at_end;
    double ours_s = end->workers_s - go->workers_s + end->helpers_s - go->helpers_s;
    collect_machine(&go->machine, &end->machine, ours_s, out);
    collect_phases(o->shared, o->foreground, o->begin_ns, out);
    collect_verdict(out);
    collect_masks(out);
    collect_waits(o->arm, out);
    return 0;
}

/* Turns our part of the observation into that of all ranks. */
static int join_ranks(const struct observer *o, int rc, struct observation *out, struct err *err)
{
    const struct job_readings readings = {.cpus = o->cpus,
                                          .go = o->at_go.machine,
                                          .end = o->at_end.machine,
                                          .workers_s = o->at_end.workers_s - o->at_go.workers_s,
                                          .helpers_s = o->at_end.helpers_s - o->at_go.helpers_s,
                                          .stuck = o->stuck};
    return job_results_join(o->job, o->arm, &readings, rc, out, err);
}

static int run_phases(struct observer *o, struct observation *out, struct err *err)
{
    observe_write_orders(o);
    int rc = observe_watch_gpus(o, err);
    if (rc)
        return rc;
    observe_launch_all(o);
    rc = prepare(o);
    if (!rc)
        rc = observe_measure(o);
    read_gpus(o, out);
    if (!rc)
        rc = finish(o);
    int left = observe_end_all(o);
    if (left && rc == -EINTR)
        log_warn("%s", err->msg);
    else if (left)
        rc = left;
    out->gpus = gpu_watch_close(&o->watch, &out->ngpus);
    if (!rc || rc == -ECANCELED)
        rc = collect_all(o, out, err);
    return o->job ? join_ranks(o, rc, out, err) : rc;
}

/* A worker ends all processes of its command, unless it is killed itself: then we end them. */
static int observe_command(struct observer *o, struct observation *out, struct err *err)
{
    struct process_known known;
    process_note_known(&known);
    process_adopt(true);
    int rc = run_phases(o, out, err);
    if (o->kept && !rc && out->status < STATUS_SKIPPED)
        return 0;
    if (o->kept)
        observe_end_kept(o->kept, true);
    else if (!process_end_new(&known))
        log_warn("a process of the command cannot be ended");
    process_adopt(false);
    return rc;
}

int observe_arm(const struct observe_config *config, const struct arm *arm, bool record_cpu_samples,
                struct signals *signals, struct observation *out, struct err *err)
{
    struct observer o = {.config = config,
                         .arm = arm,
                         .signals = signals,
                         .begin_ns = clock_now_ns(),
                         .err = err,
                         .round = out->round,
                         .slot = out->slot,
                         .shared_fd = -1,
                         .event_fd = -1,
                         .kept = arm->bench->runs_command ? config->kept : NULL,
                         .job = config->job};
    if (o.job && job_refuses(o.job, out))
        return 0;
    observe_select_workers(&o);
    int rc = observe_open(&o, err);
    if (!rc) {
        o.shared->record_cpu_samples = record_cpu_samples;
        o.shared->record_stages = record_cpu_samples && config->traced;
        rc = arm->bench->runs_command ? observe_command(&o, out, err) : run_phases(&o, out, err);
    }
    observe_close(&o);
    if (rc && rc != -EINTR && o.job) /* other ranks do not know the error, and would wait */
        job_fail(o.job, err->msg);
    return rc;
}
