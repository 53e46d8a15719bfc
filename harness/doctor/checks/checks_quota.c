#include <math.h>

#include "harness/doctor/checks/check.h"
#include "harness/doctor/checks/check_launch.h"
#include "harness/doctor/checks/check_runtime.h"
#include "harness/doctor/checks/cpu_allocator.h"
#include "harness/doctor/reader/host.h"
#include "harness/lib/text.h"

/* Quotas of CPU time: teams larger than the quota, and cgroups that are throttled. */

/*
 * Counts the threads that share the work, without helper threads. A quota leaves each thread little
 * CPU time, so threads are compared with the busiest one.
 */
static unsigned count_team(const struct view *view, const struct view_process *process)
{
    double most_s = 0.01 * view->wall_s;
    unsigned n = 0;
    for (size_t t = 0; t < process->ntasks; t++)
        most_s = fmax(most_s, process->tasks[t].oncpu_s);
    for (size_t t = 0; t < process->ntasks; t++)
        n += process->tasks[t].oncpu_s >= 0.3 * most_s;
    return n;
}

/* True if it is set, or sets itself, to what the quota grants: a helper or two may be busy too. */
static bool is_sized(const struct view_process *process, const struct check_team *team,
                     unsigned threads, double quota)
{
    const unsigned set = check_team_setting(process, team);
    const bool heeds = set ? set <= ceil(quota) : team->runtime && team->runtime->heeds_quota;
    return heeds && threads <= fmax(ceil(quota), 2) + 1;
}

/* Writes for how many threads it was started. */
static const char *format_setting(const struct view_process *process, const struct check_team *team)
{
    const unsigned set = check_team_setting(process, team);
    const char *option = set ? team->runtime->option : NULL;
    if (set)
        return str_fmt(" It was started with %s%s%u.", option ? option : team->runtime->variable,
                       option ? "" : "=", set);
    return "";
}

/* Unless threads wait for each other, fewer threads do the same work with the same quota. */
static void report_team(struct checker *checker, const struct view_process *process,
                        const struct check_team *team, unsigned threads, double quota,
                        const struct view_cgroup *cgroup)
{
    const unsigned fit = (unsigned)ceil(quota);
    const double spun = view_spin_share(process);
    struct launch launch = {0};
    struct env_changes env_changes;
    const bool is_loss = check_team_waits(checker->view, process);
    const struct check_spin spin = {.share = spun,
                                    .samples = process->samples + process->missing_samples};
    const char *runtime = check_team_format(team);
    const char *set = format_setting(process, team);
    check_team_set(process, team, fit, &env_changes);
    launch_write(checker->view, process, &env_changes, NULL, fit, &launch);
    const char *evidence =
        str_fmt("%u busy threads, %.3g CPUs granted by %.80s", threads, quota, cgroup->path);
    const char *tail = str_fmt(
        "%s%s%s",
        is_loss || isnan(spun) ? ""
                               : " Then it does about the same work or more, with shorter pauses.",
        launch.how[0] ? " " : "", launch.how);
    const bool is_cured = launch.command[0] && view_is_throttled(checker->view, process);
    const struct finding_parts parts = {
        .severity = is_loss || is_cured ? FINDING_BAD : FINDING_NOTE,
        .cure = CURE_RESTART,
        .cost = (threads - quota) / threads,
        .gain = isnan(spun) || is_loss ? check_gain_of_fewer(&spin) : (struct check_gain){0},
        .tail = tail,
        .who = &process,
        .nwho = 1,
        .evidence = evidence,
        .command = launch.command,
        .env_changes = &env_changes};
    checker_report(
        checker, &parts,
        "it has more threads than its cgroup's quota: %s. Together they use up the period, and "
        "then all are stopped; they spin for %s of their CPU time. %s.%s Start it with %u.",
        evidence, isnan(spun) ? "an unknown share" : text_percent(spun), runtime, set, fit);
    const int group = checker->group_of[process - checker->view->processes];
    if (is_cured && group >= 0)
        checker->has_cause[group] = true;
}

