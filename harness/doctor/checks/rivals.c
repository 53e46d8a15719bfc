#include "harness/doctor/checks/rivals.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/lib/text.h"

/* The weights that the commands set: nice 19, and cpu.weight 1 of 100. */
static const double nicest_weight = 15, least_group_weight = 1024 / 100.0;
/* Shares of the watched time: less is not read, and less is not worth a command. */
static const double seen_least = 0.002, matters_least = 0.05;

/* For an unwatched process only the mask and the last CPU of its first thread are known. */
bool rivals_runs_there(const struct view *view, const struct view_process *process,
                       const struct bitset *cpus)
{
    struct bitset its = {0};
    if (!process->watched && process->threads > 1 && process->mask >= 0)
        return bitset_intersects(&view->masks[process->mask], cpus);
    if (!process->watched)
        return process->cpu >= 0 && bitset_test(cpus, (unsigned)process->cpu);
    view_add_cpus(view, process, &its);
    return bitset_intersects(&its, cpus);
}

/* The cgroup itself or the next above it that has a weight; -1 = the root of the machine. */
static int weighed(const struct view *view, int cgroup)
{
    while (cgroup >= 0 && isnan(view->cgroups[cgroup].weight))
        cgroup = view->cgroups[cgroup].parent;
    return cgroup;
}

static int above(const struct view *view, int cgroup)
{
    return cgroup < 0 ? -1 : weighed(view, view->cgroups[cgroup].parent);
}

/* Below `top`, the cgroup that the process is in; -1 = it is in `top` itself; -2 = not below it. */
static int part_of(const struct view *view, const struct view_process *process, int top)
{
    int part = -1, at = weighed(view, process->cgroup[CGROUP_CPU]);
    while (at != top && at >= 0) {
        part = at;
        at = above(view, at);
    }
    return at == top ? part : -2;
}

/* What stands for a process among all that share the time of the cgroup `top`. */
static struct rival stand_in(const struct view *view, const struct view_process *process, int top)
{
    int part = part_of(view, process, top);
    if (part >= 0)
        return (struct rival){
            .kind = RIVAL_CGROUP, .id = part, .weight = view->cgroups[part].weight};
    if (top < 0 && process->autogroup) /* only the root has autogroups */
        return (struct rival){
            .kind = RIVAL_AUTOGROUP, .id = process->autogroup, .weight = process->autogroup_weight};
    return (struct rival){.kind = RIVAL_THREADS, .weight = process->weight};
}

static double lowered_weight(const struct rival *rival)
{
    return rival->kind == RIVAL_CGROUP ? least_group_weight : nicest_weight;
}

/* A command would change it. */
static bool is_heavy(const struct rival *rival)
{
    return rival->weight >= 2 * lowered_weight(rival);
}

static struct rival weigh(const struct view *view, const struct view_process *lead,
                          const struct view_process *process)
{
    int top = weighed(view, lead->cgroup[CGROUP_CPU]);
    if ((lead->cgroup[CGROUP_CPU] < 0) != (process->cgroup[CGROUP_CPU] < 0) || process->realtime)
        return (struct rival){.kind = RIVAL_FIXED};
    while (part_of(view, process, top) == -2)
        top = above(view, top);
    struct rival its = stand_in(view, process, top), own = stand_in(view, lead, top);
    if (its.kind == own.kind && its.id == own.id) { /* the same session */
        its = (struct rival){.kind = RIVAL_THREADS, .weight = process->weight};
        own.weight = lead->weight;
    }
    if (its.kind == RIVAL_THREADS && !is_heavy(&its))
        return (struct rival){.kind = RIVAL_FIXED};
    its.against = own.weight;
    return its;
}

static bool may_change(const struct view *view, const struct view_process *process)
{
    char unused[200] = "";
    return !process->watched && !process->gpus && !process->kernel && process->mask >= 0 &&
           check_may_touch(view, process, unused, sizeof(unused));
}

static void add_process(const struct view *view, struct rival *rival,
                        const struct view_process *process)
{
    rival->cpu_s += process->cpu_s;
    if (process->cpu_s < matters_least * view->wall_s)
        return;
    size_t at = rival->n < RIVAL_PROCESSES_MAX ? rival->n++ : RIVAL_PROCESSES_MAX;
    for (; at > 0 && rival->processes[at - 1]->cpu_s < process->cpu_s; at--)
        if (at < RIVAL_PROCESSES_MAX)
            rival->processes[at] = rival->processes[at - 1];
    if (at < RIVAL_PROCESSES_MAX)
        rival->processes[at] = process;
}

static struct rival *find_rival(struct rivals *rivals, const struct rival *like)
{
    for (size_t i = 0; i < rivals->n; i++)
        if (rivals->all[i].kind == like->kind && rivals->all[i].id == like->id)
            return &rivals->all[i];
    if (rivals->n == RIVALS_MAX)
        return NULL;
    rivals->all[rivals->n] = *like;
    return &rivals->all[rivals->n++];
}

static int by_time(const void *a, const void *b)
{
    const struct rival *one = a, *other = b;
    return (one->cpu_s < other->cpu_s) - (one->cpu_s > other->cpu_s);
}

