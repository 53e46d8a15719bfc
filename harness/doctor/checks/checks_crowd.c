/*
 * Teams with more threads than CPUs, and masks that are too narrow.
 *
 * More threads than CPUs are no loss by themselves: computing threads make progress whichever of
 * them has the CPU. Threads that wait for each other on a CPU lose, as teams do at barriers: all
 * spinning is lost until the awaited thread gets a CPU. So the checks use samples of what threads
 * do (samples.c), or, without samples, the known behaviour of their runtime.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/doctor/checks/check_launch.h"
#include "harness/doctor/checks/check_runtime.h"
#include "harness/doctor/checks/cpu_allocator.h"
#include "harness/lib/text.h"

/* CPUs wanted per existing CPU: below this there is hardly a queue. */
static const double crowded = 1.25;
/*
 * If samples show a loss by spinning, this share of queued time is enough: a team of 16 beside four
 * busy threads on 16 CPUs slept so often that all wanted 15.3 CPUs, and ran at 1/18 of its speed.
 */
static const double queued_spinning = 0.05;
/*
 * Callers of one pool that spins for this share: the cause is a fact, though what one thread a call
 * brings is not known. Four callers on 16 CPUs spun for 54% and gained 2.1x, while their computing
 * alone would have filled seven CPUs: small products cost more on many CPUs.
 */
static const double spinning_much = 0.4;

/*
 * Groups that share CPUs, and their teams. A process whose samples show no spinning counts with the
 * others: its number of threads is no loss, but they take CPUs. So does one with too few samples
 * of a kind that does not spin: others left it hardly any CPU time.
 */
struct teams {
    size_t ngroups, nwho, nstopped; /* stopped: by a quota, which checks_quota.c judges */
    const struct view_process *who[FOUND_PIDS_MAX]; /* processes with a team */
    struct check_team team[FOUND_PIDS_MAX];
    unsigned nprocesses, nothers; /* processes with a team; others with a thread that wants a CPU */
    unsigned npools;              /* teams; more than processes where pools are nested */
    unsigned nthreads, most;      /* threads that want a CPU; size of the largest team */
    unsigned threads_of_others;   /* of nthreads */
    struct bitset cpus;
    double wanted; /* CPUs that they wanted */
    double queued; /* share of `wanted` that was spent waiting */
    unsigned room; /* CPUs that they may use together, plus idle ones */
    double others; /* CPUs of these that other processes use: a spinning team waits for them */
    unsigned each; /* threads per team that fit the CPUs left and the quota */
    double ran;    /* CPUs used by teams */
    double spun_s, sampled_s; /* CPU time spinning, and in all, of sampled teams */
    unsigned samples;
    bool spin_by_kind;
    size_t nslices, groups[ALLOCATE_MOST]; /* groups and slices if they were pinned */
    struct bitset slices[ALLOCATE_MOST];
};

static void add_process(const struct view *view, const struct view_process *process,
                        struct teams *teams)
{
    const struct check_team team = check_team_of(view, process);
    const double oncpu_s = view_oncpu_s(process), spun = view_spin_share(process);
    teams->nthreads += team.threads;
    const bool is_unclear = isnan(spun) && process->samples && !check_team_spins(process, &team);
    if (team.threads < 2 || spun < check_spinning_least || is_unclear) {
        teams->nothers += team.threads > 0;
        teams->threads_of_others += team.threads;
        return;
    }
    teams->nprocesses++;
    teams->npools += team.pools;
    teams->ran += oncpu_s / view->wall_s;
    teams->most = team.threads > teams->most ? team.threads : teams->most;
    teams->spin_by_kind |= check_team_spins(process, &team);
    if (!isnan(spun)) {
        teams->sampled_s += oncpu_s;
        teams->spun_s += spun * oncpu_s;
        teams->samples += process->samples + process->missing_samples;
    }
    if (teams->nwho < FOUND_PIDS_MAX) {
        teams->team[teams->nwho] = team;
        teams->who[teams->nwho++] = process;
    }
}

static bool are_nested(const struct teams *teams)
{
    return teams->npools > teams->nprocesses;
}

/* OpenBLAS has one pool, for which its callers queue: a share of it for each helps none of them. */
static bool shares_pool(const struct teams *teams)
{
    return are_nested(teams) && teams->team[0].runtime &&
           teams->team[0].runtime->library == LIBRARY_OPENBLAS;
}

/* Long calls gain by the threads of a pool, even if one call has it at a time. */
static const char *format_unused(const struct teams *teams)
{
    if (shares_pool(teams) && teams->npools < teams->room)
        return str_fmt(" Its %u callers then use %u of %u CPUs, so long calls may be slower: "
                       "measure both with --verify and --restart.",
                       teams->npools, teams->npools, teams->room);
    return "";
}

