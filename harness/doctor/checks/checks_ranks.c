/*
 * Processes of one job that spin for each other, such as ranks of MPI, on fewer CPUs than ranks.
 *
 * A rank polls while it waits. If it holds the only CPU of the rank that it waits for, both lose
 * the rest of its time slice: four ranks on two CPUs did 1/37 of the work of two (open-mpi/ompi
 * issue 10426). Ranks that yield while they poll (Open MPI's mpi_yield_when_idle) lose little: so
 * samples in sched_yield do not count here.
 *
 * Not known: whether another MPI has a setting that helps. MPICH's MPIR_CVAR_POLLS_BEFORE_YIELD has
 * no effect in builds that do not yield (Debian's 4.0.2 with UCX).
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/doctor/checks/check.h"
#include "harness/doctor/checks/check_launch.h"
#include "harness/doctor/checks/check_runtime.h"
#include "harness/lib/text.h"

/* The busy processes of one job. */
struct ranks {
    size_t nwho;
    const struct view_process *who[FOUND_PIDS_MAX];
    const struct view_process *launcher; /* NULL = unknown */
    unsigned n;
    unsigned nothers;        /* processes of other jobs that poll on the same CPUs */
    bool *in;                /* their groups; owned */
    struct view_process sum; /* of their samples */
    bool polls_by_kind;      /* all are ranks of an MPI that polls */
    double oncpu_s, wait_s;
    double most_s; /* the largest computing time of a rank: no cure makes it shorter */
    struct bitset cpus;
    unsigned room;    /* CPUs that they may use, idle ones included */
    double cpu_share; /* of the time that their CPUs were busy */
};

static bool has_rank(const struct view_process *process)
{
    static const char *const names[] = {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK",
                                        "SLURM_PROCID", NULL};
    for (const char *const *name = names; *name; name++)
        if (view_setting(process, *name))
            return true;
    return view_setting(process, "RANK") && view_setting(process, "WORLD_SIZE");
}

/* True if variables that name a job are the same in both. */
static bool has_same_job(const struct view_process *a, const struct view_process *b)
{
    static const char *const names[] = {
        "PMIX_NAMESPACE", "SLURM_JOB_ID", "SLURM_STEP_ID", "MASTER_ADDR",
        "MASTER_PORT",    "WORLD_SIZE",   "PMI_SIZE",      NULL};
    bool is_same = has_rank(a) && has_rank(b);
    for (const char *const *name = names; *name && is_same; name++) {
        const char *one = view_setting(a, *name), *other = view_setting(b, *name);
        is_same = one && other ? strcmp(one, other) == 0 : one == other;
    }
    return is_same;
}

/* Share of CPU time spent polling without yielding; NaN = unknown. */
static double poll_share(const struct view_process *process)
{
    const double all = (double)process->samples + process->missing_samples;
    return isnan(view_spin_share(process)) ? (double)NAN : (process->spins - process->calls) / all;
}

/*
 * Processes of one launcher (`launcher`: that of `first`, or NULL), or of one job by their
 * environment. Others need one parent and name, and to poll both.
 */
static bool are_together(const struct view *view, const struct view_process *launcher,
                         const struct view_process *first, const struct view_process *process)
{
    const struct view_process *other = launch_find_launcher(view, process);
    return first == process || (launcher && launcher == other) ||
           (!launcher && !other && has_same_job(first, process)) ||
           (first->parent == process->parent && strcmp(first->name, process->name) == 0 &&
            poll_share(first) >= check_spinning_least &&
            poll_share(process) >= check_spinning_least);
}

static bool is_set(const struct view_process *process, const char *name)
{
    const char *value = view_setting(process, name);
    return value && value[0] && strchr("1tTyY", value[0]);
}

static bool is_open_mpi(const struct view_process *process)
{
    return view_setting(process, "OMPI_COMM_WORLD_SIZE") ||
           (process->about && process->about->libraries & LIBRARY_OPEN_MPI);
}

