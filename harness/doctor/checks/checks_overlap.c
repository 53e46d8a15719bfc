/* Processes that share CPUs, and the CPUs that they could get. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/doctor/checks/check_runtime.h"
#include "harness/doctor/checks/cpu_allocator.h"
#include "harness/lib/text.h"

size_t check_find_overlapping(const struct checker *checker, size_t first, bool *in)
{
    size_t n = 1;
    bool grew = true;
    in[first] = true;
    while (grew) {
        grew = false;
        for (size_t a = 0; a < checker->ngroups; a++)
            for (size_t b = 0; in[a] && b < checker->ngroups; b++)
                if (!in[b] &&
                    bitset_intersects(&checker->groups[a].cpus, &checker->groups[b].cpus)) {
                    in[b] = grew = true;
                    n++;
                }
    }
    return n;
}

/* *common: CPUs that all marked groups may use. Returns the CPUs near what any of them uses. */
static struct bitset find_common(const struct checker *checker, const bool *in,
                                 struct bitset *common)
{
    bool any = false;
    struct bitset homes = {0};
    *common = (struct bitset){0};
    for (size_t g = 0; g < checker->ngroups; g++) {
        struct bitset allowed, home;
        if (!in[g])
            continue;
        allocate_home(checker, g, &home);
        bitset_or(&homes, &home);
        view_allowed_cpus(checker->view, checker->groups[g].lead, &allowed);
        if (any)
            bitset_and(common, &allowed);
        else
            *common = allowed;
        any = true;
    }
    return homes;
}

unsigned check_find_pool(const struct checker *checker, const bool *in, struct bitset *pool)
{
    const struct bitset homes = find_common(checker, in, pool);
    const unsigned most = bitset_count(pool);
    bitset_and(pool, &homes);
    bitset_andnot(pool, &checker->cpus_given);
    for (size_t g = 0; g < checker->ngroups; g++)
        if (!in[g])
            bitset_andnot(pool, &checker->groups[g].cpus);
    return most;
}

void check_find_idle(const struct checker *checker, const bool *in, struct bitset *idle)
{
    static const double least = 0.8;
    const struct view *view = checker->view;
    const struct bitset homes = find_common(checker, in, idle);
    bitset_and(idle, &view->online);
    bitset_and(idle, &homes);
    bitset_andnot(idle, &checker->cpus_given);
    for (size_t g = 0; g < checker->ngroups; g++)
        bitset_andnot(idle, &checker->groups[g].cpus);
    for (int cpu = bitset_next(idle, 0); cpu >= 0; cpu = bitset_next(idle, (unsigned)cpu + 1)) {
        struct bitset one = {0};
        bitset_set(&one, (unsigned)cpu);
        if (view_idle_s(view, &one) < least * view->wall_s)
            bitset_andnot(idle, &one);
    }
}

size_t check_allocate(struct checker *checker, const bool *in, const struct bitset *pool,
                      size_t *groups, struct bitset *slices)
{
    size_t n = 0;
    for (size_t g = 0; g < checker->ngroups; g++) {
        if (in[g] && n == ALLOCATE_MOST)
            return 0;
        if (in[g])
            groups[n++] = g;
    }
    return n && allocate_slices(checker, groups, n, pool, slices) ? n : 0;
}

bool check_write_slices(struct checker *checker, const size_t *groups, size_t n,
                        const struct bitset *slices, char *command, size_t size)
{
    bool fits = n > 0;
    for (size_t i = 0; i < n && fits; i++)
        fits = check_append_taskset(checker, groups[i], &slices[i], command, size);
    return fits;
}

/* Writes the command that lets all marked groups run on all these CPUs. */
static bool write_wide(struct checker *checker, const bool *in, const struct bitset *cpus,
                       char *command, size_t size)
{
    bool fits = true;
    for (size_t g = 0; g < checker->ngroups && fits; g++)
        if (in[g])
            fits = check_append_taskset(checker, g, cpus, command, size);
    bitset_or(&checker->cpus_given, cpus);
    return fits;
}

/* Sums over some groups. */
struct crowd {
    size_t n, nleads;
    const struct view_process *leads[FOUND_PIDS_MAX];
    struct bitset cpus;
    double oncpu_s, wait_s;
};

static struct crowd sum_up(const struct checker *checker, const bool *in)
{
    struct crowd crowd = {0};
    for (size_t g = 0; g < checker->ngroups; g++) {
        const struct check_group *group = &checker->groups[g];
        if (!in[g])
            continue;
        crowd.n++;
        if (crowd.nleads < FOUND_PIDS_MAX)
            crowd.leads[crowd.nleads++] = group->lead;
        crowd.oncpu_s += group->oncpu_s;
        crowd.wait_s += group->wait_s;
        bitset_or(&crowd.cpus, &group->cpus);
    }
    return crowd;
}

bool check_teams_wait(const struct checker *checker, const bool *in)
{
    bool wait = false;
    for (size_t i = 0; i < checker->view->nprocesses; i++)
        if (checker->group_of[i] >= 0 && in[checker->group_of[i]])
            wait |= check_team_waits(checker->view, &checker->view->processes[i]);
    return wait;
}

/*
 * What fewer processes at a time would do. The total stays the same only if none waits for another
 * on a CPU, which samples of all of them have to show.
 */