static void find_teams(const struct checker *checker, const bool *in, struct teams *teams)
{
    const struct view *view = checker->view;
    struct bitset idle = {0};
    double quota = INFINITY, oncpu_s = 0;
    *teams = (struct teams){0};
    for (size_t i = 0; i < view->nprocesses; i++)
        if (checker->group_of[i] >= 0 && in[checker->group_of[i]])
            add_process(view, &view->processes[i], teams);
    for (size_t g = 0; g < checker->ngroups; g++) {
        const struct check_group *group = &checker->groups[g];
        int at;
        if (!in[g])
            continue;
        teams->ngroups++;
        teams->nstopped += view_is_throttled(view, group->lead);
        bitset_or(&teams->cpus, &group->cpus);
        oncpu_s += group->oncpu_s;
        teams->wanted += (group->oncpu_s + group->wait_s) / view->wall_s;
        quota = fmin(quota, view_quota(view, group->lead, &at)); /* fmin ignores NaN */
    }
    teams->queued = teams->wanted > 0 ? 1 - oncpu_s / view->wall_s / teams->wanted : 0;
    if (!shares_pool(teams)) /* its size stays that of its CPUs */
        check_find_idle(checker, in, &idle);
    teams->room = bitset_count(&teams->cpus) + bitset_count(&idle);
    teams->others = fmax(view_busy_s(view, &teams->cpus) - oncpu_s, 0) / view->wall_s;
    const double taken = teams->threads_of_others + floor(teams->others + 0.5);
    const double left = fmax(teams->room - taken, 1);
    teams->each = teams->npools ? (unsigned)left / teams->npools : 1;
    if (quota < teams->each)
        teams->each = (unsigned)quota;
    if (!teams->each || shares_pool(teams))
        teams->each = 1;
}

/* NaN = unknown. */
static double spin_share(const struct teams *teams)
{
    return teams->sampled_s > 0 ? teams->spun_s / teams->sampled_s : (double)NAN;
}

/*
 * Estimate: the time spent spinning, limited by what the remaining threads can use. Eight loaders
 * that spin for 40% of 16 CPUs compute on 9.6; with one thread each they use eight (OpenCV on an
 * H100: 428 images/s became 386). Fewer threads also move fewer cache lines between CPUs, a cost
 * that samples show as computing: two processes of OpenBLAS on two CPUs spun for a quarter of the
 * time, and gained 1.2x to 2.4x, depending on which thread met which.
 */
static double estimate_gain(const struct teams *teams)
{
    const double spun = spin_share(teams);
    const double threads = (double)teams->each * teams->npools;
    const double wanted = threads + teams->threads_of_others + teams->others;
    const double use = threads * fmin(teams->room / wanted, 1);
    return fmin(check_times_of_spin(spun), use / (teams->ran * (1 - spun)));
}

/*
 * What is promised: see check_gain_of_fewer. Others in the crowd count as other processes do.
 * Callers of nested pools have waits of their own, which stay: spinning of 90% once hid a gain
 * of 1.6x.
 */
static struct check_gain promise_gain(const struct teams *teams)
{
    if (are_nested(teams))
        return (struct check_gain){.times = NAN};
    const double crowd = teams->wanted * (1 - teams->queued);
    return check_gain_of_fewer(
        &(struct check_spin){.share = spin_share(teams),
                             .samples = teams->samples,
                             .ran = teams->ran,
                             .wanted = teams->ran / (1 - teams->queued),
                             .threads = (double)teams->each * teams->npools,
                             .room = teams->room,
                             .others = teams->others + fmax(crowd - teams->ran, 0)});
}

/* The slice of the group of this process; NULL = none. */
static const struct bitset *find_slice(const struct checker *checker, const struct teams *teams,
                                       const struct view_process *process)
{
    int group = checker->group_of[process - checker->view->processes];
    for (size_t i = 0; i < teams->nslices; i++)
        if ((int)teams->groups[i] == group)
            return &teams->slices[i];
    return NULL;
}

/*
 * Writes one command line per different start: workers of one script or launcher share one. Without
 * a known variable, the process starts on its slice: many runtimes count the CPUs that they may
 * use.
 */
