#include "harness/engine/job_plans.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/lib/sys/affinity.h"
#include "harness/lib/sys/proc.h"
#include "harness/lib/text.h"

/* The message of one rank about one arm. */
struct share {
    char arm[64]; /* its name, to check that all ranks mean the same arm */
    int status;   /* enum plan_status */
    unsigned background;
    char reason[sizeof(((struct plan *)NULL)->reason)];
    struct plan_worker mine;
};

static void set_host_and_gpu(const struct job *job, const struct topo *topo,
                             struct plan_worker *worker)
{
    text_set(worker->host, "%.63s", job->ranks[job->world.rank].host);
    if (worker->gpu >= 0)
        memcpy(worker->pci_bdf, topo->gpus[worker->gpu].pci_bdf, sizeof(worker->pci_bdf));
}

static void describe(const struct job *job, const struct topo *topo, const struct arm *arm,
                     struct share *share)
{
    memset(share, 0, sizeof(*share)); /* padding is sent, too */
    text_set(share->arm, "%s %s%s", arm->bench->name, placement_infos[arm->placement].name,
             arm->is_baseline ? " alone" : "");
    share->status = (int)arm->plan.status;
    memcpy(share->reason, arm->plan.reason, sizeof(share->reason));
    if (arm->plan.status != PLAN_OK)
        return;
    share->background = arm->plan.nworkers - arm->planned_workers;
    share->mine = arm->plan.workers[job->plan_rank];
    set_host_and_gpu(job, topo, &share->mine);
}

/* Collects each machine's background workers from its first rank; other ranks send empty blocks. */
static int join_background(struct job *job, const struct topo *topo, struct arm *arm,
                           struct plan_worker *into, struct err *err)
{
    unsigned each = arm->plan.nworkers - arm->planned_workers;
    size_t bytes = each * sizeof(struct plan_worker);
    struct plan_worker *all = each ? calloc(job->world.size, bytes) : NULL;
    if (!each)
        return 0;
    if (!all)
        return err_set(err, -ENOMEM, "no memory to plan %u ranks", job->world.size);
    struct plan_worker *mine = &arm->plan.workers[arm->planned_workers];
    for (unsigned i = 0; i < each; i++) {
        set_host_and_gpu(job, topo, &mine[i]);
        mine[i].background = job->plan_rank == 0; /* false marks an empty block */
    }
    int rc = job_gather(job, mine, all, bytes, err);
    for (unsigned i = 0; !rc && i < job->world.size * each; i++)
        if (all[i].background)
            *into++ = all[i];
    free(all);
    return rc;
}

static int join_plans(struct job *job, const struct topo *topo, const struct share *shares,
                      struct arm *arm, struct err *err)
{
    unsigned size = job->world.size, each = shares[0].background;
    unsigned n = size + job->leaders * each;
    struct plan_worker *workers = calloc(n, sizeof(*workers));
    if (!workers)
        return err_set(err, -ENOMEM, "no memory to plan %u workers", n);
    for (unsigned r = 0; r < size; r++)
        workers[r] = shares[r].mine;
    int rc = join_background(job, topo, arm, workers + size, err);
    free(arm->plan.workers);
    arm->plan.workers = workers;
    arm->plan.nworkers = n;
    arm->planned_workers = size;
    arm->workers = size;
    return rc;
}

/* The first rank that cannot express the arm; NULL: all can. */
static const struct share *find_skipped(const struct job *job, const struct share *all)
{
    for (unsigned r = 0; r < job->world.size; r++)
        if (all[r].status != PLAN_OK)
            return &all[r];
    return NULL;
}

/* Skips the arm on all ranks. Names the rank that cannot express it, unless all have one reason. */
static void skip_everywhere(const struct job *job, const struct share *all,
                            const struct share *skipped, struct arm *arm)
{
    bool everywhere = true;
    for (unsigned r = 0; r < job->world.size; r++)
        everywhere &= strcmp(all[r].reason, skipped->reason) == 0;
    const char *name = !everywhere ? job_rank_name(job, (unsigned)(skipped - all)) : "";
    plan_free(&arm->plan);
    arm->plan = (struct plan){.placement = arm->placement, .status = PLAN_SKIPPED};
    text_set(arm->plan.reason, "%.80s%s%.115s", name, everywhere ? "" : ": ", skipped->reason);
    if (everywhere)
        memcpy(arm->plan.reason, skipped->reason, sizeof(arm->plan.reason));
    arm->planned_workers = arm->workers = job->world.size;
}

/* -EINVAL unless all ranks mean the same arm and, if all `can`, equally many background workers. */
static int compare_shares(const struct job *job, const struct share *all, bool can, struct err *err)
{
    const char *name;
    for (unsigned r = 1; r < job->world.size; r++) {
        name = job_rank_name(job, r);
        if (strcmp(all[r].arm, all[0].arm) != 0)
            return err_set(err, -EINVAL, "%s plans other workers (%s) than rank 0 (%s)", name,
                           all[r].arm, all[0].arm);
        if (can && all[r].background != all[0].background)
            return err_set(err, -EINVAL,
                           "%s plans another number of background workers, %u, than rank 0, %u: "
                           "say --background-workers N, or start as many ranks on each host",
                           name, all[r].background, all[0].background);
    }
    return 0;
}