static const char *format_fewer(const struct checker *checker, const bool *in)
{
    struct view_process sum = {0}; /* of samples */
    bool is_sampled = true, waits = false;
    for (size_t i = 0; i < checker->view->nprocesses; i++) {
        const struct view_process *process = &checker->view->processes[i];
        if (checker->group_of[i] < 0 || !in[checker->group_of[i]])
            continue;
        is_sampled &= process->samples > 0;
        waits |= view_spin_share(process) >= check_spinning_least;
        sum.samples += process->samples;
        sum.spins += process->spins;
        sum.calls += process->calls;
        sum.missing_samples += process->missing_samples;
    }
    const double spun = view_spin_share(&sum);
    if (waits || spun >= check_spinning_least)
        return str_fmt("; there are fewer CPUs than processes, which spin or yield for %s of their "
                       "CPU time. Whether fewer at a time do more in total is not known",
                       text_percent(spun));
    if (is_sampled && !isnan(spun))
        return "; there are fewer CPUs than processes. Fewer processes at a time are faster "
               "each, with the same total: samples show no spinning";
    return "; there are fewer CPUs than processes. No samples show whether they wait "
           "for each other, so the total of fewer is not known";
}

/*
 * If a CPU idles that they could use, the gain is the time of that CPU. If none idles, their CPUs
 * are always busy, and another distribution of them does not add CPU time. Processes that feed each
 * other by pipes wait now and then beside CPUs that are idle now and then: they lack nothing.
 */
static void report_overlap(struct checker *checker, const bool *in)
{
    static const double needs_least = 0.9, waits_least = 0.3;
    char command[COMMAND_MAX] = "";
    const char *list;
    struct bitset pool = {0}, idle = {0}, slices[ALLOCATE_MOST];
    size_t groups[ALLOCATE_MOST];
    const struct crowd crowd = sum_up(checker, in);
    const double wall_s = checker->view->wall_s;
    const unsigned most = check_find_pool(checker, in, &pool);
    check_find_idle(checker, in, &idle);
    const unsigned room = bitset_count(&crowd.cpus) + bitset_count(&idle);
    const bool has_idle = !bitset_empty(&idle);
    const double more_s = fmin(crowd.wait_s, room * wall_s - crowd.oncpu_s);
    const char *idle_text = has_idle ? str_fmt(" while CPU %.60s idles", bitset_format(&idle)) : "";
    const size_t n = check_allocate(checker, in, &pool, groups, slices);
    bool fits = check_write_slices(checker, groups, n, slices, command, sizeof(command));
    if (!fits && has_idle) {
        command[0] = '\0';
        bitset_or(&idle, &crowd.cpus);
        fits = write_wide(checker, in, &idle, command, sizeof(command));
    }
    list = bitset_format(&crowd.cpus);
    double share = check_wait_share(crowd.oncpu_s, crowd.wait_s);
    const double needs = (crowd.oncpu_s + crowd.wait_s) / wall_s;
    const unsigned ncpus = (unsigned)bitset_count(&crowd.cpus);
    const char *evidence =
        str_fmt("they need %.1f of the %u CPUs %.60s, and waited %s of that time", needs, ncpus,
                list, text_percent(share));
    const struct finding_parts parts = {
        .severity = has_idle ? FINDING_BAD : FINDING_NOTE,
        .cure = CURE_BIND,
        .cost = share,
        .gain = has_idle ? check_gain_of_more(crowd.oncpu_s, more_s, check_teams_wait(checker, in))
                         : (struct check_gain){0},
        .who = crowd.leads,
        .nwho = crowd.nleads,
        .evidence = evidence,
        .command = fits ? command : ""};
    const char *fix_text = has_idle         ? "; let them use it"
                           : most < crowd.n ? format_fewer(checker, in)
                                            : "; each could have its own. No CPU idles, so the "
                                              "total gain is not known";
    if (has_idle || needs >= needs_least * ncpus || share >= waits_least)
        checker_report(checker, &parts, "%zu busy processes share CPUs%s: %s%s.", crowd.n,
                       idle_text, evidence, fix_text);
    for (size_t g = 0; g < checker->ngroups; g++)
        checker->has_cause[g] |= in[g];
}

/* True if other groups on its CPUs ran for at least 20% of the time that it waited; or of the time
 * that it ran, if that is less, as then further processes made it wait too. */
static bool is_kept_waiting(const struct checker *checker, size_t group)
{
    const struct check_group *one = &checker->groups[group];
    double others_s = 0;
    if (!check_waits(checker->view, one->oncpu_s, one->wait_s) ||
        view_is_throttled(checker->view, one->lead))
        return false;
    for (size_t g = 0; g < checker->ngroups; g++)
        if (g != group && bitset_intersects(&one->cpus, &checker->groups[g].cpus))
            others_s += checker->groups[g].oncpu_s;
    return others_s >= 0.2 * fmin(one->wait_s, one->oncpu_s);
}

void check_overlap(struct checker *checker)
{
    bool *in = calloc(checker->ngroups + 1, sizeof(*in)),
         *done = calloc(checker->ngroups + 1, sizeof(*done));
    for (size_t g = 0; in && done && g < checker->ngroups; g++) {
        bool waits = false;
        if (done[g])
            continue;
        memset(in, 0, checker->ngroups * sizeof(*in));
        size_t n = check_find_overlapping(checker, g, in);
        for (size_t i = 0; i < checker->ngroups; i++) {
            done[i] = done[i] || in[i];
            waits = waits || (in[i] && !checker->has_cause[i] && is_kept_waiting(checker, i));
        }
        if (n > 1 && waits)
            report_overlap(checker, in);
    }
    free(in);
    free(done);
}
