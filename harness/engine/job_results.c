#include "harness/engine/job_results.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/engine/collect.h"

/* Each rank sends this to all ranks before it sends its workers' results to rank 0. */
struct share {
    size_t bytes;
    unsigned workers, gpus;
    struct job_readings readings;
    double gpu_clock_mhz, gpu_temp_c;
    uint64_t gpu_throttle_reasons;
};

/* ---- observations as bytes, for the same program in another process ---- */

/* The same functions count bytes (at = NULL) and copy them, so lengths and copies agree. */
struct parcel {
    unsigned char *at, *end; /* at NULL: only counts */
    size_t bytes;
};

static void parcel_put(struct parcel *parcel, const void *from, size_t bytes)
{
    if (parcel->at && bytes) {
        memcpy(parcel->at, from, bytes);
        parcel->at += bytes;
    }
    parcel->bytes += bytes;
}

/* Appends GPUs and workers; only `staged`, which a trace needs, is left out. */
static void parcel_put_workers(struct parcel *parcel, const struct observation *from)
{
    parcel_put(parcel, from->gpus, from->ngpus * sizeof(*from->gpus));
    for (unsigned i = 0; i < from->nworkers; i++) {
        const struct worker_result *worker = &from->workers[i];
        parcel_put(parcel, worker, sizeof(*worker));
        parcel_put(parcel, worker->samples, worker->nsamples * sizeof(*worker->samples));
        parcel_put(parcel, worker->values, worker->nvalues * sizeof(*worker->values));
        parcel_put(parcel, worker->reasons, worker->nreasons * sizeof(*worker->reasons));
        parcel_put(parcel, worker->cpu_samples,
                   worker->ncpu_samples * sizeof(*worker->cpu_samples));
    }
}

/* False: no memory, or the parcel is too short. The caller frees what was taken until then. */
static bool parcel_take(struct parcel *parcel, void *to, size_t bytes)
{
    if ((size_t)(parcel->end - parcel->at) < bytes)
        return false;
    memcpy(to, parcel->at, bytes);
    parcel->at += bytes;
    return true;
}

/* *out is a new array of `n` elements, NULL if n is 0; the caller frees it. */
static bool parcel_take_array(struct parcel *parcel, void **out, size_t n, size_t size)
{
    *out = NULL;
    if (!n)
        return true;
    if (n > (size_t)(parcel->end - parcel->at) / size)
        return false;
    *out = malloc(n * size);
    return *out && parcel_take(parcel, *out, n * size);
}

static bool parcel_take_worker(struct parcel *parcel, struct worker_result *worker)
{
    if (!parcel_take(parcel, worker, sizeof(*worker)))
        return false;
    void *samples, *values = NULL, *reasons = NULL, *cpu_samples = NULL;
    bool good =
        parcel_take_array(parcel, &samples, worker->nsamples, sizeof(*worker->samples)) &&
        parcel_take_array(parcel, &values, worker->nvalues, sizeof(*worker->values)) &&
        parcel_take_array(parcel, &reasons, worker->nreasons, sizeof(*worker->reasons)) &&
        parcel_take_array(parcel, &cpu_samples, worker->ncpu_samples, sizeof(*worker->cpu_samples));
    worker->samples = samples;
    worker->values = values;
    worker->reasons = reasons;
    worker->cpu_samples = cpu_samples;
    worker->staged = NULL;
    worker->nstaged = 0;
    return good;
}

/* ---- one observation of all ranks ---- */

/* Moves a rank's workers to their plan indices: the first is its foreground worker, the rest its
 * background. */
static void place_workers(const struct job *job, unsigned rank, struct worker_result *from,
                          unsigned n, struct observation *into, unsigned *next_background)
{
    for (unsigned i = 0; i < n; i++) {
        unsigned at = i ? (*next_background)++ : rank;
        if (at >= into->nworkers)
            continue;
        into->workers[at] = from[i];
        (void)snprintf(into->workers[at].host, sizeof(into->workers[at].host), "%.63s",
                       job->ranks[rank].host);
        from[i] = (struct worker_result){0};
    }
}