/* Without samples. mpirun sets the second variable where it knows that CPUs are too few. */
static bool polls_by_kind(const struct view_process *process)
{
    const bool is_mpi = process->about && process->about->libraries & LIBRARY_MPI;
    return is_mpi && !is_set(process, "OMPI_MCA_mpi_yield_when_idle") &&
           (view_setting(process, "OMPI_MCA_mpi_yield_when_idle") ||
            !is_set(process, "OMPI_MCA_mpi_oversubscribe"));
}

static void add_rank(const struct checker *checker, size_t process, struct ranks *ranks)
{
    const struct view *view = checker->view;
    const struct view_process *rank = &view->processes[process];
    const double polled = poll_share(rank), oncpu_s = view_oncpu_s(rank);
    ranks->n++;
    ranks->in[checker->group_of[process]] = true;
    ranks->sum.samples += rank->samples;
    ranks->sum.spins += rank->spins;
    ranks->sum.calls += rank->calls;
    ranks->sum.missing_samples += rank->missing_samples;
    ranks->polls_by_kind &= polls_by_kind(rank);
    ranks->oncpu_s += oncpu_s;
    ranks->wait_s += view_wait_s(rank);
    if (!isnan(polled))
        ranks->most_s = fmax(ranks->most_s, oncpu_s * (1 - polled));
    view_add_cpus(view, rank, &ranks->cpus);
    if (ranks->nwho < FOUND_PIDS_MAX)
        ranks->who[ranks->nwho++] = rank;
}

static void find_others(const struct checker *checker, const size_t *jobs, size_t job,
                        struct ranks *ranks)
{
    const struct view *view = checker->view;
    for (size_t i = 0; i < view->nprocesses; i++) {
        struct bitset cpus = {0};
        if (checker->group_of[i] < 0 || jobs[i] == job ||
            !(poll_share(&view->processes[i]) >= check_spinning_least))
            continue;
        view_add_cpus(view, &view->processes[i], &cpus);
        ranks->nothers += bitset_intersects(&cpus, &ranks->cpus);
    }
}

/* Adds `first` and what works together with it. `jobs`: the job of each process, 0 = none yet. */
static void find_ranks(const struct checker *checker, size_t first, size_t *jobs,
                       struct ranks *ranks)
{
    const struct view *view = checker->view;
    struct bitset idle = {0};
    bool *in = ranks->in;
    memset(in, 0, checker->ngroups * sizeof(*in));
    *ranks = (struct ranks){.in = in, .polls_by_kind = true};
    ranks->launcher = launch_find_launcher(view, &view->processes[first]);
    for (size_t i = first; i < view->nprocesses; i++) {
        const int group = checker->group_of[i];
        if (group < 0 || jobs[i] || checker->has_cause[group] ||
            !are_together(view, ranks->launcher, &view->processes[first], &view->processes[i]))
            continue;
        jobs[i] = first + 1;
        add_rank(checker, i, ranks);
    }
    find_others(checker, jobs, first + 1, ranks);
    ranks->cpu_share = fmin(ranks->oncpu_s / view_busy_s(view, &ranks->cpus), 1);
    check_find_idle(checker, in, &idle);
    ranks->room = bitset_count(&ranks->cpus) + bitset_count(&idle);
}

/*
 * The time spent polling, of which others on their CPUs take their share, limited by the rank that
 * computes most.
 */
static struct check_gain gain_of(const struct ranks *ranks, double wall_s)
{
    const struct check_spin spin = {.share = poll_share(&ranks->sum),
                                    .samples = ranks->sum.samples + ranks->sum.missing_samples};
    struct check_gain gain = check_gain_of_fewer(&spin);
    const double most = wall_s / ranks->most_s;
    gain.times = 1 + ranks->cpu_share * (gain.times - 1);
    return most < gain.times ? (struct check_gain){most, NULL} : gain;
}

static double estimate_gain(const struct ranks *ranks, double wall_s)
{
    const double times = check_times_of_spin(poll_share(&ranks->sum));
    return fmin(1 + ranks->cpu_share * (times - 1), wall_s / ranks->most_s);
}

/* Ranks that have a CPU each, of those that the polling processes share. */
static unsigned find_fitting(const struct ranks *ranks)
{
    const unsigned fitting = ranks->room * ranks->n / (ranks->n + ranks->nothers);
    return fitting ? fitting : 1;
}

