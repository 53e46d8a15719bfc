#include "harness/ranks/job/rank_ops.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "harness/lib/sys/clock.h"
#include "harness/ranks/job/plans.h"
#include "harness/ranks/job/results.h"
#include "harness/ranks/mpi/client.h"

static const uint64_t ms_ns = 1000000;
/* Pauses between reports, and between checks for answers, while our workers work or wait (IDLE). */
enum { BUSY_MS = 50, BUSY_POLL_MS = 10, IDLE_MS = 1 };

static struct job *job_of(void *arg)
{
    return ((struct job_rank_ops *)arg)->job;
}

static unsigned rank_ops_select_workers(void *arg, const struct arm *arm, unsigned *first,
                                        unsigned *first_background)
{
    *first = job_of(arg)->world.rank;
    return job_plan_background(job_of(arg), arm, first_background);
}

static bool rank_ops_refuses(void *arg, struct observation *out)
{
    const struct job *job = job_of(arg);
    if (job->end < JOB_OVER)
        return false;
    job_results_none(job->why, out);
    return true;
}

static int rank_ops_open(void *arg, struct barrier *barrier, struct err *err)
{
    struct job_rank_ops *rank_ops = arg;
    const unsigned ranks = rank_ops->job->world.size;
    rank_ops->barrier = barrier;
    rank_ops->reports = calloc(ranks, sizeof(*rank_ops->reports));
    rank_ops->next = calloc(ranks, sizeof(*rank_ops->next));
    if (!rank_ops->reports || !rank_ops->next)
        return err_set(err, -ENOMEM, "no memory for the reports of %u ranks", ranks);
    return 0;
}

static void rank_ops_close(void *arg)
{
    struct job_rank_ops *rank_ops = arg;
    free(rank_ops->reports);
    free(rank_ops->next);
    /* Zeroed, since it is closed again if the next open does not happen. */
    *rank_ops = (struct job_rank_ops){.rank_ops = rank_ops->rank_ops, .job = rank_ops->job};
}

static int rank_ops_pause_ms(void *arg)
{
    const struct job_rank_ops *rank_ops = arg;
    uint64_t now_ns = clock_now_ns();
    if (rank_ops->under_way)
        return rank_ops->idle ? IDLE_MS : BUSY_POLL_MS;
    return rank_ops->next_ns > now_ns ? (int)((rank_ops->next_ns - now_ns) / ms_ns) + 1 : 0;
}

/* True when every rank's worker waits in the next barrier. */
static bool all_wait(const struct job_rank_ops *rank_ops)
{
    for (unsigned r = 0; r < rank_ops->job->world.size; r++)
        if (rank_ops->reports[r].posted != rank_ops->completed + 1)
            return false;
    return true;
}

static int complete_barrier(struct job_rank_ops *rank_ops, struct err *err)
{
    struct job *job = rank_ops->job;
    size_t bytes = rank_ops->reports[0].bytes;
    for (unsigned r = 1; r < job->world.size; r++)
        if (rank_ops->reports[r].bytes != bytes)
            return err_set(err, -EPROTO, "rank %u meets with %u bytes, rank 0 with %zu", r,
                           rank_ops->reports[r].bytes, bytes);
    unsigned char *all = bytes ? malloc(job->world.size * bytes) : NULL;
    if (bytes && !all)
        return err_set(err, -ENOMEM, "no memory for a barrier of %u ranks", job->world.size);
    int rc = 0;
    if (bytes)
        rc = job_gather(job, barrier_block(rank_ops->barrier, job->world.rank), all, bytes, err);
    for (unsigned r = 0; r < job->world.size && bytes && !rc; r++)
        memcpy(barrier_block(rank_ops->barrier, r), all + r * bytes, bytes);
    free(all);
    rank_ops->completed++;
    if (!rc)
        barrier_release(rank_ops->barrier);
    return rc;
}

static bool any_interrupted(const struct job_rank_ops *rank_ops)
{
    for (unsigned r = 0; r < rank_ops->job->world.size; r++)
        if (rank_ops->reports[r].interrupted)
            return true;
    return false;
}

static int take_reports(struct job_rank_ops *rank_ops, struct err *err)
{
    struct rank_ops_report *last = rank_ops->reports;
    rank_ops->reports = rank_ops->next;
    rank_ops->next = last;
    rank_ops->under_way = false;
    if (any_interrupted(rank_ops))
        return -EINTR;
    return all_wait(rank_ops) ? complete_barrier(rank_ops, err) : 0;
}

static bool is_changed(const struct job_rank_ops *rank_ops, const struct rank_ops_report *mine)
{
    return memcmp(&rank_ops->mine, mine, sizeof(*mine)) != 0;
}

