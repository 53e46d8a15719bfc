/* Groups that wait for a CPU, and the causes. */
#include <math.h>
#include <stdlib.h>

#include "harness/doctor/checks/check_runtime.h"
#include "harness/doctor/checks/rivals.h"
#include "harness/lib/text.h"

/* The causes of a group's wait, as shares of its waiting time. */
struct blame {
    double self, others, quota, hypervisor;
    double others_s;                    /* time that others ran on its CPUs */
    const struct view_process *hogs[3]; /* other processes on its CPUs that ran most, sorted */
    size_t nhogs;
};

/*
 * Lower bound of the share of the wait that a quota causes. In a period in which the quota stopped
 * it, it used all of its quota, and would have waited as long with nothing else on its CPUs. The
 * time stopped is summed over CPUs, but waiting over threads, and a CPU may have many threads:
 * hence a lower bound.
 */
static double quota_share(const struct view *view, const struct view_process *process,
                          double wait_s)
{
    double most = 0;
    for (int i = process->cgroup[CGROUP_CPU]; i >= 0; i = view->cgroups[i].parent) {
        const struct view_cgroup *cgroup = &view->cgroups[i];
        double stopped = wait_s > 0 ? cgroup->throttled_s / wait_s : 0;
        most = fmax(most, fmax(stopped, view_throttled_share(cgroup)));
    }
    return fmin(most, 1);
}

static void find_hogs(const struct checker *checker, size_t group, struct blame *blame)
{
    enum { HOGS = sizeof(blame->hogs) / sizeof(blame->hogs[0]) };
    const struct view *view = checker->view;
    for (size_t i = 0; i < view->nprocesses; i++) {
        const struct view_process *process = &view->processes[i];
        if (checker->group_of[i] == (int)group || process->cpu_s < 0.05 * view->wall_s ||
            !rivals_runs_there(view, process, &checker->groups[group].cpus))
            continue;
        size_t at = blame->nhogs < HOGS ? blame->nhogs++ : HOGS;
        for (; at > 0 && blame->hogs[at - 1]->cpu_s < process->cpu_s; at--)
            if (at < HOGS)
                blame->hogs[at] = blame->hogs[at - 1];
        if (at < HOGS)
            blame->hogs[at] = process;
    }
}

/* Time that other watched groups ran on its CPUs. */
static double other_groups_s(const struct checker *checker, size_t group)
{
    double sum = 0;
    for (size_t g = 0; g < checker->ngroups; g++)
        if (g != group && bitset_intersects(&checker->groups[group].cpus, &checker->groups[g].cpus))
            sum += checker->groups[g].oncpu_s;
    return sum;
}

/*
 * While a group waits, something else has its CPUs. The share of a quota is known; the rest is
 * split by the use of its CPUs: itself, others, the hypervisor. A thread does not wait for itself:
 * of n runnable threads, each waits for n - 1. n is the number of threads that want to run most of
 * the time, or the average number that want to run, if larger. CPUs that the system does not list,
 * as under lxcfs, have no times: then the watched groups count as the others.
 */
static void find_blame(const struct checker *checker, size_t group, struct blame *blame)
{
    const struct check_group *one = &checker->groups[group];
    const struct view *view = checker->view;
    *blame = (struct blame){0};
    double busy_s = view_busy_s(view, &one->cpus), stolen_s = view_steal_s(view, &one->cpus);
    double n = fmax(one->nrunnable, (one->oncpu_s + one->wait_s) / view->wall_s);
    double self_s = n > 1 ? one->oncpu_s * (1 - 1 / n) : 0;
    double others_s = busy_s > 0 ? fmax(busy_s - one->oncpu_s, 0) : other_groups_s(checker, group);
    blame->others_s = others_s;
    double all_s = self_s + others_s + stolen_s;
    double rest = 1 - quota_share(view, one->lead, one->wait_s);
    blame->quota = 1 - rest;
    blame->self = all_s > 0 ? rest * self_s / all_s : 0;
    blame->others = all_s > 0 ? rest * others_s / all_s : 0;
    blame->hypervisor = all_s > 0 ? rest * stolen_s / all_s : 0;
    find_hogs(checker, group, blame);
}