void check_team_over_quota(struct checker *checker)
{
    const struct view *view = checker->view;
    for (size_t i = 0; i < view->nprocesses; i++) {
        const struct view_process *process = &view->processes[i];
        int at;
        if (!process->watched)
            continue;
        const double quota = view_quota(view, process, &at), granted = ceil(quota);
        const struct check_team team = check_team_of(view, process);
        const unsigned threads = count_team(view, process);
        /* Only a team that uses up its quota loses: idle threads cost nothing. */
        if (at >= 0 && threads > granted && threads > 1 &&
            view_oncpu_s(process) >= 0.5 * quota * view->wall_s &&
            view->cgroups[at].throttled_periods > 0 && !is_sized(process, &team, threads, quota))
            report_team(checker, process, &team, threads, quota, &view->cgroups[at]);
    }
}

/* Writes the command that lifts the quota, for cgroup v1 or v2. */
static void write_lift(const struct view *view, const struct view_cgroup *cgroup, char *command,
                       size_t size)
{
    const char *path = str_fmt("%s/%s", cgroup->path, cgroup->v2 ? "cpu.max" : "cpu.cfs_quota_us");
    command[0] = '\0';
    (void)check_append(command, size, "echo %s | %stee %s", cgroup->v2 ? "max" : "-1",
                       check_root(view), text_shell_word(path));
}

/* True if a finding about one of them has a command that fits it to its quota. */
static bool is_fitted(const struct checker *checker, const struct view_process *const *who,
                      size_t n)
{
    for (size_t f = 0; f < checker->diagnosis->n; f++) {
        const struct found *found = &checker->diagnosis->all[f];
        if (found->check->run != check_team_over_quota || !found->finding.command[0])
            continue;
        for (size_t i = 0; i < n; i++)
            if (who[i]->pid == found->pids[0])
                return true;
    }
    return false;
}

void check_throttled(struct checker *checker)
{
    static const double least_share = 0.05;
    const struct view *view = checker->view;
    for (size_t c = 0; c < view->ncgroups; c++) {
        const struct view_cgroup *cgroup = &view->cgroups[c];
        const struct view_process *who[FOUND_PIDS_MAX];
        size_t n = 0;
        char command[COMMAND_MAX];
        const char *tail;
        struct bitset cpus = {0};
        bool is_team_waiting = false;
        double oncpu_s = 0, wait_s = 0, share = cgroup->throttled_periods / cgroup->periods;
        if (!(cgroup->throttled_periods > 1 && share >= least_share) || isnan(cgroup->quota_cpus))
            continue;
        for (size_t i = 0; i < view->nprocesses; i++)
            if (view->processes[i].watched && view->processes[i].cpu_s > 0 &&
                view_is_in(view, &view->processes[i], CGROUP_CPU, c)) {
                oncpu_s += view->processes[i].cpu_s;
                wait_s += view_wait_s(&view->processes[i]);
                view_add_cpus(view, &view->processes[i], &cpus);
                is_team_waiting |= check_team_waits(view, &view->processes[i]);
                if (n < FOUND_PIDS_MAX)
                    who[n++] = &view->processes[i];
            }
        if (!n)
            continue;
        const char *evidence =
            str_fmt("in %s of its periods, %.1f s in all, by the %.3g CPUs that %.80s grants",
                    text_percent(share), cgroup->throttled_s, cgroup->quota_cpus, cgroup->path);
        write_lift(view, cgroup, command, sizeof(command));
        struct finding_parts parts = finding_parts_bad(
            check_wait_share(oncpu_s, cgroup->throttled_s), who, n, evidence, command);
        parts.cure = CURE_ADMIN;
        if (is_fitted(checker, who, n)) {
            tail = str_fmt(" To lift it is up to its administrator: %s", command);
            parts.severity = FINDING_NOTE;
            parts.command = NULL;
            parts.tail = tail;
        } else
            parts.gain = check_gain_of_idle(view, &cpus, oncpu_s, wait_s, is_team_waiting);
        checker_report(checker, &parts, "stopped by a quota of CPU time: %s.", evidence);
    }
}

/*
 * Throughput of a core with two busy threads, relative to one: Intel, "Hyper-Threading Technology".
 */
static const double siblings_do = 1.3;

/* True if its mask is not all CPUs. */
static bool is_bound(const struct checker *checker, size_t group)
{
    return !bitset_subset(&checker->view->online, &checker->groups[group].cpus);
}