/* Appends a rank's GPUs, except those that another rank of its host has watched, too. */
static bool place_gpus(const struct job *job, unsigned rank, const struct gpu_change *from,
                       unsigned n, struct observation *into)
{
    const char *host = job->ranks[rank].host;
    struct gpu_change *grown = realloc(into->gpus, (into->ngpus + n + 1) * sizeof(*grown));
    if (!grown)
        return false;
    into->gpus = grown;
    for (unsigned i = 0; i < n; i++) {
        bool met = false;
        for (unsigned k = 0; k < into->ngpus && !met; k++)
            met = !strcmp(grown[k].pci_bdf, from[i].pci_bdf) && !strcmp(grown[k].host, host);
        if (met)
            continue;
        grown[into->ngpus] = from[i];
        (void)snprintf(grown[into->ngpus++].host, sizeof(grown->host), "%.63s", host);
    }
    return true;
}

static int unpack_rank(const struct job *job, unsigned rank, const struct share *share,
                       unsigned char *bytes, struct observation *into, unsigned *next_background)
{
    struct parcel parcel = {.at = bytes, .end = bytes + share->bytes};
    struct observation own = {.nworkers = share->workers};
    own.workers = calloc(share->workers + 1, sizeof(*own.workers));
    void *gpus = NULL;
    bool good = own.workers && parcel_take_array(&parcel, &gpus, share->gpus, sizeof(*own.gpus));
    own.gpus = gpus;
    good = good && place_gpus(job, rank, own.gpus, share->gpus, into);
    for (unsigned i = 0; good && i < share->workers; i++)
        good = parcel_take_worker(&parcel, &own.workers[i]);
    if (good)
        place_workers(job, rank, own.workers, own.nworkers, into, next_background);
    observation_free(&own);
    return good ? 0 : -ENOMEM;
}

static int join_workers(struct job *job, const struct arm *arm, const struct share *shares,
                        unsigned char *parcels, size_t most, struct observation *out)
{
    unsigned next_background = arm->planned_workers;
    struct observation all = *out;
    all.nworkers = arm->planned_workers + arm_background(arm);
    all.gpus = NULL;
    all.ngpus = 0;
    all.workers = calloc(all.nworkers, sizeof(*all.workers));
    if (!all.workers)
        return -ENOMEM;
    place_workers(job, 0, out->workers, out->nworkers, &all, &next_background);
    int rc = place_gpus(job, 0, out->gpus, out->ngpus, &all) ? 0 : -ENOMEM;
    for (unsigned r = 1; r < job->world.size && !rc; r++)
        rc = unpack_rank(job, r, &shares[r], parcels + r * most, &all, &next_background);
    observation_free(out);
    *out = all;
    return rc;
}

/*
 * Adds one rank's readings of its CPUs; the worst values are kept. Not foreign on its CPUs are
 * workers of ranks that share some of them, and the unbound helpers of all ranks of its machine.
 */
static void add_rank(const struct job *job, const struct share *shares, unsigned rank,
                     struct observation *out)
{
    struct observation own = {0};
    const struct job_readings *readings = &shares[rank].readings;
    double ours_s = 0;
    for (unsigned r = 0; r < job->world.size; r++) {
        if (strcmp(job->ranks[r].machine, job->ranks[rank].machine) != 0)
            continue;
        ours_s += shares[r].readings.helpers_s;
        if (r == rank || bitset_intersects(&shares[r].readings.cpus, &readings->cpus))
            ours_s += shares[r].readings.workers_s;
    }
    collect_machine(&readings->go, &readings->end, ours_s, &own);
    out->steal = fmax(out->steal, own.steal);
    out->foreign_cpu = fmax(out->foreign_cpu, own.foreign_cpu);
    out->psi_cpu_some = fmax(out->psi_cpu_some, own.psi_cpu_some);
}

static void join_readings(const struct job *job, const struct share *shares,
                          struct observation *out)
{
    out->steal = out->foreign_cpu = out->psi_cpu_some = NAN; /* fmax prefers a number to NaN */
    double clock_mhz = 0, temp_c = 0;
    unsigned gpus = 0;
    for (unsigned r = 0; r < job->world.size; r++) {
        add_rank(job, shares, r, out);
        out->gpu_throttle_reasons |= shares[r].gpu_throttle_reasons;
        if (isnan(shares[r].gpu_clock_mhz))
            continue;
        gpus++;
        clock_mhz += shares[r].gpu_clock_mhz;
        temp_c += shares[r].gpu_temp_c;
    }
    out->gpu_clock_mhz = gpus ? clock_mhz / gpus : (double)NAN;
    out->gpu_temp_c = gpus ? temp_c / gpus : (double)NAN;
}

