/* Masks that are narrower than they need be, or not those of all threads; and crowds on them. */
#include <math.h>
#include <stdio.h>

#include "harness/doctor/check/check_runtime.h"
#include "harness/doctor/check/cpu_allocator.h"
#include "harness/lib/base/text.h"

struct check_gain check_gain_of_idle(const struct view *view, const struct bitset *cpus,
                                     double oncpu_s, double wait_s, bool is_team_waiting)
{
    static const double least = 1.1;
    const struct check_gain gain =
        check_gain_of_more(oncpu_s, fmin(wait_s, view_idle_s(view, cpus)), is_team_waiting);
    return isnan(wait_s) || gain.times < least ? (struct check_gain){.times = NAN} : gain;
}

/* Waiting while CPUs idle that the task may use, or that its first thread may. */
struct idle_beside {
    double oncpu_s, wait_s;
    struct bitset wide; /* where they could all run */
};

static void add_idle_beside(const struct view *view, const struct view_process *process,
                            const struct view_task *task, struct idle_beside *sum)
{
    static const double idle_cpus = 0.5;
    if (task->mask < 0 || process->mask < 0 || !check_waits(view, task->oncpu_s, task->wait_s))
        return;
    struct bitset beside = view->masks[process->mask];
    const struct bitset *mask = &view->masks[task->mask];
    bool narrow = !bitset_subset(&beside, mask) && bitset_subset(mask, &beside);
    if (narrow)
        bitset_andnot(&beside, mask);
    else
        beside = *mask;
    double idle = view_idle_s(view, &beside) / view->wall_s;
    /* All CPUs on which it may run must idle that often, as a queue is not on all of them. */
    if (idle < (narrow ? idle_cpus : idle_cpus * bitset_count(mask)))
        return;
    sum->oncpu_s += task->oncpu_s;
    sum->wait_s += task->wait_s;
    bitset_or(&sum->wide, &view->masks[process->mask]);
}

void check_idle_beside(struct checker *checker)
{
    const struct view *view = checker->view;
    for (size_t i = 0; i < view->nprocesses; i++) {
        const struct view_process *process = &view->processes[i];
        struct idle_beside sum = {0};
        char command[COMMAND_MAX] = "", evidence[160], list[BITSET_LIST_MAX], percent[16];
        if (checker->group_of[i] < 0 || view_is_throttled(view, process))
            continue;
        for (size_t t = 0; t < process->ntasks; t++)
            add_idle_beside(view, process, &process->tasks[t], &sum);
        if (!check_waits(view, sum.oncpu_s, sum.wait_s))
            continue;
        double share = check_wait_share(sum.oncpu_s, sum.wait_s);
        (void)bitset_format(&sum.wide, list, sizeof(list));
        (void)snprintf(evidence, sizeof(evidence),
                       "waited %s of their runnable time, while of CPUs %.40s %.1f idled",
                       text_percent(share, percent, sizeof(percent)), list,
                       view_idle_s(view, &sum.wide) / view->wall_s);
        (void)check_append_bind(view, process, 0, &sum.wide, command, sizeof(command));
        struct said said = said_bad(share, &process, 1, evidence, command);
        said.gain = check_gain_of_idle(view, &sum.wide, sum.oncpu_s, sum.wait_s,
                                       check_team_waits(view, process));
        checker->explained[checker->group_of[i]] = true;
        checker_report(
            checker, &said,
            "its threads wait while CPUs that it may use idle: they %s. Their own masks "
            "are narrower than that of the process, or the scheduler does not spread them.",
            evidence);
    }
}

static bool has_inherited_cpu(const struct checker *checker, size_t i)
{
    const struct view *view = checker->view;
    const struct view_process *process = &view->processes[i];
    return checker->group_of[i] >= 0 && process->mask >= 0 && !view_is_throttled(view, process) &&
           process->mask == process->parent_mask &&
           bitset_count(&view->masks[process->mask]) == 1 &&
           check_waits(view, view_oncpu_s(process), view_wait_s(process));
}