static bool are_crowded(const struct checker *checker, const struct ranks *ranks)
{
    const double polled = poll_share(&ranks->sum),
                 worth = check_times_of_spin(check_spinning_least);
    return ranks->n > 1 && ranks->n > find_fitting(ranks) &&
           check_waits(checker->view, ranks->oncpu_s, ranks->wait_s) &&
           (isnan(polled) ? ranks->polls_by_kind
                          : polled >= check_spinning_least &&
                                estimate_gain(ranks, checker->view->wall_s) >= worth);
}

/* Writes the command and what it does. Open MPI can yield; the others get fewer ranks. */
static const char *write_cure(const struct checker *checker, const struct ranks *ranks,
                              struct launch *launch, struct env_changes *env_changes)
{
    const struct view *view = checker->view;
    const bool yields = is_open_mpi(ranks->who[0]);
    if (yields) {
        env_changes_set(env_changes, "OMPI_MCA_mpi_yield_when_idle", 1);
        launch_write(view, ranks->who[0], env_changes, NULL, 1, launch);
    } else {
        launch_write_ranks(view, ranks->who[0], ranks->n, find_fitting(ranks), launch);
    }
    return str_fmt("Start as many as CPUs (%u)%s", find_fitting(ranks),
                   yields ? ", or let Open MPI yield while it polls "
                            "(OMPI_MCA_mpi_yield_when_idle=1)"
                          : "; no setting is known that lets them yield");
}

static void report_ranks(struct checker *checker, const struct ranks *ranks)
{
    const double polled = poll_share(&ranks->sum);
    struct launch launch = {0};
    struct env_changes env_changes = {0};
    const unsigned ncpus = bitset_count(&ranks->cpus);
    const char *kind = ranks->launcher || has_rank(ranks->who[0]) ? "ranks" : "processes";
    const char *evidence = str_fmt("%u %s share %u CPU%s (%.60s)", ranks->n, kind, ncpus,
                                   ncpus == 1 ? "" : "s", bitset_format(&ranks->cpus));
    if (ranks->nothers)
        str_add(&evidence, "", " with %u other%s that poll%s", ranks->nothers,
                ranks->nothers == 1 ? "" : "s", ranks->nothers == 1 ? "s" : "");
    if (!isnan(polled))
        str_add(&evidence, "", ", and poll for %s of their CPU time", text_percent(polled));
    const char *cure = write_cure(checker, ranks, &launch, &env_changes);
    const char *tail = launch.how[0] ? str_fmt(" %s", launch.how) : "";
    const struct finding_parts parts = {
        .severity = isnan(polled) ? FINDING_DOUBT : FINDING_BAD,
        .cure = CURE_RESTART,
        .cost = isnan(polled) ? check_wait_share(ranks->oncpu_s, ranks->wait_s) : polled,
        .gain = gain_of(ranks, checker->view->wall_s),
        .tail = tail,
        .who = ranks->who,
        .nwho = ranks->nwho,
        .evidence = evidence,
        .command = launch.command,
        .env_changes = &env_changes};
    checker_report(checker, &parts, "more %s than CPUs: %s. %s %s.", kind, evidence,
                   isnan(polled) ? "Their MPI polls while it waits, but no samples show how much."
                                 : "Each keeps a CPU from the one that it waits for.",
                   cure);
    for (size_t g = 0; g < checker->ngroups; g++)
        checker->has_cause[g] |= ranks->in[g];
}

void check_ranks(struct checker *checker)
{
    const struct view *view = checker->view;
    struct ranks ranks = {.in = calloc(checker->ngroups + 1, sizeof(*ranks.in))};
    size_t *jobs = calloc(view->nprocesses + 1, sizeof(*jobs));
    for (size_t i = 0; ranks.in && jobs && i < view->nprocesses; i++) {
        if (checker->group_of[i] < 0 || jobs[i])
            continue;
        find_ranks(checker, i, jobs, &ranks);
        if (ranks.n && are_crowded(checker, &ranks))
            report_ranks(checker, &ranks);
    }
    free(ranks.in);
    free(jobs);
}
