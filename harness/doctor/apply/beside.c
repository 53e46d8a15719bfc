#include "harness/doctor/apply/beside.h"

#include <math.h>
#include <string.h>

/* Share of one CPU: a process that uses less is ignored, as a change hardly affects it. */
static const double busy_least = 0.05;

static void add(struct beside *beside, const struct view_process *process, double cpus)
{
    size_t at = beside->n;
    while (at && beside->all[at - 1].cpus < cpus)
        at--;
    if (at == BESIDE_MOST)
        return;
    beside->n += beside->n < BESIDE_MOST;
    memmove(&beside->all[at + 1], &beside->all[at], (beside->n - at - 1) * sizeof(beside->all[0]));
    beside->all[at] = (struct beside_one){.pid = process->pid,
                                          .start_ticks = process->start_ticks,
                                          .uid = process->uid,
                                          .cpus = cpus};
    memcpy(beside->all[at].name, process->name, sizeof(process->name));
}

void beside_find(const struct view *view,
                 bool (*means)(const void *arg, const struct view_process *process),
                 const void *arg, struct beside *beside)
{
    *beside = (struct beside){0};
    for (size_t i = 0; i < view->nprocesses; i++) {
        const struct view_process *process = &view->processes[i];
        double cpus = view->wall_s > 0 ? process->cpu_s / view->wall_s : 0;
        if (!process->kernel && process->state != 'Z' && cpus >= busy_least && !means(arg, process))
            add(beside, process, cpus);
    }
}

void beside_note(struct beside *beside, const struct view *view, bool changed)
{
    beside->wall_s[changed] += view->wall_s;
    for (size_t i = 0; i < beside->n; i++) {
        const struct view_process *process = view_find(view, beside->all[i].pid);
        if (process && process->start_ticks == beside->all[i].start_ticks)
            beside->all[i].cpu_s[changed] += process->cpu_s;
    }
}

double beside_cpus(const struct beside *beside, size_t which, bool changed)
{
    double sum_s = 0;
    for (size_t i = 0; i < beside->n; i++)
        if (which == SIZE_MAX || which == i)
            sum_s += beside->all[i].cpu_s[changed];
    return beside->wall_s[changed] > 0 ? sum_s / beside->wall_s[changed] : (double)NAN;
}
