#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "harness/doctor/checks/check.h"
#include "harness/lib/sys/affinity.h"
#include "harness/lib/text.h"

/* -1 = it has no such rank. */
static long rank_in(const struct view_process *process, const char *name)
{
    const char *value = view_setting(process, name);
    return value && *value >= '0' && *value <= '9' ? strtol(value, NULL, 10) : -1;
}

/*
 * How well a process is worker w, by the variable `name` or, if NULL, by the share of CPUs that
 * both have; -1 = not at all. What a process started has its variables too.
 */
static double fit_of(const struct view *view, const struct view_plan *plan, size_t w,
                     const struct view_process *process, const char *name)
{
    const struct view_process *parent = view_find(view, process->parent);
    struct bitset both = {0}, any = plan->workers[w].cpus;
    if (name)
        return rank_in(process, name) == (long)w &&
                       !(parent && parent->watched && rank_in(parent, name) == (long)w)
                   ? 1
                   : -1;
    if (!view_is_busy(view, process) || view_lead(view, process) != process)
        return -1;
    view_add_cpus(view, process, &both);
    bitset_or(&any, &both);
    bitset_and(&both, &plan->workers[w].cpus);
    return (double)bitset_count(&both) / bitset_count(&any);
}

/* False: two processes fit a worker, or none, or one fits two. */
static bool match_by(const struct view *view, const char *name, struct view_plan *plan)
{
    bool is_known = true;
    for (size_t w = 0; w < plan->n; w++) {
        size_t at = 0;
        double most = -1;
        int *pid = &plan->workers[w].pid;
        for (const struct view_process *process; (process = view_next_watched(view, &at));) {
            const double fit = fit_of(view, plan, w, process, name);
            if (fit >= most)
                *pid = fit > most ? process->pid : 0;
            most = fmax(most, fit);
        }
        is_known &= *pid != 0;
        for (size_t other = 0; other < w; other++)
            is_known &= *pid != plan->workers[other].pid;
    }
    return is_known;
}

int plan_match(const struct view *view, const int *pids, size_t npids, struct view_plan *plan,
               const char **how, struct err *err)
{
    static const char *const names[] = {"LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_RANK", "SLURM_LOCALID",
                                        "MPI_LOCALRANKID", "CONTEND_WORKER"};
    bool is_known = npids == plan->n;
    *how = "--pid";
    for (size_t w = 0; w < plan->n && is_known; w++)
        plan->workers[w].pid = pids[w];
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]) && !is_known; i++)
        is_known = match_by(view, *how = names[i], plan);
    if (is_known)
        return 0;
    *how = "the CPUs that it may use";
    return match_by(view, NULL, plan)
               ? 0
               : err_set(err, -ESRCH,
                         "neither ranks nor masks tell which processes are the %zu workers of the "
                         "plan: type --pid PID for each, in its order",
                         plan->n);
}

static struct view_plan_worker *worker_of(const struct view *view, const struct view_plan *plan,
                                          const struct view_process *process)
{
    for (size_t hops = 0; process && hops < view->nprocesses; hops++) {
        for (size_t w = 0; w < plan->n; w++)
            if (plan->workers[w].pid == process->pid)
                return &plan->workers[w];
        process = view_find(view, process->parent);
    }
    return NULL;
}

static void look_at_worker(const struct view *view, const struct view_plan *plan,
                           struct view_plan_worker *worker)
{
    static const double busy_share = 0.5;
    struct bitset busy = {0}, all = {0};
    size_t at = 0;
    worker->busy = 0;
    for (const struct view_process *process; (process = view_next_watched(view, &at));) {
        const size_t n = worker_of(view, plan, process) == worker ? process->ntasks : 0;
        for (size_t t = 0; t < n; t++) {
            const struct view_task *task = &process->tasks[t];
            const bool is_busy =
                view_wanted_s(task->oncpu_s, task->wait_s) >= busy_share * view->wall_s;
            if (task->mask < 0)
                continue;
            bitset_or(&all, &view->masks[task->mask]);
            if (is_busy)
                bitset_or(&busy, &view->masks[task->mask]);
            worker->busy += is_busy;
        }
    }
    if (affinity_keeps(&busy, &worker->cpus) && !bitset_equal(&busy, &worker->cpus) &&
        worker->busy > bitset_count(&busy))
        worker->narrowed = true;
    else if (bitset_subset(&worker->cpus, &all))
        worker->narrowed = false;
}

