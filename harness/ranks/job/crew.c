#include "harness/ranks/job/crew.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "harness/lib/sys/clock.h"
#include "harness/ranks/job/plans.h"
#include "harness/ranks/job/results.h"
#include "harness/ranks/mpi/client.h"

static const uint64_t ms_ns = 1000000;
/* Between beats, and between looks for their answers while our workers work, or wait for others. */
enum { BUSY_MS = 50, BUSY_LOOK_MS = 10, IDLE_MS = 1 };

static struct job *job_of(void *arg)
{
    return ((struct job_crew *)arg)->job;
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
    struct job_crew *crew = arg;
    const unsigned ranks = crew->job->world.size;
    crew->meeting = meeting;
    crew->beats = calloc(ranks, sizeof(*crew->beats));
    crew->next = calloc(ranks, sizeof(*crew->next));
    if (!crew->beats || !crew->next)
        return err_set(err, -ENOMEM, "no memory for the beats of %u ranks", ranks);
    return 0;
}

static void crew_close(void *arg)
{
    struct job_crew *crew = arg;
    free(crew->beats);
    free(crew->next);
    /* It is closed again where the next is not opened. */
    *crew = (struct job_crew){.crew = crew->crew, .job = crew->job};
}

static int crew_pause_ms(void *arg)
{
    const struct job_crew *crew = arg;
    uint64_t now_ns = clock_now_ns();
    if (crew->under_way)
        return crew->idle ? IDLE_MS : BUSY_LOOK_MS;
    return crew->next_ns > now_ns ? (int)((crew->next_ns - now_ns) / ms_ns) + 1 : 0;
}

/* True when every rank's worker waits in the next meeting. */
static bool all_wait(const struct job_crew *crew)
{
    for (unsigned r = 0; r < crew->job->world.size; r++)
        if (crew->beats[r].posted != crew->held + 1)
            return false;
    return true;
}

static int hold_meeting(struct job_crew *crew, struct err *err)
{
    struct job *job = crew->job;
    size_t bytes = crew->beats[0].bytes;
    for (unsigned r = 1; r < job->world.size; r++)
        if (crew->beats[r].bytes != bytes)
            return err_set(err, -EPROTO, "rank %u meets with %u bytes, rank 0 with %zu", r,
                           crew->beats[r].bytes, bytes);
    unsigned char *all = bytes ? malloc(job->world.size * bytes) : NULL;
    if (bytes && !all)
        return err_set(err, -ENOMEM, "no memory for a meeting of %u ranks", job->world.size);
    int rc = 0;
    if (bytes)
        rc = job_gather(job, meeting_block(crew->meeting, job->world.rank), all, bytes, err);
    for (unsigned r = 0; r < job->world.size && bytes && !rc; r++)
        memcpy(meeting_block(crew->meeting, r), all + r * bytes, bytes);
    free(all);
    crew->held++;
    if (!rc)
        meeting_release(crew->meeting);
    return rc;
}

static bool any_interrupted(const struct job_crew *crew)
{
    for (unsigned r = 0; r < crew->job->world.size; r++)
        if (crew->beats[r].interrupted)
            return true;
    return false;
}

static int take_beats(struct job_crew *crew, struct err *err)
{
    struct crew_beat *last = crew->beats;
    crew->beats = crew->next;
    crew->next = last;
    crew->under_way = false;
    if (any_interrupted(crew))
        return -EINTR;
    return all_wait(crew) ? hold_meeting(crew, err) : 0;
}

static bool has_news(const struct job_crew *crew, const struct crew_beat *mine)
{
    return memcmp(&crew->mine, mine, sizeof(*mine)) != 0;
}

/* A rank that was told to end has little time; the others would have answered in it. */
static bool out_of_patience(const struct job_crew *crew)
{
    return clock_now_ns() - crew->begun_ns > (uint64_t)(crew->job->patience_s * 1e9) ||
           job_past_last_words(crew->job);
}

/* Never waits, except for a meeting that all ranks have come to. */
static int crew_step(void *arg, const struct crew_beat *mine, bool idle, struct err *err)
{
    struct job_crew *crew = arg;
    struct job *job = crew->job;
    crew->idle = idle;
    if (!crew->under_way) {
        if (clock_now_ns() < crew->next_ns && !has_news(crew, mine))
            return 0;
        crew->mine = *mine;
        crew->begun_ns = clock_now_ns();
        int rc = job_gather_begin(job, &crew->mine, crew->next, sizeof(*mine), err);
        if (rc)
            return rc;
        crew->under_way = true;
    }
    int done = job_gather_test(job, err);
    if (done < 0)
        return done;
    if (!done)
        return out_of_patience(crew) ? job_lose(job, err) : 0;
    crew->next_ns = clock_now_ns() + (idle ? IDLE_MS : BUSY_MS) * ms_ns;
    return take_beats(crew, err);
}

static bool crew_past(void *arg, bool background, uint32_t state)
{
    const struct job_crew *crew = arg;
    for (unsigned r = 0; r < crew->job->world.size; r++)
        if ((background ? crew->beats[r].all : crew->beats[r].foreground) < state)
            return false;
    return true;
}

static bool crew_lost(void *arg)
{
    const struct job_crew *crew = arg;
    for (unsigned r = 0; r < crew->job->world.size; r++)
        if (crew->beats[r].lost)
            return true;
    return false;
}

static bool crew_late(void *arg)
{
    const struct job_crew *crew = arg;
    for (unsigned r = 0; r < crew->job->world.size; r++)
        if (crew->beats[r].late)
            return true;
    return false;
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
