#include "harness/engine/cpus.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/lib/sys/affinity.h"
#include "harness/lib/sys/proc.h"

/* Binds this thread to `cpus`; *got is the part of them that the kernel grants. */
static void try_cpus(const struct bitset *cpus, struct bitset *got)
{
    (void)affinity_set(0, cpus);
    (void)affinity_get(0, got);
}

static void describe_self(struct job_rank *self)
{
    if (gethostname(self->host, sizeof(self->host) - 1))
        (void)snprintf(self->host, sizeof(self->host), "unknown");
    /* By kernel, not host name: containers and namespaces have host names of their own. */
    if (!PROC_TEXT("", self->machine, "/proc/sys/kernel/random/boot_id"))
        (void)snprintf(self->machine, sizeof(self->machine), "%s", self->host);
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
    (void)snprintf(job->cpus_note, sizeof(job->cpus_note),
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
    (void)snprintf(job->cpus_note, sizeof(job->cpus_note),
                   "%s gave each rank on host %s CPUs of its own that no other may use: each rank "
                   "is planned alone, with a background of its own",
                   job->launcher, self.host);
    return count_leaders(job, err);
}