/* True if other ranks took too long to answer: answer_limit_s, or much less after a signal to end.
 */
static bool answer_timed_out(const struct job_rank_ops *rank_ops)
{
    return clock_now_ns() - rank_ops->begun_ns > (uint64_t)(rank_ops->job->answer_limit_s * 1e9) ||
           job_stop_grace_is_over(rank_ops->job);
}

/* Never waits, except for a barrier that all ranks have entered. */
static int rank_ops_step(void *arg, const struct rank_ops_report *mine, bool idle, struct err *err)
{
    struct job_rank_ops *rank_ops = arg;
    struct job *job = rank_ops->job;
    rank_ops->idle = idle;
    if (!rank_ops->under_way) {
        if (clock_now_ns() < rank_ops->next_ns && !is_changed(rank_ops, mine))
            return 0;
        rank_ops->mine = *mine;
        rank_ops->begun_ns = clock_now_ns();
        int rc = job_gather_begin(job, &rank_ops->mine, rank_ops->next, sizeof(*mine), err);
        if (rc)
            return rc;
        rank_ops->under_way = true;
    }
    int done = job_gather_test(job, err);
    if (done < 0)
        return done;
    if (!done)
        return answer_timed_out(rank_ops) ? job_find_lost(job, err) : 0;
    rank_ops->next_ns = clock_now_ns() + (idle ? IDLE_MS : BUSY_MS) * ms_ns;
    return take_reports(rank_ops, err);
}

static bool rank_ops_reached(void *arg, bool background, uint32_t state)
{
    const struct job_rank_ops *rank_ops = arg;
    for (unsigned r = 0; r < rank_ops->job->world.size; r++)
        if ((background ? rank_ops->reports[r].all : rank_ops->reports[r].foreground) < state)
            return false;
    return true;
}

static bool rank_ops_lost(void *arg)
{
    const struct job_rank_ops *rank_ops = arg;
    for (unsigned r = 0; r < rank_ops->job->world.size; r++)
        if (rank_ops->reports[r].lost)
            return true;
    return false;
}

static bool rank_ops_timed_out(void *arg)
{
    const struct job_rank_ops *rank_ops = arg;
    for (unsigned r = 0; r < rank_ops->job->world.size; r++)
        if (rank_ops->reports[r].timed_out)
            return true;
    return false;
}

static bool rank_ops_broken(void *arg)
{
    return job_is_lost(job_of(arg));
}

/* An observation that cannot be joined, since a rank is lost, is a failed one. */
static int rank_ops_join(void *arg, const struct arm *arm, const struct rank_ops_readings *readings,
                         int rc, struct observation *out, struct err *err)
{
    struct job *job = job_of(arg);
    if (!rc)
        rc = job_results_join(job, arm, readings, out, err);
    if (rc == -EINTR && readings->stuck && job->end < JOB_STUCK)
        job->end = JOB_STUCK;
    if (rc != -EIO)
        return rc;
    job_results_none(job->why, out);
    return 0;
}

static void rank_ops_fail(void *arg, const char *why)
{
    job_fail(job_of(arg), why);
}

static pid_t rank_ops_pid(void *arg)
{
    (void)arg;
    return mpi_client_pid();
}

static int rank_ops_start(void *arg, int shared_fd, int event_fd, unsigned index, struct err *err)
{
    (void)arg;
    return mpi_client_serve(shared_fd, event_fd, index, err);
}

static bool rank_ops_joined(void *arg)
{
    (void)arg;
    return mpi_client_joined();
}

static bool rank_ops_ended(void *arg, int *status)
{
    (void)arg;
    return mpi_client_ended(status);
}

void job_rank_ops_make(struct job_rank_ops *rank_ops, struct job *job)
{
    *rank_ops = (struct job_rank_ops){.job = job,
                                      .rank_ops = {.arg = rank_ops,
                                                   .select_workers = rank_ops_select_workers,
                                                   .refuses = rank_ops_refuses,
                                                   .open = rank_ops_open,
                                                   .close = rank_ops_close,
                                                   .pause_ms = rank_ops_pause_ms,
                                                   .step = rank_ops_step,
                                                   .reached = rank_ops_reached,
                                                   .lost = rank_ops_lost,
                                                   .timed_out = rank_ops_timed_out,
                                                   .broken = rank_ops_broken,
                                                   .join = rank_ops_join,
                                                   .fail = rank_ops_fail,
                                                   .pid = rank_ops_pid,
                                                   .start = rank_ops_start,
                                                   .joined = rank_ops_joined,
                                                   .ended = rank_ops_ended}};
}
