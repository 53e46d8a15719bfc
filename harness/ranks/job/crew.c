#include "harness/ranks/job/crew.h"

#include <errno.h>

#include "harness/ranks/job/plans.h"
#include "harness/ranks/job/results.h"
#include "harness/ranks/mpi/client.h"

static struct job *job_of(void *arg)
{
    return ((struct job_crew *)arg)->job;
}

static struct job_watch *watch_of(void *arg)
{
    return &((struct job_crew *)arg)->watch;
}

static unsigned crew_find_ours(void *arg, const struct arm *arm, unsigned *first, unsigned *behind)
{
    *first = job_of(arg)->world.rank;
    return job_plan_background(job_of(arg), arm, behind);
}

static bool crew_refuses(void *arg, struct observation *out)
{
    const struct job *job = job_of(arg);
    if (job->end < JOB_OVER)
        return false;
    job_results_none(job->why, out);
    return true;
}

static int crew_open(void *arg, struct meeting *meeting, struct err *err)
{
    return job_watch_open(watch_of(arg), job_of(arg), meeting, err);
}

static void crew_close(void *arg)
{
    job_watch_close(watch_of(arg));
    *watch_of(arg) = (struct job_watch){0}; /* it is closed again where the next is not opened */
}

static int crew_pause_ms(void *arg)
{
    return job_watch_pause_ms(watch_of(arg));
}

static int crew_step(void *arg, const struct crew_beat *mine, bool idle, struct err *err)
{
    return job_watch_step(watch_of(arg), mine, idle, err);
}

static bool crew_past(void *arg, bool background, uint32_t state)
{
    return job_watch_past(watch_of(arg), background, state);
}

static bool crew_lost(void *arg)
{
    return job_watch_lost(watch_of(arg));
}

static bool crew_late(void *arg)
{
    return job_watch_late(watch_of(arg));
}

static bool crew_broken(void *arg)
{
    return job_is_lost(job_of(arg));
}

/* What cannot be told is a failed observation. */
static int crew_join(void *arg, const struct arm *arm, const struct crew_readings *readings, int rc,
                     struct observation *out, struct err *err)
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

static void crew_fail(void *arg, const char *why)
{
    job_fail(job_of(arg), why);
}

static pid_t crew_pid(void *arg)
{
    (void)arg;
    return mpi_client_pid();
}

static int crew_start(void *arg, int shared_fd, int event_fd, unsigned index, struct err *err)
{
    (void)arg;
    return mpi_client_serve(shared_fd, event_fd, index, err);
}

static bool crew_joined(void *arg)
{
    (void)arg;
    return mpi_client_joined();
}

static bool crew_ended(void *arg, int *status)
{
    (void)arg;
    return mpi_client_ended(status);
}

void job_crew_make(struct job_crew *crew, struct job *job)
{
    *crew = (struct job_crew){.job = job,
                              .crew = {.arg = crew,
                                       .find_ours = crew_find_ours,
                                       .refuses = crew_refuses,
                                       .open = crew_open,
                                       .close = crew_close,
                                       .pause_ms = crew_pause_ms,
                                       .step = crew_step,
                                       .past = crew_past,
                                       .lost = crew_lost,
                                       .late = crew_late,
                                       .broken = crew_broken,
                                       .join = crew_join,
                                       .fail = crew_fail,
                                       .pid = crew_pid,
                                       .start = crew_start,
                                       .joined = crew_joined,
                                       .ended = crew_ended}};
}
