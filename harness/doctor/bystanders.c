#include "harness/doctor/bystanders.h"

#include <math.h>
#include <string.h>

/* Share of one CPU: a process that uses less is ignored, as a change hardly affects it. */
static const double busy_least = 0.05;

static void add(struct bystanders *bystanders, const struct view_process *process, double cpus)
{
    size_t at = bystanders->n;
    while (at && bystanders->all[at - 1].cpus < cpus)
        at--;
    if (at == BYSTANDERS_MOST)
        return;
    bystanders->n += bystanders->n < BYSTANDERS_MOST;
    memmove(&bystanders->all[at + 1], &bystanders->all[at],
            (bystanders->n - at - 1) * sizeof(bystanders->all[0]));
    bystanders->all[at] = (struct bystander){.pid = process->pid,
                                             .start_ticks = process->start_ticks,
                                             .uid = process->uid,
                                             .cpus = cpus};
    memcpy(bystanders->all[at].name, process->name, sizeof(process->name));
}

void bystanders_find(const struct view *view,
                     bool (*is_target)(const void *arg, const struct view_process *process),
                     const void *arg, struct bystanders *bystanders)
{
    *bystanders = (struct bystanders){0};
    for (size_t i = 0; i < view->nprocesses; i++) {
        const struct view_process *process = &view->processes[i];
        double cpus = view->wall_s > 0 ? process->cpu_s / view->wall_s : 0;
        if (!process->kernel && process->state != 'Z' && cpus >= busy_least &&
            !is_target(arg, process))
            add(bystanders, process, cpus);
    }
}

void bystanders_add_block(struct bystanders *bystanders, const struct view *view, bool changed)
{
    bystanders->wall_s[changed] += view->wall_s;
    for (size_t i = 0; i < bystanders->n; i++) {
        const struct view_process *process = view_find(view, bystanders->all[i].pid);
        if (process && process->start_ticks == bystanders->all[i].start_ticks)
            bystanders->all[i].cpu_s[changed] += process->cpu_s;
    }
}

double bystanders_cpus(const struct bystanders *bystanders, size_t which, bool changed)
{
    double sum_s = 0;
    for (size_t i = 0; i < bystanders->n; i++)
        if (which == SIZE_MAX || which == i)
            sum_s += bystanders->all[i].cpu_s[changed];
    return bystanders->wall_s[changed] > 0 ? sum_s / bystanders->wall_s[changed] : (double)NAN;
}