static int spread_arm(struct job *job, const struct topo *topo, struct arm *arm, struct err *err)
{
    struct share mine, *all = calloc(job->world.size, sizeof(*all));
    if (!all)
        return err_set(err, -ENOMEM, "no memory to plan %u ranks", job->world.size);
    describe(job, topo, arm, &mine);
    int rc = job_gather(job, &mine, all, sizeof(mine), err);
    const struct share *skipped = rc ? NULL : find_skipped(job, all);
    if (!rc)
        rc = compare_shares(job, all, !skipped, err);
    if (!rc && skipped)
        skip_everywhere(job, all, skipped, arm);
    else if (!rc)
        rc = join_plans(job, topo, all, arm, err);
    free(all);
    return rc;
}

int job_plan_spread(struct job *job, const struct topo *topo, struct result *result,
                    struct err *err)
{
    const char *arms = str_fmt("%zu", result->narms);
    int rc = job_require_same(job, "the numbers of arms", arms, err);
    for (size_t i = 0; i < result->narms && !rc; i++)
        rc = spread_arm(job, topo, &result->arms[i], err);
    return rc;
}

unsigned job_plan_background(const struct job *job, const struct arm *arm, unsigned *first)
{
    unsigned each = arm_background(arm) / job->leaders;
    *first = arm->planned_workers + job->leaders_before * each;
    return job->plan_rank ? 0 : each;
}

/* Binds this thread to `cpus`; *got is the part of them that the kernel grants. */
static void try_cpus(const struct bitset *cpus, struct bitset *got)
{
    (void)affinity_set(0, cpus);
    (void)affinity_get(0, got);
}

static void describe_self(struct job_rank *self)
{
    if (gethostname(self->host, sizeof(self->host) - 1))
        text_set(self->host, "unknown");
    /* By kernel, not host name: containers and namespaces have host names of their own. */
    if (!PROC_TEXT("", self->machine, "/proc/sys/kernel/random/boot_id"))
        text_set(self->machine, "%s", self->host);
}

static bool same_machine(const struct job *job, unsigned rank)
{
    return strcmp(job->ranks[rank].machine, job->ranks[job->world.rank].machine) == 0;
}

/* *possible: true when it is possible for all ranks of our machine (`mine`: for us). */
static int is_possible_for_all(struct job *job, bool mine, bool *possible, struct err *err)
{
    assert(job->world.size);
    bool *all = calloc(job->world.size, sizeof(*all));
    int rc = job_gather(job, &mine, all, sizeof(mine), err);
    *possible = true;
    for (unsigned r = 0; !rc && r < job->world.size; r++)
        *possible &= !same_machine(job, r) || all[r];
    free(all);
    return rc;
}

/* Notes in cpus_note if the machine allows us more CPUs than the launcher gave. */
static void note_binding(struct job *job, const struct bitset *shared)
{
    struct bitset everything, widest;
    memset(&everything, 0xff, sizeof(everything));
    try_cpus(&everything, &widest);
    try_cpus(shared, &everything);
    if (bitset_subset(&widest, shared))
        return;
    text_set(job->cpus_note,
             "%s bound the ranks on host %s to CPUs %s of %s: placements divide these up; "
             "mpirun --bind-to none leaves them all",
             job->launcher, job->ranks[job->world.rank].host, bitset_format(shared),
             bitset_format(&widest));
}

static int count_leaders(struct job *job, struct err *err)
{
    assert(job->world.size);
    unsigned *all = calloc(job->world.size, sizeof(*all));
    int rc = job_gather(job, &job->plan_rank, all, sizeof(*all), err);
    for (unsigned r = 0; !rc && r < job->world.size; r++) {
        job->leaders += !all[r];
        job->leaders_before += !all[r] && r < job->world.rank;
    }
    free(all);
    return rc;
}

int job_share_cpus(struct job *job, struct err *err)
{
    struct job_rank self = job->ranks[job->world.rank]; /* which has its CPUs */
    struct bitset shared = {0}, got;
    bool possible = false;
    describe_self(&self);
    int rc = job_gather(job, &self, job->ranks, sizeof(self), err);
    if (rc)
        return rc;
    job->plan_rank = job->plan_size = 0;
    for (unsigned r = 0; r < job->world.size; r++)
        if (same_machine(job, r)) {
            job->plan_rank += r < job->world.rank;
            job->plan_size++;
            bitset_or(&shared, &job->ranks[r].cpus);
        }
    try_cpus(&shared, &got);
    rc = is_possible_for_all(job, bitset_equal(&shared, &got), &possible, err);
    if (rc)
        return rc;
    if (possible) {
        note_binding(job, &shared);
        return count_leaders(job, err);
    }
    try_cpus(&self.cpus, &got);
    job->plan_rank = 0;
    job->plan_size = 1;
    text_set(job->cpus_note,
             "%s gave each rank on host %s CPUs of its own that no other may use: each rank "
             "is planned alone, with a background of its own",
             job->launcher, self.host);
    return count_leaders(job, err);
}