void plan_look(struct view *view, struct view_plan *plan)
{
    const bool is_first = !plan->looks++;
    if (is_first)
        plan->began_s = view->now_s;
    for (size_t w = 0; w < plan->n; w++)
        look_at_worker(view, plan, &plan->workers[w]);
    for (size_t i = 0; i < view->nprocesses; i++) {
        const struct view_process *process = &view->processes[i];
        const struct view_plan_worker *worker = worker_of(view, plan, process);
        for (size_t t = 0; t < process->ntasks && worker; t++) {
            struct view_task *task = &process->tasks[t];
            const struct bitset *mask = task->mask < 0 ? &worker->cpus : &view->masks[task->mask];
            task->mask_then = is_first ? -1 : task->mask_then;
            task->outside_then = task->outside;
            task->outside = !affinity_keeps(mask, &worker->cpus) ||
                            (worker->narrowed && !bitset_equal(mask, &worker->cpus));
        }
    }
}

struct plan_drift plan_drift_of(const struct view *view, const struct view_process *process)
{
    struct plan_drift drift = {.process = process, .since_s = INFINITY};
    drift.worker = worker_of(view, view->plan, process);
    for (size_t t = 0; t < process->ntasks && drift.worker; t++) {
        const struct view_task *task = &process->tasks[t];
        drift.existed += task->mask_then >= 0;
        drift.fresh += task->outside && !task->outside_then;
        drift.returned += !task->outside && task->outside_then;
        if (!task->outside)
            continue;
        drift.mask = !drift.outside || drift.mask == task->mask ? task->mask : -1;
        drift.outside++;
        drift.changed += task->mask_then >= 0 && task->mask_then != task->mask;
        drift.since_s = fmin(drift.since_s, task->since_s);
        bitset_or(&drift.cpus, &view->masks[task->mask]);
    }
    return drift;
}

const char *plan_find_setter(const struct view *view, const struct plan_drift *drift,
                             const char **why)
{
    const struct view_process *process = drift->process, *parent = view_find(view, process->parent);
    const unsigned libraries = process->about ? process->about->libraries : 0;
    const char *setting = check_binding_setting(process);
    const bool is_same = process->mask == process->parent_mask;
    *why = "from outside, as taskset -a does: all threads changed at once";
    if (drift->existed > 1 && drift->changed == drift->existed && drift->mask >= 0)
        return "outside";
    *why = str_fmt("probably by its OpenMP runtime: %s is set", setting ? setting : "");
    if (setting && libraries & (LIBRARY_GOMP | LIBRARY_IOMP))
        return "openmp";
    *why = "by itself or from outside: it had one thread";
    if (drift->existed == 1 && drift->changed)
        return "unknown";
    *why = "in threads that began since the last look";
    if (drift->existed && !drift->changed)
        return "inherited";
    *why = str_fmt("by threads for themselves, or for them alone%s",
                   libraries & LIBRARY_NCCL ? "; NCCL is loaded, and may do so (nccl#2033)" : "");
    if (drift->existed || (drift->mask >= 0 && drift->mask != process->mask))
        return "thread";
    *why = "by whom is not known: it was so already";
    if (drift->mask < 0 || process->parent_mask < 0)
        return "unknown";
    *why = str_fmt("%s: its parent %s (%d) has %s CPUs",
                   is_same ? "probably by inheritance" : "at its start or since",
                   parent ? parent->name : "?", process->parent, is_same ? "the same" : "other");
    return is_same ? "inherited" : "start";
}

