#include "harness/doctor/checks/live.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/doctor/checks/check.h"
#include "harness/lib/text.h"

/* Share of one CPU: a process that wants less is no worker; such a thread is not blocked. */
static const double worker_least = 0.02;
/* Share of the wanted time: a shorter wait needs no cause. */
static const double waits_least = 0.02;

/* The worker that a process belongs to: its lead, or the ancestor in `pids`; NULL = none. */
static const struct view_process *find_top(const struct view *view,
                                           const struct view_process *process, const pid_t *pids,
                                           size_t npids)
{
    if (!process->watched)
        return NULL;
    if (!npids)
        return view_wanted_s(view_oncpu_s(process), view_wait_s(process)) <
                       worker_least * view->wall_s
                   ? NULL
                   : view_lead(view, process);
    for (size_t hops = 0; process && hops < view->nprocesses; hops++) {
        for (size_t i = 0; i < npids; i++)
            if (process->pid == pids[i])
                return process;
        process = view_find(view, process->parent);
    }
    return NULL;
}

static struct live_worker *find_worker(struct live *live, const struct view_process *top)
{
    for (size_t i = 0; i < live->nworkers; i++)
        if (live->workers[i].pid == top->pid)
            return &live->workers[i];
    struct live_worker *worker = &live->workers[live->nworkers];
    double *used = calloc(live->ncpus + 1, sizeof(*used));
    if (!used)
        return NULL;
    *worker = (struct live_worker){
        .pid = top->pid, .migrations = NAN, .throttled = NAN, .gpu_busy = NAN, .used = used};
    memcpy(worker->name, top->name, sizeof(worker->name));
    live->nworkers++;
    return worker;
}

static void add_task(const struct view *view, const struct live *live, const struct view_task *task,
                     struct live_worker *worker)
{
    double wanted = view_wanted_s(task->oncpu_s, task->wait_s);
    if (wanted >= worker_least * view->wall_s)
        worker->blocked += fmax(view->wall_s - wanted, 0) / view->wall_s;
    if (!isnan(task->migrations))
        worker->migrations =
            (isnan(worker->migrations) ? 0 : worker->migrations) + task->migrations / view->wall_s;
    for (size_t c = 0; task->is_detailed && task->cpu >= 0 && c < live->ncpus; c++)
        if (live->os_cpu[c] == (unsigned)task->cpu)
            worker->used[c] = fmin(worker->used[c] + task->oncpu_s / view->wall_s, 1);
}

static void add_process(const struct view *view, const struct live *live,
                        const struct view_process *process, struct live_worker *worker)
{
    worker->nprocesses++;
    worker->nthreads += (unsigned)process->ntasks;
    worker->oncpu += view_oncpu_s(process) / view->wall_s;
    worker->queue += view_wait_s(process) / view->wall_s;
    worker->gpus |= process->gpus;
    worker->throttled = fmax(worker->throttled, view_most_throttled(view, process));
    view_add_cpus(view, process, &worker->cpus);
    for (size_t t = 0; t < process->ntasks; t++)
        add_task(view, live, &process->tasks[t], worker);
}

/* If a worker has several groups of the checks, the one that waits most gives the cause. */
static int find_causes(const struct view *view, const pid_t *pids, size_t npids, struct live *live,
                       struct err *err)
{
    struct checker checker;
    int rc = checker_open(view, &checker, err);
    for (size_t w = 0; w < live->nworkers && !rc; w++) {
        struct live_worker *worker = &live->workers[w];
        double most_s = 0;
        if (!(worker->queue >= waits_least * (worker->queue + worker->oncpu)))
            continue;
        for (size_t g = 0; g < checker.ngroups; g++) {
            const struct check_group *group = &checker.groups[g];
            const struct view_process *top = find_top(view, group->lead, pids, npids);
            if (!top || top->pid != worker->pid || group->wait_s <= most_s)
                continue;
            most_s = group->wait_s;
            text_set(worker->wait_cause, "%s", check_format_cause(&checker, g));
        }
    }
    checker_close(&checker);
    return rc;
}

static int by_wanted(const void *a, const void *b)
{
    const struct live_worker *one = a, *other = b;
    double first = view_wanted_s(one->oncpu, one->queue);
    double second = view_wanted_s(other->oncpu, other->queue);
    return first != second ? (first < second ? 1 : -1)
                           : (one->pid > other->pid) - (one->pid < other->pid);
}

static void fill_machine(const struct view *view, struct live *live)
{
    double all_s = 0, idle_s = 0, stolen_s = 0;
    for (size_t c = 0; c < view->ncpus; c++) {
        const struct view_cpu *cpu = &view->cpus[c];
        live->os_cpu[live->ncpus++] = cpu->os_cpu;
        idle_s += cpu->idle_s;
        stolen_s += cpu->steal_s;
        all_s +=
            cpu->user_s + cpu->nice_s + cpu->system_s + cpu->idle_s + cpu->irq_s + cpu->steal_s;
    }
    live->busy = all_s > 0 ? 1 - (idle_s + stolen_s) / all_s : (double)NAN;
    live->steal = all_s > 0 ? stolen_s / all_s : (double)NAN;
}

int live_make(const struct view *view, const pid_t *pids, size_t npids, struct live *live,
              struct err *err)
{
    *live = (struct live){.wall_s = view->wall_s,
                          .load = view->load,
                          .pressure = view->pressure_share,
                          .own = view->own_s / view->wall_s};
    live->os_cpu = calloc(view->ncpus + 1, sizeof(*live->os_cpu));
    live->workers = calloc(view->nprocesses + 1, sizeof(*live->workers));
    if (!live->os_cpu || !live->workers)
        return err_set(err, -ENOMEM, "out of memory for %zu processes", view->nprocesses);
    fill_machine(view, live);
    for (size_t i = 0; i < view->nprocesses; i++) {
        const struct view_process *top = find_top(view, &view->processes[i], pids, npids);
        struct live_worker *worker = top ? find_worker(live, top) : NULL;
        if (top && !worker)
            return err_set(err, -ENOMEM, "out of memory for %zu workers", live->nworkers);
        if (worker)
            add_process(view, live, &view->processes[i], worker);
    }
    int rc = find_causes(view, pids, npids, live, err);
    if (live->nworkers)
        qsort(live->workers, live->nworkers, sizeof(*live->workers), by_wanted);
    return rc;
}

void live_free(struct live *live)
{
    for (size_t i = 0; i < live->nworkers; i++)
        free(live->workers[i].used);
    free(live->workers);
    free(live->os_cpu);
    *live = (struct live){0};
}

void live_set_gpus(struct live *live, const double *busy, size_t ngpus)
{
    for (size_t w = 0; w < live->nworkers; w++) {
        double sum = 0, n = 0;
        for (size_t g = 0; g < ngpus && g < 64; g++)
            if ((live->workers[w].gpus >> g & 1) && !isnan(busy[g])) {
                sum += busy[g];
                n++;
            }
        live->workers[w].gpu_busy = n > 0 ? sum / n : (double)NAN;
    }
}