/* All ranks take rank 0's status and reason. */
static int share_verdict(struct job *job, struct observation *out, struct err *err)
{
    struct verdict {
        enum status status;
        char reason[sizeof(out->reason)];
    } mine = {.status = out->status}, *all = calloc(job->world.size, sizeof(*all));
    memcpy(mine.reason, out->reason, sizeof(mine.reason));
    int rc = job_gather(job, &mine, all, sizeof(mine), err);
    if (all) {
        out->status = all[0].status;
        memcpy(out->reason, all[0].reason, sizeof(out->reason));
    }
    free(all);
    return rc;
}

static void note_stuck(struct job *job, const struct share *shares, const struct observation *out)
{
    for (unsigned r = 0; r < job->world.size && job->end < JOB_OVER; r++)
        if (shares[r].readings.stuck) {
            job->end = JOB_OVER;
            (void)snprintf(job->why, sizeof(job->why),
                           "%.150s; on device mpi lost ranks end the run: their processes cannot "
                           "be started again",
                           out->reason);
        }
}

static void fail_observation(const char *reason, struct observation *out)
{
    unsigned round = out->round, order = out->order;
    observation_free(out); /* zeroes it */
    out->round = round;
    out->order = order;
    out->status = STATUS_FAILED;
    out->steal = out->foreign_cpu = out->psi_cpu_some = NAN;
    out->gpu_clock_mhz = out->gpu_temp_c = NAN;
    (void)snprintf(out->reason, sizeof(out->reason), "%s", reason);
}

/* Sends results to rank 0, whose `out` becomes the observation of all ranks. */
static int send_results(struct job *job, const struct arm *arm, const struct share *shares,
                        struct observation *out, struct err *err)
{
    const unsigned size = job->world.size;
    size_t most = 0;
    for (unsigned r = 0; r < size; r++)
        most = shares[r].bytes > most ? shares[r].bytes : most;
    struct parcel parcel = {.at = calloc(1, most + 1)};
    unsigned char *mine = parcel.at, *all = job_is_first(job) ? malloc(size * most + 1) : NULL;
    int rc =
        mine && (all || !job_is_first(job)) ? 0 : err_set(err, -ENOMEM, "no memory for results");
    if (!rc) {
        parcel_put_workers(&parcel, out);
        rc = job_collect(job, mine, all, most, err);
    }
    if (!rc && job_is_first(job)) {
        if (join_workers(job, arm, shares, all, most, out)) {
            fail_observation("no memory for the results of all ranks", out);
        } else {
            join_readings(job, shares, out);
            collect_verdict(out);
            collect_waits(arm, out);
        }
    }
    free(mine);
    free(all);
    return rc;
}

static int join(struct job *job, const struct arm *arm, const struct job_readings *readings,
                struct observation *out, struct err *err)
{
    struct parcel counted = {0};
    parcel_put_workers(&counted, out);
    struct share mine, *shares = calloc(job->world.size, sizeof(*shares));
    memset(&mine, 0, sizeof(mine));
    mine.bytes = counted.bytes;
    mine.workers = out->nworkers;
    mine.gpus = out->ngpus;
    mine.readings = *readings;
    mine.gpu_clock_mhz = out->gpu_clock_mhz;
    mine.gpu_temp_c = out->gpu_temp_c;
    mine.gpu_throttle_reasons = out->gpu_throttle_reasons;
    int rc = job_gather(job, &mine, shares, sizeof(mine), err);
    if (!rc)
        rc = send_results(job, arm, shares, out, err);
    if (!rc)
        rc = share_verdict(job, out, err);
    if (!rc)
        note_stuck(job, shares, out);
    free(shares);
    return rc;
}

int job_results_join(struct job *job, const struct arm *arm, const struct job_readings *readings,
                     int rc, struct observation *out, struct err *err)
{
    if (!rc)
        rc = join(job, arm, readings, out, err);
    if (rc == -EINTR && readings->stuck && !job->end)
        job->end = JOB_OVER;
    if (rc != -EIO)
        return rc;
    fail_observation(job->why, out);
    return 0;
}

bool job_refuses(const struct job *job, struct observation *out)
{
    if (job->end)
        fail_observation(job->why, out);
    return job->end != JOB_GOES_ON;
}