static const char *find_main_cause(const struct blame *blame)
{
    double most = fmax(fmax(blame->self, blame->others), fmax(blame->quota, blame->hypervisor));
    return most <= 0               ? "of unknown causes"
           : most == blame->others ? "of other processes on its CPUs"
           : most == blame->quota  ? "of the quota of its cgroup"
           : most == blame->self   ? "it has more threads than CPUs"
                                   : "of the hypervisor, which runs other guests on them";
}

static bool is_main_cause_own(const struct blame *blame)
{
    return blame->self > fmax(blame->others, fmax(blame->quota, blame->hypervisor));
}

/* How others give way: the CPU time that they lose, and whether they stay on these CPUs. */
struct relief {
    double freed_s;
    bool stay;
};

/*
 * The gain if others give way to a group. At least: those that remain get their part of the time,
 * and the group's own sleeping stays. Where others stay, no CPU is idle: a thread that wakes up
 * waits for a slice of theirs to end, or meets a thread of its own. Half of the wait remained in
 * the worst case measured, beside four burners.
 */
static struct check_gain find_gain(const struct checker *checker, const struct check_group *one,
                                   const struct blame *blame, const struct relief *relief)
{
    static const double sure = 0.5;
    const double freed_s = relief->freed_s;
    const double wall_s = checker->view->wall_s;
    double more_s = fmin(blame->others * one->wait_s, freed_s);
    double rest_s = fmax(blame->others_s - freed_s, 0);
    double wanted = (one->oncpu_s + one->wait_s) / wall_s, threads = fmax(ceil(wanted), 1);
    bool wakes = threads > 1 || wanted < 0.95;
    double least_s =
        more_s * one->oncpu_s / (one->oncpu_s + rest_s) * (relief->stay && wakes ? sure : 1);
    struct check_gain gain =
        check_gain_of_more(one->oncpu_s, more_s, check_team_waits(checker->view, one->lead));
    if (!gain.at_least) {
        gain.most = gain.times;
        gain.times = 1 / (1 - least_s / (threads * wall_s));
    }
    return gain;
}

const char *check_format_cause(const struct checker *checker, size_t group)
{
    struct blame blame;
    find_blame(checker, group, &blame);
    double most = fmax(fmax(blame.self, blame.others), fmax(blame.quota, blame.hypervisor));
    if (most == blame.others && blame.nhogs)
        return str_fmt("%d %s", (int)blame.hogs[0]->pid, blame.hogs[0]->name);
    return most == blame.others  ? "others"
           : most == blame.quota ? "its quota"
           : most == blame.self  ? "itself"
                                 : "the hypervisor";
}

static void append_touched(const struct view_process *hog, size_t n, char *footnote, size_t size)
{
    char more[32] = "";
    if (n > 1)
        text_set(more, " and %zu more", n - 1);
    (void)check_append(footnote, size,
                       " The command touches %s (%d)%s, which %s not part of this job.", hog->name,
                       hog->pid, more, n > 1 ? "are" : "is");
}

/*
 * Suggests a command against others on the group's CPUs that are not watched: moves them to CPUs of
 * their masks that no watched group uses, or else lowers their weight. If the busiest is bound to
 * these CPUs or uses a GPU, it is probably a worker too, such as another rank of the job, and left
 * alone. Other checks have commands against watched processes.
 */
static struct relief suggest(const struct checker *checker, size_t group, const struct blame *blame,
                             char *footnote, size_t footnote_size, char *command, size_t size)
{
    const struct view *view = checker->view;
    const struct view_process *hog = blame->nhogs ? blame->hogs[0] : NULL;
    struct rivals rivals;
    struct relief relief = {0};
    struct bitset used = {0}, free, all;
    if (!hog || hog->watched || hog->kernel || hog->gpus || hog->mask < 0 ||
        blame->others <= fmax(blame->self, blame->quota))
        return relief;
    view_allowed_cpus(view, hog, &all);
    bitset_and(&all, &view->online);
    for (size_t g = 0; g < checker->ngroups; g++)
        bitset_or(&used, &checker->groups[g].cpus);
    free = view->masks[hog->mask];
    bitset_andnot(&free, &used);
    bool is_bound = !bitset_subset(&all, &view->masks[hog->mask]);
    if ((bitset_empty(&free) && is_bound) || !check_may_touch(view, hog, footnote, footnote_size))
        return relief;
    rivals_find(checker, group, &rivals);
    if (!bitset_empty(&free))
        relief.freed_s = rivals_move(view, &rivals, &used, command, size);
    relief.stay = !command[0];
    if (relief.stay)
        relief.freed_s = rivals_lower(view, &rivals, footnote, footnote_size, command, size);
    if (rivals.changed)
        append_touched(hog, rivals.changed, footnote, footnote_size);
    return relief;
}