/* Workers in the same session or cgroup, of this job or another, forbid to lower its weight. */
void rivals_find(const struct checker *checker, size_t group, struct rivals *rivals)
{
    const struct view *view = checker->view;
    const struct check_group *one = &checker->groups[group];
    *rivals = (struct rivals){0};
    for (size_t i = 0; i < view->nprocesses; i++) {
        const struct view_process *process = &view->processes[i];
        bool is_own = checker->group_of[i] == (int)group;
        bool runs = !is_own && process->cpu_s >= seen_least * view->wall_s &&
                    rivals_runs_there(view, process, &one->cpus);
        if (!runs && !process->watched && !process->gpus)
            continue;
        struct rival like = weigh(view, one->lead, process), *rival;
        bool is_group = like.kind == RIVAL_AUTOGROUP || like.kind == RIVAL_CGROUP;
        if ((!is_group && (!runs || !may_change(view, process))) ||
            !(rival = find_rival(rivals, &like)))
            continue;
        rival->is_fixed |= is_group && !may_change(view, process);
        rival->weight = fmax(rival->weight, like.weight);
        if (runs)
            add_process(view, rival, process);
    }
    qsort(rivals->all, rivals->n, sizeof(rivals->all[0]), by_time);
}

double rivals_move(const struct view *view, struct rivals *rivals, const struct bitset *used,
                   char *command, size_t size)
{
    double moved_s = 0;
    for (size_t i = 0; i < rivals->n; i++)
        for (size_t p = 0; p < rivals->all[i].n; p++) {
            const struct view_process *process = rivals->all[i].processes[p];
            if (!may_change(view, process))
                continue;
            struct bitset free = view->masks[process->mask];
            bitset_andnot(&free, used);
            if (bitset_empty(&free) || !check_append_bind(view, process, 0, &free, command, size))
                continue;
            moved_s += process->cpu_s;
            rivals->changed++;
        }
    return moved_s;
}

static bool is_lowerable(const struct view *view, const struct rival *rival)
{
    return rival->kind != RIVAL_FIXED && !rival->is_fixed && rival->n &&
           rival->cpu_s >= matters_least * view->wall_s && is_heavy(rival);
}

/* Niceness is per thread; that of a process is its first thread's. */
static bool append_renice(const struct rival *rival, char *command, size_t size)
{
    bool fits = check_append(command, size, "renice -n 19 -p");
    for (size_t i = 0; i < rival->n && fits; i++) {
        const struct view_process *process = rival->processes[i];
        fits = process->threads > 1
                   ? check_append(command, size, " $(ls /proc/%d/task)", process->pid)
                   : check_append(command, size, " %d", process->pid);
    }
    return fits;
}

/* Anyone but root may change one autogroup each 100 ms. */
static bool append_autogroup(const struct view *view, const struct rival *rival, bool is_first,
                             char *command, size_t size)
{
    return check_append(command, size, "%secho 19 > /proc/%d/autogroup",
                        is_first || view->is_root ? "" : "sleep 0.2 && ", rival->processes[0]->pid);
}

/* The unit of systemd that the cgroup belongs to; NULL = none, or one of a user's own systemd. */
static const char *find_unit(const char *path)
{
    static const char *const ends[] = {".service", ".scope", ".slice"};
    const char *name = strrchr(path, '/') + 1;
    for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]) && !strstr(path, "/user@"); i++)
        if (strlen(name) > strlen(ends[i]) &&
            strcmp(name + strlen(name) - strlen(ends[i]), ends[i]) == 0)
            return name;
    return NULL;
}

static bool append_cgroup(const struct view *view, const struct rival *rival, char *command,
                          size_t size)
{
    const struct view_cgroup *cgroup = &view->cgroups[rival->id];
    const char *unit = find_unit(cgroup->path);
    if (unit)
        return check_append(command, size, "%ssystemctl set-property --runtime %s CPUWeight=1",
                            check_root(view), text_shell_word(unit));
    const char *path = str_fmt("%s/%s", cgroup->path, cgroup->v2 ? "cpu.weight" : "cpu.shares");
    return check_append(command, size, "echo %d | %stee %s", cgroup->v2 ? 1 : 10, check_root(view),
                        text_shell_word(path));
}

static bool append_rival(const struct view *view, const struct rival *rival, char *command,
                         size_t size)
{
    const bool is_first = !command[0];
    if (!is_first && !check_append(command, size, " && "))
        return false;
    return rival->kind == RIVAL_THREADS     ? append_renice(rival, command, size)
           : rival->kind == RIVAL_AUTOGROUP ? append_autogroup(view, rival, is_first, command, size)
                                            : append_cgroup(view, rival, command, size);
}

static void append_footnote(const struct view *view, const struct rival *rival, char *footnote,
                            size_t size)
{
    const struct view_process *busiest = rival->processes[0];
    if (rival->kind == RIVAL_AUTOGROUP)
        (void)check_append(footnote, size,
                           " %s (%d) runs in another session, so nice has no effect: the command "
                           "lowers that session.",
                           busiest->name, busiest->pid);
    else if (rival->kind == RIVAL_CGROUP)
        (void)check_append(footnote, size,
                           " %s (%d) runs in another cgroup, so nice has no effect: the command "
                           "lowers all of %.100s.",
                           busiest->name, busiest->pid, view->cgroups[rival->id].path);
}

/* Of threads, only those of the named processes. */
static double time_of(const struct rival *rival)
{
    double sum_s = 0;
    for (size_t i = 0; i < rival->n; i++)
        sum_s += rival->processes[i]->cpu_s;
    return rival->kind == RIVAL_THREADS ? sum_s : rival->cpu_s;
}

double rivals_lower(const struct view *view, struct rivals *rivals, char *footnote,
                    size_t footnote_size, char *command, size_t size)
{
    double freed_s = 0;
    for (size_t i = 0; i < rivals->n; i++) {
        const struct rival *rival = &rivals->all[i];
        const size_t used = strlen(command);
        if (!is_lowerable(view, rival))
            continue;
        if (!append_rival(view, rival, command, size)) {
            command[used] = '\0';
            continue;
        }
        append_footnote(view, rival, footnote, footnote_size);
        rivals->changed += rival->n;
        double now = lowered_weight(rival);
        freed_s += time_of(rival) * (1 - now / (now + rival->against));
    }
    return freed_s;
}
