#include "harness/ranks/job/watch.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "harness/lib/sys/clock.h"

static const uint64_t ms_ns = 1000000;
/* Between beats, and between looks for their answers while our workers work, or wait for others. */
enum { BUSY_MS = 50, BUSY_LOOK_MS = 10, IDLE_MS = 1 };

int job_watch_open(struct job_watch *watch, struct job *job, struct meeting *meeting,
                   struct err *err)
{
    watch->job = job;
    watch->meeting = meeting;
    watch->beats = calloc(job->world.size, sizeof(*watch->beats));
    watch->next = calloc(job->world.size, sizeof(*watch->next));
    if (!watch->beats || !watch->next)
        return err_set(err, -ENOMEM, "no memory for the beats of %u ranks", job->world.size);
    return 0;
}

void job_watch_close(struct job_watch *watch)
{
    free(watch->beats);
    free(watch->next);
}

int job_watch_pause_ms(const struct job_watch *watch)
{
    uint64_t now_ns = clock_now_ns();
    if (watch->under_way)
        return watch->idle ? IDLE_MS : BUSY_LOOK_MS;
    return watch->next_ns > now_ns ? (int)((watch->next_ns - now_ns) / ms_ns) + 1 : 0;
}

/* True when every rank's worker waits in the next meeting. */
static bool all_wait(const struct job_watch *watch)
{
    for (unsigned r = 0; r < watch->job->world.size; r++)
        if (watch->beats[r].posted != watch->held + 1)
            return false;
    return true;
}

static int hold_meeting(struct job_watch *watch, struct err *err)
{
    struct job *job = watch->job;
    size_t bytes = watch->beats[0].bytes;
    for (unsigned r = 1; r < job->world.size; r++)
        if (watch->beats[r].bytes != bytes)
            return err_set(err, -EPROTO, "rank %u meets with %u bytes, rank 0 with %zu", r,
                           watch->beats[r].bytes, bytes);
    unsigned char *all = bytes ? malloc(job->world.size * bytes) : NULL;
    if (bytes && !all)
        return err_set(err, -ENOMEM, "no memory for a meeting of %u ranks", job->world.size);
    int rc = 0;
    if (bytes)
        rc = job_gather(job, meeting_block(watch->meeting, job->world.rank), all, bytes, err);
    for (unsigned r = 0; r < job->world.size && bytes && !rc; r++)
        memcpy(meeting_block(watch->meeting, r), all + r * bytes, bytes);
    free(all);
    watch->held++;
    if (!rc)
        meeting_release(watch->meeting);
    return rc;
}

static bool any_interrupted(const struct job_watch *watch)
{
    for (unsigned r = 0; r < watch->job->world.size; r++)
        if (watch->beats[r].interrupted)
            return true;
    return false;
}

static int take_beats(struct job_watch *watch, struct err *err)
{
    struct crew_beat *last = watch->beats;
    watch->beats = watch->next;
    watch->next = last;
    watch->under_way = false;
    if (any_interrupted(watch))
        return -EINTR;
    return all_wait(watch) ? hold_meeting(watch, err) : 0;
}

static bool has_news(const struct job_watch *watch, const struct crew_beat *mine)
{
    return memcmp(&watch->mine, mine, sizeof(*mine)) != 0;
}

/* A rank that was told to end has little time; the others would have answered in it. */
static bool out_of_patience(const struct job_watch *watch)
{
    return clock_now_ns() - watch->begun_ns > (uint64_t)(watch->job->patience_s * 1e9) ||
           job_past_last_words(watch->job);
}

int job_watch_step(struct job_watch *watch, const struct crew_beat *mine, bool idle,
                   struct err *err)
{
    struct job *job = watch->job;
    watch->idle = idle;
    if (!watch->under_way) {
        if (clock_now_ns() < watch->next_ns && !has_news(watch, mine))
            return 0;
        watch->mine = *mine;
        watch->begun_ns = clock_now_ns();
        int rc = job_gather_begin(job, &watch->mine, watch->next, sizeof(*mine), err);
        if (rc)
            return rc;
        watch->under_way = true;
    }
    int done = job_gather_test(job, err);
    if (done < 0)
        return done;
    if (!done)
        return out_of_patience(watch) ? job_lose(job, err) : 0;
    watch->next_ns = clock_now_ns() + (idle ? IDLE_MS : BUSY_MS) * ms_ns;
    return take_beats(watch, err);
}

bool job_watch_past(const struct job_watch *watch, bool background, uint32_t state)
{
    for (unsigned r = 0; r < watch->job->world.size; r++)
        if ((background ? watch->beats[r].all : watch->beats[r].foreground) < state)
            return false;
    return true;
}

bool job_watch_lost(const struct job_watch *watch)
{
    for (unsigned r = 0; r < watch->job->world.size; r++)
        if (watch->beats[r].lost)
            return true;
    return false;
}

bool job_watch_late(const struct job_watch *watch)
{
    for (unsigned r = 0; r < watch->job->world.size; r++)
        if (watch->beats[r].late)
            return true;
    return false;
}