static void report_queue(struct checker *checker, size_t group)
{
    const struct check_group *one = &checker->groups[group];
    struct blame blame;
    const char *hogs = "";
    char command[COMMAND_MAX] = "", footnote[FOOTNOTE_MAX] = "";
    struct relief relief = {0};
    double share = check_wait_share(one->oncpu_s, one->wait_s);
    find_blame(checker, group, &blame);
    for (size_t i = 0; i < blame.nhogs; i++)
        str_add(&hogs, "", "%s%s (%d%s)", i ? ", " : "; the busiest others: ", blame.hogs[i]->name,
                (int)blame.hogs[i]->pid, blame.hogs[i]->realtime ? ", real-time" : "");
    const char *evidence = str_fmt("own threads %s, others %s, quota %s, hypervisor %s",
                                   text_percent(blame.self), text_percent(blame.others),
                                   text_percent(blame.quota), text_percent(blame.hypervisor));
    if (other_groups_s(checker, group) < (blame.nhogs ? blame.hogs[0]->cpu_s : 0))
        relief =
            suggest(checker, group, &blame, footnote, sizeof(footnote), command, sizeof(command));
    const bool is_own = is_main_cause_own(&blame);
    const struct check_gain alone =
        find_gain(checker, one, &blame, &(struct relief){.freed_s = blame.others_s});
    if (!command[0] && blame.others > fmax(blame.self, blame.quota) && isfinite(alone.times))
        (void)check_append(footnote, sizeof(footnote), " Alone on its CPUs it would be %s as fast.",
                           check_format_gain(&alone));
    if (checker->has_cause[group] && !command[0])
        return;
    const struct finding_parts parts = {
        .severity = is_own || checker->has_cause[group] ? FINDING_NOTE : FINDING_BAD,
        .cost = share,
        .gain = command[0] ? find_gain(checker, one, &blame, &relief) : (struct check_gain){0},
        .tail = footnote,
        .who = &one->lead,
        .nwho = 1,
        .evidence = evidence,
        .command = command};
    checker_report(
        checker, &parts,
        "it waits in the run queue for %s of the time that it wants to run, mostly because "
        "%s (%s%s).%s",
        text_percent(share), find_main_cause(&blame), evidence, hogs,
        is_own ? " If its threads do not wait for each other, that is no loss." : "");
}

/* Stolen time is not waiting: the task seems to run. */
static void report_steal(struct checker *checker)
{
    const struct view *view = checker->view;
    static const double share_most = 0.1;
    struct bitset cpus = {0};
    for (size_t g = 0; g < checker->ngroups; g++)
        bitset_or(&cpus, &checker->groups[g].cpus);
    double stolen_s = view_steal_s(view, &cpus), busy_s = view_busy_s(view, &cpus);
    double share = check_wait_share(busy_s, stolen_s);
    if (share < share_most || stolen_s < share_most * view->wall_s)
        return;
    const char *evidence =
        str_fmt("steal is %s of the time that these CPUs were needed", text_percent(share));
    const struct finding_parts parts = {
        .severity = FINDING_BAD, .cost = share, .subject = "hypervisor", .evidence = evidence};
    checker_report(
        checker, &parts,
        "it runs others on the CPUs of this machine: %s. Nothing here fixes that; ask for "
        "dedicated CPUs.",
        evidence);
}

void check_queue(struct checker *checker)
{
    for (size_t g = 0; g < checker->ngroups; g++)
        if (check_waits(checker->view, checker->groups[g].oncpu_s, checker->groups[g].wait_s))
            report_queue(checker, g);
    if (checker->ngroups)
        report_steal(checker);
}
