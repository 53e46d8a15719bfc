#include "harness/engine/watch.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "harness/lib/sys/clock.h"

static const uint64_t ms_ns = 1000000;
/* Pauses between reports, and between checks for answers, while our workers work or wait (IDLE). */
enum { BUSY_MS = 50, BUSY_POLL_MS = 10, IDLE_MS = 1 };

int job_watch_open(struct job *job, struct barrier *barrier, struct err *err)
{
    struct job_report *reports = calloc(job->world.size, sizeof(*reports));
    job->watch = (struct job_watch){.barrier = barrier, .reports = reports};
    return reports
               ? 0
               : err_set(err, -ENOMEM, "no memory for the reports of %u ranks", job->world.size);
}

void job_watch_close(struct job *job)
{
    free(job->watch.reports);
    job->watch = (struct job_watch){0};
}

int job_watch_pause_ms(const struct job *job)
{
    const struct job_watch *watch = &job->watch;
    uint64_t now_ns = clock_now_ns();
    if (watch->under_way)
        return watch->idle ? IDLE_MS : BUSY_POLL_MS;
    return watch->next_ns > now_ns ? (int)((watch->next_ns - now_ns) / ms_ns) + 1 : 0;
}

/* All workers wait in the next barrier: exchanges their blocks, and releases ours. */
static int complete_barrier(struct job *job, struct err *err)
{
    struct job_watch *watch = &job->watch;
    size_t bytes = watch->reports[0].bytes;
    for (unsigned r = 1; r < job->world.size; r++)
        if (watch->reports[r].bytes != bytes)
            return err_set(err, -EPROTO, "rank %u meets with %u bytes, rank 0 with %zu", r,
                           watch->reports[r].bytes, bytes);
    unsigned char *all = malloc(job->world.size * bytes + 1);
    if (!all)
        return err_set(err, -ENOMEM, "no memory for a barrier of %u ranks", job->world.size);
    int rc = 0;
    if (bytes)
        rc = job_gather(job, barrier_block(watch->barrier, job->world.rank), all, bytes, err);
    for (unsigned r = 0; r < job->world.size && bytes && !rc; r++)
        memcpy(barrier_block(watch->barrier, r), all + r * bytes, bytes);
    free(all);
    watch->completed++;
    if (!rc)
        barrier_release(watch->barrier);
    return rc;
}

static uint32_t least(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

static int take_reports(struct job *job, struct err *err)
{
    struct job_watch *watch = &job->watch;
    struct job_report together = watch->reports[0];
    bool all_wait = true;
    for (unsigned r = 0; r < job->world.size; r++) {
        const struct job_report *report = &watch->reports[r];
        together.foreground = least(together.foreground, report->foreground);
        together.all = least(together.all, report->all);
        together.lost |= report->lost;
        together.timed_out |= report->timed_out;
        together.interrupted |= report->interrupted;
        all_wait = all_wait && report->posted == watch->completed + 1;
    }
    watch->together = together;
    watch->under_way = false;
    if (together.interrupted)
        return -EINTR;
    return all_wait ? complete_barrier(job, err) : 0;
}

/* True if other ranks took too long to answer: answer_limit_s, or much less after a signal to end.
 */
static bool answer_timed_out(const struct job *job)
{
    return clock_now_ns() - job->watch.begun_ns > (uint64_t)(job->answer_limit_s * 1e9) ||
           job_stop_grace_is_over(job);
}

int job_watch_step(struct job *job, const struct job_report *mine, bool idle, struct err *err)
{
    struct job_watch *watch = &job->watch;
    watch->idle = idle;
    if (!watch->under_way) {
        if (clock_now_ns() < watch->next_ns && !memcmp(&watch->mine, mine, sizeof(*mine)))
            return 0;
        watch->mine = *mine;
        watch->begun_ns = clock_now_ns();
        int rc = job_gather_begin(job, mine, watch->reports, sizeof(*mine), err);
        if (rc)
            return rc;
        watch->under_way = true;
    }
    int done = job_gather_test(job, err);
    if (done < 0)
        return done;
    if (!done)
        return answer_timed_out(job) ? job_find_lost(job, err) : 0;
    watch->next_ns = clock_now_ns() + (idle ? IDLE_MS : BUSY_MS) * ms_ns;
    return take_reports(job, err);
}