/* Reports children of one parent that have its one CPU, and wait on it: from the first on. */
static void report_inherited(struct checker *checker, size_t first)
{
    const struct view *view = checker->view;
    const struct view_process *who[FOUND_PIDS_MAX], *process = &view->processes[first];
    const struct view_process *parent = view_find(view, process->parent);
    char command[COMMAND_MAX] = "", evidence[160], percent[16];
    double oncpu_s = 0, wait_s = 0;
    struct bitset allowed;
    bool is_team_waiting = false;
    size_t n = 0;
    view_allowed_cpus(view, process, &allowed);
    if (bitset_count(&allowed) < 2)
        return;
    allocate_spare(checker, (size_t)checker->group_of[first], 2, &allowed);
    for (size_t i = first; i < view->nprocesses && n < FOUND_PIDS_MAX; i++) {
        const struct view_process *one = &view->processes[i];
        if (one->parent != process->parent || one->mask != process->mask ||
            !has_inherited_cpu(checker, i))
            continue;
        who[n++] = one;
        oncpu_s += view_oncpu_s(one);
        wait_s += view_wait_s(one);
        is_team_waiting |= check_team_waits(view, one);
        checker->explained[checker->group_of[i]] = true;
        (void)check_append_bind(view, one, 0, &allowed, command, sizeof(command));
    }
    double share = check_wait_share(oncpu_s, wait_s);
    (void)snprintf(evidence, sizeof(evidence),
                   "CPU %d of %u that its cgroup allows; waited %s of its runnable time",
                   bitset_next(&view->masks[process->mask], 0), bitset_count(&allowed),
                   text_percent(share, percent, sizeof(percent)));
    struct said said = said_bad(share, who, n, evidence, command);
    said.gain = check_gain_of_idle(view, &allowed, oncpu_s, wait_s, is_team_waiting);
    checker_report(checker, &said,
                   "may use one CPU only, inherited from its parent %s (%d): %s. Start the parent "
                   "without that binding too.",
                   parent ? parent->name : "?", (int)process->parent, evidence);
}

void check_inherited_mask(struct checker *checker)
{
    const struct view *view = checker->view;
    for (size_t i = 0; i < view->nprocesses; i++) {
        bool is_first = has_inherited_cpu(checker, i);
        for (size_t before = 0; before < i && is_first; before++)
            is_first = !(view->processes[before].parent == view->processes[i].parent &&
                         view->processes[before].mask == view->processes[i].mask &&
                         has_inherited_cpu(checker, before));
        if (is_first)
            report_inherited(checker, i);
    }
}

/* Tasks that may run where the first thread may not; they have its CPUs, and more. */
struct wider {
    double oncpu_s;
    int mask;     /* that of all of them; -1 = they have several */
    bool is_team; /* others are bound to CPUs of their own: somebody gave each thread its place */
    unsigned
        wanted; /* tasks that wanted a CPU at least half of the time, the first thread as well */
};

static struct wider find_wider(const struct view *view, const struct view_process *process)
{
    struct wider wider = {.mask = -1};
    const struct bitset *leader = &view->masks[process->mask];
    bool any = false;
    for (size_t t = 0; t < process->ntasks; t++) {
        const struct view_task *task = &process->tasks[t];
        wider.wanted += view_wanted_s(task->oncpu_s, task->wait_s) >= 0.5 * view->wall_s;
        if (task->mask < 0 || task->mask == process->mask)
            continue;
        const struct bitset *mask = &view->masks[task->mask];
        if (bitset_subset(leader, mask)) {
            wider.oncpu_s += task->oncpu_s;
            wider.mask = any && wider.mask != task->mask ? -1 : task->mask;
            any = true;
        } else if (!bitset_subset(mask, leader))
            wider.is_team = true;
    }
    return wider;
}

/* All of them go to the CPUs of the first thread where these are enough, and else that one to
 * theirs. */
static void write_together(const struct view *view, const struct view_process *process,
                           const struct wider *wider, char *command, size_t size)
{
    bool fits = wider->wanted <= bitset_count(&view->masks[process->mask]);
    if (wider->mask >= 0)
        (void)check_append_bind(view, process, fits ? 0 : process->pid,
                                &view->masks[fits ? process->mask : wider->mask], command, size);
}

void check_leader_alone(struct checker *checker)
{
    static const double least_cpus = 0.2;
    const struct view *view = checker->view;
    for (size_t i = 0; i < view->nprocesses; i++) {
        const struct view_process *process = &view->processes[i];
        char command[COMMAND_MAX] = "", evidence[160], list[BITSET_LIST_MAX], percent[16];
        if (checker->group_of[i] < 0 || process->mask < 0)
            continue;
        const struct wider wider = find_wider(view, process);
        double all_s = view_oncpu_s(process);
        if (wider.is_team || wider.oncpu_s < least_cpus * view->wall_s)
            continue;
        (void)bitset_format(&view->masks[process->mask], list, sizeof(list));
        (void)snprintf(evidence, sizeof(evidence),
                       "%s of its CPU time is of threads that may leave CPUs %.60s",
                       text_percent(wider.oncpu_s / all_s, percent, sizeof(percent)), list);
        write_together(view, process, &wider, command, sizeof(command));
        const struct said said = said_bad(wider.oncpu_s / all_s, &process, 1, evidence, command);
        checker_report(
            checker, &said,
            "its first thread is bound, the others are not: %s. taskset without -a binds "
            "one thread only.",
            evidence);
    }
}