/* Threads that keep the plan stay as they are. */
static void write_binds(struct checker *checker, const struct plan_drift *drift, char *command)
{
    const struct view_process *process = drift->process;
    const struct bitset *cpus = &drift->worker->cpus;
    const bool all = drift->outside == process->ntasks;
    bool fits = !all || check_bind(checker, process, 0, cpus, command, COMMAND_MAX);
    for (size_t t = 0; t < process->ntasks && !all; t++)
        if (process->tasks[t].outside)
            fits &= check_bind(checker, process, process->tasks[t].tid, cpus, command, COMMAND_MAX);
    if (!fits)
        (void)snprintf(command, COMMAND_MAX, "contend doctor --apply --plan %.900s",
                       text_shell_word(checker->view->plan->file));
}

static void report_drift(struct checker *checker, const struct plan_drift *drift)
{
    const struct view *view = checker->view;
    const struct view_plan_worker *worker = drift->worker;
    const bool is_narrow = affinity_keeps(&drift->cpus, &worker->cpus);
    char command[COMMAND_MAX] = "";
    const char *why, *setter = plan_find_setter(view, drift, &why);
    const char *when = drift->since_s <= view->plan->began_s
                           ? "before the first look"
                           : str_fmt("%.0f s ago", fmax(view->now_s - drift->since_s, 1));
    write_binds(checker, drift, command);
    const struct finding_parts parts = finding_parts_bind(NAN, &drift->process, 1, setter, command);
    checker_report(checker, &parts,
                   "%u of its %zu threads %s CPUs %.60s; worker %u of the plan has %.60s%s. Set "
                   "%s %s.",
                   drift->outside, drift->process->ntasks,
                   is_narrow ? "are narrowed to" : "may run on", bitset_format(&drift->cpus),
                   worker->number, bitset_format(&worker->cpus),
                   is_narrow ? str_fmt(" and %u busy threads", worker->busy) : "", when, why);
}

/* Reports more busy threads than planned, and pages on other nodes. */
static void report_excess(struct checker *checker, const struct view_plan_worker *worker)
{
    static const double far_least = 0.01;
    const struct view *view = checker->view;
    const struct view_process *lead = view_find(view, worker->pid);
    struct bitset nodes = worker->nodes;
    const char *command = "", *what = "";
    double far = 0, all = 0;
    for (unsigned node = 0; bitset_empty(&worker->nodes) && node < view->nnodes; node++)
        if (bitset_intersects(&view->node_cpus[node], &worker->cpus))
            bitset_set(&nodes, node);
    for (unsigned node = 0; lead && lead->about && node < VIEW_NODES_MAX; node++) {
        const double bytes = (double)lead->about->node_bytes[node];
        all += bytes;
        far += bitset_test(&nodes, node) ? 0 : bytes;
    }
    if (worker->busy > worker->threads)
        str_add(&what, "; ", "%u threads are busy, %u are planned", worker->busy, worker->threads);
    if (far > far_least * all && !bitset_empty(&nodes)) {
        str_add(&what, "; ", "%s of its memory is not on nodes %s, of the plan",
                text_percent(far / all), bitset_format(&nodes));
        command = str_fmt("%smigratepages %d all %s", check_sudo(view, lead), lead->pid,
                          bitset_format(&nodes));
    }
    const struct finding_parts parts = {.severity = FINDING_DOUBT,
                                        .cost = NAN,
                                        .who = &lead,
                                        .nwho = 1,
                                        .id = "plan_exceeded",
                                        .command = command};
    if (lead && what[0])
        checker_report(checker, &parts, "%s.", what);
}

void check_plan(struct checker *checker)
{
    const struct view *view = checker->view;
    size_t at = 0;
    for (const struct view_process *process; (process = view_next_watched(view, &at));) {
        const struct plan_drift drift = plan_drift_of(view, process);
        if (drift.outside)
            report_drift(checker, &drift);
    }
    for (size_t w = 0; w < view->plan->n; w++)
        report_excess(checker, &view->plan->workers[w]);
}