static void write_starts(const struct checker *checker, const struct teams *teams, char *command,
                         size_t size, char *how, size_t how_size, struct env_changes *env_changes)
{
    unsigned left = 0;
    struct launch *before = calloc(teams->nwho + 1, sizeof(*before));
    for (size_t i = 0; before && i < teams->nwho; i++) {
        struct launch *launch = &before[i];
        const struct bitset *slice = find_slice(checker, teams, teams->who[i]);
        struct env_changes changes;
        bool is_listed = false;
        check_team_set(teams->who[i], &teams->team[i], teams->each, &changes);
        env_changes_join(env_changes, &changes);
        if (changes.n || slice)
            launch_write(checker->view, teams->who[i], &changes, changes.n ? NULL : slice,
                         teams->each, launch);
        for (size_t b = 0; b < i; b++)
            is_listed = is_listed || strcmp(before[b].command, launch->command) == 0;
        if (!launch->command[0] || is_listed)
            continue;
        if (!how[0])
            (void)snprintf(how, how_size, " %s%s",
                           changes.n ? "" : "If it counts its CPUs, the command suffices. ",
                           launch->how);
        left += !check_append(command, size, "%s%s", command[0] ? " & " : "", launch->command);
    }
    if (left)
        (void)check_append(
            how, how_size,
            " %u more %s not listed: start %s the same way, with its own GPU, rank and arguments.",
            left, left == 1 ? "is" : "are", left == 1 ? "it" : "each");
    free(before);
}

/*
 * "2 processes with 32 runnable threads share 16 CPUs (0-15), and spin for 94% of their CPU time"
 */
static const char *format_size(const struct teams *teams)
{
    const double spun = spin_share(teams);
    const unsigned nprocesses = teams->nprocesses + teams->nothers;
    const char *list = bitset_format(&teams->cpus);
    const char *text = "";
    if (nprocesses > 1)
        str_add(&text, "", "%u processes with ", nprocesses);
    str_add(&text, "", "%u runnable threads share %u CPU%s (%.60s)", teams->nthreads,
            bitset_count(&teams->cpus), bitset_count(&teams->cpus) == 1 ? "" : "s", list);
    if (teams->others >= 0.5)
        str_add(&text, "", ", of which others take %.1f", teams->others);
    if (!isnan(spun))
        str_add(&text, "", ", and spin for %s of their CPU time", text_percent(spun));
    return text;
}

/* Writes that pinning alone does not help, with its command, to text. Sets the slices of teams. */
static const char *format_pinning(struct checker *checker, const bool *in, struct teams *teams)
{
    char command[COMMAND_MAX] = "";
    struct bitset pool = {0}, given = checker->cpus_given;
    const char *text = "";
    if (teams->ngroups < 2)
        return text;
    (void)check_find_pool(checker, in, &pool);
    const unsigned cpus = teams->room / (unsigned)teams->ngroups;
    teams->nslices = check_allocate(checker, in, &pool, teams->groups, teams->slices);
    if (cpus &&
        check_write_slices(checker, teams->groups, teams->nslices, teams->slices, command,
                           sizeof(command)) &&
        command[0])
        text = str_fmt(" Pinning alone (%s) will not help: each still has %u threads on %u CPU%s.",
                       command, teams->most, cpus, cpus == 1 ? "" : "s");
    checker->cpus_given = given;
    return text;
}

static void report_crowd(struct checker *checker, const bool *in, struct teams *teams)
{
    enum { TAIL_MOST = 424 }; /* fits after the sentence */
    char command[COMMAND_MAX] = "", how[LAUNCH_HOW_MAX + 160] = "";
    struct env_changes env_changes = {0};
    const double spun = spin_share(teams);
    const bool is_loss = !isnan(spun) || teams->spin_by_kind;
    const char *evidence = format_size(teams);
    const char *runtime = check_team_format(&teams->team[0]);
    const char *pinning = format_pinning(checker, in, teams), *unused = format_unused(teams);
    const char *now = unused[0] ? unused : pinning;
    write_starts(checker, teams, command, sizeof(command), how, sizeof(how), &env_changes);
    if (strlen(now) + strlen(how) > TAIL_MOST)
        now = "";
    str_add(&now, "", "%s", how);
    const struct finding_parts parts = {
        .severity = is_loss ? FINDING_BAD : FINDING_DOUBT,
        .cure = CURE_RESTART,
        .cost = isnan(spun) ? 1 - fmin(teams->room / teams->wanted, 1) : spun,
        .gain = promise_gain(teams),
        .tail = now,
        .who = teams->who,
        .nwho = teams->nwho,
        .evidence = evidence,
        .command = command,
        .env_changes = &env_changes};
    checker_report(checker, &parts, "too many threads: %s. %s. Start %s with %u thread%s%s.",
                   evidence, runtime, teams->nprocesses > 1 ? "each process" : "it", teams->each,
                   teams->each == 1 ? "" : "s", teams->npools > teams->nprocesses ? " a call" : "");
    for (size_t g = 0; g < checker->ngroups; g++)
        checker->has_cause[g] |= is_loss && in[g];
}