static double use_of(const struct checker *checker, size_t group)
{
    const struct check_group *one = &checker->groups[group];
    unsigned cpus = bitset_count(&one->cpus);
    return cpus ? fmin(one->oncpu_s / checker->view->wall_s / cpus, 1) : 0;
}

/* Adds the CPUs of `of` whose core also has a CPU of `with`. */
static void find_beside(const struct topo *topo, const struct bitset *of, const struct bitset *with,
                        struct bitset *found)
{
    struct bitset core;
    for (unsigned at = 0; topo_next_core(topo, &at, &core);)
        if (bitset_intersects(&core, with)) {
            bitset_and(&core, of);
            bitset_or(found, &core);
        }
}

/* The first CPUs of cores in the group's home that no worker may use. */
static void find_free_cores(const struct checker *checker, size_t group, struct bitset *cpus)
{
    const struct topo *topo = host_topo(checker->view);
    struct bitset used = checker->cpus_given, taken = {0}, home;
    allocate_home(checker, group, &home);
    for (size_t g = 0; g < checker->ngroups; g++)
        bitset_or(&used, &checker->groups[g].cpus);
    find_beside(topo, &home, &used, &taken);
    for (unsigned i = 0; i < topo->ncpus; i++)
        if (topo->cpus[i].smt == 0 && bitset_test(&home, topo->cpus[i].os_cpu) &&
            !bitset_test(&taken, topo->cpus[i].os_cpu))
            bitset_set(cpus, topo->cpus[i].os_cpu);
}

/* Its CPUs, with shared ones replaced by free ones, which are then given. */
static struct bitset unshared(struct checker *checker, size_t group, const struct bitset *shared,
                              const struct bitset *free_cores)
{
    struct bitset mask = checker->groups[group].cpus;
    unsigned n = bitset_count(shared), added = 0;
    bitset_andnot(&mask, shared);
    for (int cpu = bitset_next(free_cores, 0); cpu >= 0 && added < n;
         cpu = bitset_next(free_cores, (unsigned)cpu + 1), added++) {
        bitset_set(&mask, (unsigned)cpu);
        bitset_set(&checker->cpus_given, (unsigned)cpu);
    }
    return mask;
}

static void report_siblings(struct checker *checker, size_t a, size_t b,
                            const struct bitset *shared)
{
    const struct check_group *one = &checker->groups[a], *other = &checker->groups[b];
    const struct view_process *who[] = {one->lead, other->lead};
    struct bitset free_cores = {0};
    char command[420] = "";
    unsigned n = bitset_count(shared);
    double lost = (2 - siblings_do) * n * use_of(checker, a) * use_of(checker, b);
    double share = lost * checker->view->wall_s / (one->oncpu_s + other->oncpu_s);
    find_free_cores(checker, b, &free_cores);
    if (bitset_empty(&free_cores) || share < HOST_LEAST)
        return;
    const struct bitset mask = unshared(checker, b, shared, &free_cores);
    if (!check_append_taskset(checker, b, &mask, command, sizeof(command)))
        command[0] = '\0';
    const char *evidence =
        str_fmt("siblings: CPUs %s of %d", bitset_format(shared), (int)other->lead->pid);
    const struct finding_parts parts =
        finding_parts_bind(fmin(share, 1), who, 2, evidence, command);
    checker_report(checker, &parts,
                   "they share %u core%s as SMT siblings, though %u core%s no worker (%s).", n,
                   n == 1 ? "" : "s", bitset_count(&free_cores),
                   bitset_count(&free_cores) == 1 ? " has" : "s have", evidence);
}

/* Reports workers bound to different CPUs of one core while other cores are free. */
void check_siblings(struct checker *checker)
{
    const struct topo *topo = host_topo(checker->view);
    for (size_t a = 0; topo && a < checker->ngroups; a++)
        for (size_t b = a + 1; b < checker->ngroups && is_bound(checker, a); b++) {
            struct bitset shared = {0};
            if (!is_bound(checker, b) ||
                bitset_intersects(&checker->groups[a].cpus, &checker->groups[b].cpus))
                continue;
            find_beside(topo, &checker->groups[b].cpus, &checker->groups[a].cpus, &shared);
            if (!bitset_empty(&shared))
                report_siblings(checker, a, b, &shared);
        }
}
