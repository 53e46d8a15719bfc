#include "harness/comms/view/timeline.h"

#include <errno.h>
#include <stdlib.h>

/* Moments of a member of a log, as the rank that it is. */
static void add_rank(const struct comms_rank *rank, uint32_t communicator,
                     struct comms_timeline *timeline)
{
    const struct comms_log *log = rank->log;
    uint32_t number = (uint32_t)(rank->member - log->member);
    for (size_t i = 0; i < log->nevents; i++) {
        const struct comms_event *event = &log->event[i];
        if (comms_key_unpack(event->key).member != number)
            continue;
        timeline->moment[timeline->n++] = (struct comms_moment){
            .time_ns = log->header.start_ns + (event->time_ns - log->header.start_mono_ns),
            .key = event->key,
            .bytes = event->bytes,
            .duration_ns = event->duration_ns,
            .communicator = communicator,
            .rank = rank->rank};
    }
}

static int by_time(const void *a, const void *b)
{
    const struct comms_moment *x = a, *y = b;
    if (x->time_ns != y->time_ns)
        return x->time_ns < y->time_ns ? -1 : 1;
    if (x->communicator != y->communicator)
        return x->communicator < y->communicator ? -1 : 1;
    return (x->rank > y->rank) - (x->rank < y->rank);
}

int comms_timeline_make(const struct comms_logs *logs, const struct comms *comms,
                        struct comms_timeline *timeline, struct err *err)
{
    size_t most = 1;
    *timeline = (struct comms_timeline){0};
    for (size_t i = 0; i < logs->n; i++) {
        most += logs->log[i].nevents;
        timeline->dropped += logs->log[i].dropped;
    }
    timeline->moment = calloc(most, sizeof(*timeline->moment));
    if (!timeline->moment)
        return err_set(err, -ENOMEM, "no memory for a timeline of %zu events", most);
    for (size_t c = 0; c < comms->n; c++)
        for (size_t i = 0; i < comms->communicator[c].npresent; i++)
            add_rank(&comms->communicator[c].present[i], (uint32_t)c, timeline);
    qsort(timeline->moment, timeline->n, sizeof(*timeline->moment), by_time);
    uint64_t first = timeline->moment[0].time_ns;
    for (size_t i = 0; i < timeline->n; i++)
        timeline->moment[i].time_ns -= first;
    timeline->span_ns = timeline->n ? timeline->moment[timeline->n - 1].time_ns : 0;
    return 0;
}

void comms_timeline_free(struct comms_timeline *timeline)
{
    free(timeline->moment);
    *timeline = (struct comms_timeline){0};
}