static bool is_oversubscribed(const struct teams *teams)
{
    const double worth = check_times_of_spin(check_spinning_least);
    const double times = estimate_gain(teams);
    const bool is_nested = are_nested(teams);
    const bool is_seen_to_lose =
        !isnan(spin_share(teams)) && times >= (is_nested && teams->each == 1 ? worth : 2 * worth);
    /* Callers sleep in a queue for the pool, so that few are in the run queue. */
    const double queued = is_nested ? 0 : queued_spinning;
    const bool is_crowded = teams->wanted >= crowded * bitset_count(&teams->cpus) ||
                            (is_seen_to_lose && teams->queued >= queued);
    return teams->nwho && teams->nstopped < teams->ngroups && !bitset_empty(&teams->cpus) &&
           teams->most > teams->each && teams->nthreads > teams->room &&
           ((shares_pool(teams) && spin_share(teams) >= spinning_much) ||
            (is_crowded && !(times < worth)));
}

void check_crowd(struct checker *checker)
{
    bool *in = calloc(checker->ngroups + 1, sizeof(*in)),
         *done = calloc(checker->ngroups + 1, sizeof(*done));
    struct teams *teams = malloc(sizeof(*teams));
    for (size_t g = 0; in && done && teams && g < checker->ngroups; g++) {
        if (done[g])
            continue;
        memset(in, 0, checker->ngroups * sizeof(*in));
        (void)check_find_overlapping(checker, g, in);
        bool has_cause = false;
        for (size_t i = 0; i < checker->ngroups; i++) {
            done[i] = done[i] || in[i];
            has_cause |= in[i] && checker->has_cause[i];
        }
        find_teams(checker, in, teams);
        if (!has_cause && is_oversubscribed(teams))
            report_crowd(checker, in, teams);
    }
    free(teams);
    free(in);
    free(done);
}

/* Its tasks that want a CPU; a task that sleeps at barriers counts fully (check_team_of). */
static unsigned count_threads(const struct checker *checker, size_t group)
{
    unsigned threads = 0;
    for (size_t i = 0; i < checker->view->nprocesses; i++)
        if (checker->group_of[i] == (int)group)
            threads += check_team_of(checker->view, &checker->view->processes[i]).threads;
    return threads;
}

/* The gain with `cpus` CPUs, of which each thread uses one at most. */
static struct check_gain find_gain(const struct checker *checker, const bool *in,
                                   const struct check_group *group, unsigned threads, unsigned cpus)
{
    static const double sleeping = 1.25;
    const double wall_s = checker->view->wall_s, room_s = fmin(threads, cpus) * wall_s;
    const double wanted_s = fmin(group->oncpu_s + group->wait_s, room_s);
    return check_gain_of_more(group->oncpu_s, wanted_s - group->oncpu_s,
                              room_s > sleeping * wanted_s || check_teams_wait(checker, in));
}

void check_narrow(struct checker *checker)
{
    const struct view *view = checker->view;
    bool *in = calloc(checker->ngroups + 1, sizeof(*in));
    for (size_t g = 0; in && g < checker->ngroups; g++) {
        const struct check_group *group = &checker->groups[g];
        const unsigned ncpus = bitset_count(&group->cpus), threads = count_threads(checker, g);
        const double wanted = (group->oncpu_s + group->wait_s) / view->wall_s;
        char command[COMMAND_MAX] = "";
        struct bitset idle = {0}, room = group->cpus;
        memset(in, 0, checker->ngroups * sizeof(*in));
        const bool is_own = group->lead->mask >= 0 && /* masks of its threads: check_idle_cpus */
                            !bitset_subset(&view->masks[group->lead->mask], &group->cpus);
        if (!ncpus || is_own || view_is_throttled(view, group->lead) || checker->has_cause[g] ||
            threads <= ncpus || wanted < crowded * ncpus ||
            check_find_overlapping(checker, g, in) > 1)
            continue;
        check_find_idle(checker, in, &idle);
        unsigned more = threads - ncpus, there = bitset_count(&idle);
        more = more < there ? more : there;
        while (more && !allocate_idle(checker, g, more, &room))
            more--;
        if (!more || !check_append_taskset(checker, g, &room, command, sizeof(command)))
            continue;
        const char *evidence =
            str_fmt("%u threads need %.1f CPUs at a time, but may use %u (%.60s)", threads, wanted,
                    ncpus, bitset_format(&group->cpus));
        struct finding_parts parts = finding_parts_bind(
            check_wait_share(group->oncpu_s, group->wait_s), &group->lead, 1, evidence, command);
        parts.gain = find_gain(checker, in, group, threads, bitset_count(&room));
        checker_report(checker, &parts, "its mask is too narrow: %s, while CPU %s idles.", evidence,
                       bitset_format(&idle));
        checker->has_cause[g] = true;
    }
    free(in);
}
