/* Masks that are narrower than they need be, or not those of all threads; and crowds on them. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "harness/base/text.h"
#include "harness/doctor/deal.h"

enum { COMMAND_MAX = sizeof(((struct finding *)0)->command) };

/* What of it waits while CPUs idle that it may use, or that its first thread may. */
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
    /* Of CPUs on which it may run all are to idle that often, as a queue is not on all of them. */
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
        if (checker->group_of[i] < 0)
            continue;
        for (size_t t = 0; t < process->ntasks; t++)
            add_idle_beside(view, process, &process->tasks[t], &sum);
        if (!check_waits(view, sum.oncpu_s, sum.wait_s))
            continue;
        double share = check_wait_share(sum.oncpu_s, sum.wait_s);
        (void)bitset_format(&sum.wide, list, sizeof(list));
        (void)snprintf(evidence, sizeof(evidence),
                       "waited %s of the time that they wanted to run; of CPUs %.40s %.1f idled",
                       text_percent(share, percent, sizeof(percent)), list,
                       view_idle_s(view, &sum.wide) / view->wall_s);
        (void)check_append(command, sizeof(command), "%staskset -acp %s %d",
                           check_sudo(view, process), list, (int)process->pid);
        const struct said said = {.severity = FINDING_BAD,
                                  .cost = share,
                                  .who = &process,
                                  .nwho = 1,
                                  .evidence = evidence,
                                  .command = command};
        checker_say(checker, &said,
                    "threads of it queue while CPUs idle that it may use: they %s. Their own masks "
                    "are narrower than that of the process, or the scheduler does not spread them.",
                    evidence);
    }
}

/* Of one parent, those that have its one CPU, and wait on it. */
void check_inherited_mask(struct checker *checker)
{
    const struct view *view = checker->view;
    for (size_t i = 0; i < view->nprocesses; i++) {
        const struct view_process *process = &view->processes[i];
        const struct view_process *parent = view_find(view, process->parent);
        struct bitset allowed;
        char command[COMMAND_MAX] = "", evidence[160], list[BITSET_LIST_MAX], percent[16];
        double oncpu_s = view_oncpu_s(process), wait_s = view_wait_s(process);
        if (checker->group_of[i] < 0 || process->mask < 0 ||
            process->mask != process->parent_mask ||
            bitset_count(&view->masks[process->mask]) != 1 || !check_waits(view, oncpu_s, wait_s))
            continue;
        view_allowed_cpus(view, process, &allowed);
        if (bitset_count(&allowed) < 2)
            continue;
        double share = check_wait_share(oncpu_s, wait_s);
        (void)snprintf(evidence, sizeof(evidence),
                       "CPU %d of %u that its cgroup allows; waited %s of the time that it wanted "
                       "to run",
                       bitset_next(&view->masks[process->mask], 0), bitset_count(&allowed),
                       text_percent(share, percent, sizeof(percent)));
        deal_spare(checker, (size_t)checker->group_of[i], 2, &allowed);
        (void)check_append(command, sizeof(command), "%staskset -acp %s %d",
                           check_sudo(view, process), bitset_format(&allowed, list, sizeof(list)),
                           (int)process->pid);
        const struct said said = {.severity = FINDING_BAD,
                                  .cost = share,
                                  .who = &process,
                                  .nwho = 1,
                                  .evidence = evidence,
                                  .command = command};
        checker_say(checker, &said,
                    "it may use one CPU only, as may its parent %s (%d), from which it has that: "
                    "%s. Start what starts it without that binding, too.",
                    parent ? parent->name : "?", (int)process->parent, evidence);
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
        double wait_s = isnan(task->wait_s) ? 0 : task->wait_s;
        wider.wanted += task->oncpu_s + wait_s >= 0.5 * view->wall_s;
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
    char list[BITSET_LIST_MAX];
    bool fits = wider->wanted <= bitset_count(&view->masks[process->mask]);
    if (wider->mask >= 0)
        (void)check_append(
            command, size, "%staskset -%scp %s %d", check_sudo(view, process), fits ? "a" : "",
            bitset_format(&view->masks[fits ? process->mask : wider->mask], list, sizeof(list)),
            (int)process->pid);
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
        const struct said said = {.severity = FINDING_BAD,
                                  .cost = wider.oncpu_s / all_s,
                                  .who = &process,
                                  .nwho = 1,
                                  .evidence = evidence,
                                  .command = command};
        checker_say(checker, &said,
                    "its first thread is bound, its others are not: %s. taskset without -a binds "
                    "one thread alone.",
                    evidence);
    }
}

/* As many threads as it has CPUs, or as its quota grants. */
static void write_team(const struct view *view, const struct check_group *group, char *command,
                       size_t size)
{
    int at;
    double quota = view_quota(view, group->lead, &at);
    unsigned n = bitset_count(&group->cpus);
    if (quota < n)
        n = quota >= 1 ? (unsigned)quota : 1;
    (void)snprintf(command, size,
                   "export OMP_NUM_THREADS=%u MKL_NUM_THREADS=%u OPENBLAS_NUM_THREADS=%u", n, n, n);
}

void check_crowd(struct checker *checker)
{
    static const double crowded = 1.25;
    const struct view *view = checker->view;
    for (size_t g = 0; g < checker->ngroups; g++) {
        const struct check_group *group = &checker->groups[g];
        struct bitset room = group->cpus;
        char command[COMMAND_MAX] = "", evidence[160], list[BITSET_LIST_MAX];
        unsigned ncpus = bitset_count(&group->cpus);
        double wanted = (group->oncpu_s + group->wait_s) / view->wall_s;
        if (!ncpus || group->nrunnable <= ncpus || wanted < crowded * ncpus)
            continue;
        (void)bitset_format(&group->cpus, list, sizeof(list));
        (void)snprintf(evidence, sizeof(evidence),
                       "%u threads want to run, %.1f at a time, on %u CPU%s (%.60s)",
                       group->nrunnable, wanted, ncpus, ncpus == 1 ? "" : "s", list);
        if (!deal_idle(checker, g, group->nrunnable - ncpus, &room) ||
            !check_append_taskset(checker, g, &room, command, sizeof(command)))
            write_team(view, group, command, sizeof(command));
        const struct said said = {.severity = FINDING_BAD,
                                  .cost = (wanted - ncpus) / wanted,
                                  .who = &group->lead,
                                  .nwho = 1,
                                  .evidence = evidence,
                                  .command = command};
        checker_say(checker, &said, "it has more runnable threads than CPUs: %s.%s", evidence,
                    command[0] == 'e' ? " Start it again with as many threads as it can use." : "");
    }
}
