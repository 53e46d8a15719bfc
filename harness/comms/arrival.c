#include "harness/comms/arrival.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/comms/merge.h"
#include "harness/lib/text.h"
#include "harness/lib/units.h"

/* The collectives of one rank, by their number. */
struct track {
    size_t n, at;
    const struct comms_event **event; /* owned */
};

static int by_sequence(const void *a, const void *b)
{
    const struct comms_event *x = *(const struct comms_event *const *)a;
    const struct comms_event *y = *(const struct comms_event *const *)b;
    return (x->sequence > y->sequence) - (x->sequence < y->sequence);
}

static int fill(struct track *track, const struct comms_rank *rank)
{
    const struct comms_log *log = rank->log;
    uint32_t member = (uint32_t)(rank->member - log->member);
    track->event = calloc(log->nevents + 1, sizeof(const struct comms_event *));
    if (!track->event)
        return -ENOMEM;
    for (size_t i = 0; i < log->nevents; i++) {
        const struct comms_event *event = &log->event[i];
        if (comms_key_unpack(event->key).member == member && event->sequence > 1)
            track->event[track->n++] = event;
    }
    qsort(track->event, track->n, sizeof(const struct comms_event *), by_sequence);
    return 0;
}

/* Advances all tracks to the next call that all ranks have; false: there is none. */
static bool next_common_call(struct track *tracks, size_t n)
{
    uint64_t wanted = 0;
    for (size_t i = 0; i < n;) {
        struct track *track = &tracks[i];
        while (track->at < track->n && track->event[track->at]->sequence < wanted)
            track->at++;
        if (track->at == track->n)
            return false;
        if (track->event[track->at]->sequence > wanted) {
            wanted = track->event[track->at]->sequence;
            i = 0;
        } else
            i++;
    }
    return true;
}

static void add_times(const struct track *tracks, struct comms_arrival *arrival)
{
    uint64_t first = UINT64_MAX, shortest = UINT64_MAX;
    size_t last = 0;
    for (size_t i = 0; i < arrival->n; i++) {
        const struct comms_event *event = tracks[i].event[tracks[i].at];
        first = event->time_ns < first ? event->time_ns : first;
        shortest = event->duration_ns < shortest ? event->duration_ns : shortest;
        if (event->time_ns > tracks[last].event[tracks[last].at]->time_ns)
            last = i;
    }
    arrival->calls++;
    arrival->rank[last].last++;
    arrival->timed += shortest > 0;
    for (size_t i = 0; i < arrival->n; i++) {
        const struct comms_event *event = tracks[i].event[tracks[i].at];
        arrival->rank[i].late_ns += event->time_ns - first;
        arrival->rank[i].timed_ns += shortest ? event->duration_ns : 0;
        arrival->rank[i].waited_ns += shortest ? event->duration_ns - shortest : 0;
    }
}

static void compare(struct track *tracks, struct comms_arrival *arrival)
{
    uint64_t begin = UINT64_MAX, end = 0;
    while (next_common_call(tracks, arrival->n)) {
        for (size_t i = 0; i < arrival->n; i++) {
            uint64_t time = tracks[i].event[tracks[i].at]->time_ns;
            begin = time < begin ? time : begin;
            end = time > end ? time : end;
        }
        add_times(tracks, arrival);
        for (size_t i = 0; i < arrival->n; i++)
            tracks[i].at++;
    }
    arrival->span_ns = arrival->calls ? end - begin : 0;
}

/* All ranks must have the same clock, and each rank one log. */
static bool can_compare(const struct comms_communicator *communicator)
{
    const struct comms_rank *present = communicator->present;
    bool can = communicator->npresent > 1;
    for (size_t i = 1; i < communicator->npresent; i++)
        can &= strcmp(present[i].log->header.host, present[0].log->header.host) == 0 &&
               present[i].rank != present[i - 1].rank;
    return can;
}

int comms_arrival_make(const struct comms_communicator *communicator, struct comms_arrival *arrival,
                       struct err *err)
{
    size_t n = communicator->npresent;
    *arrival = (struct comms_arrival){0};
    if (!can_compare(communicator))
        return 0;
    struct track *tracks = calloc(n, sizeof(*tracks));
    arrival->one_process = true;
    arrival->rank = calloc(n, sizeof(*arrival->rank));
    int rc = tracks && arrival->rank ? 0 : -ENOMEM;
    for (size_t i = 0; i < n && !rc; i++) {
        arrival->rank[arrival->n++].rank = communicator->present[i].rank;
        arrival->one_process &= communicator->present[i].log == communicator->present[0].log;
        rc = fill(&tracks[i], &communicator->present[i]);
    }
    if (!rc)
        compare(tracks, arrival);
    for (size_t i = 0; tracks && i < n; i++)
        free(tracks[i].event);
    free(tracks);
    if (!rc)
        return 0;
    comms_arrival_free(arrival);
    return err_set(err, rc, "no memory for times");
}

void comms_arrival_free(struct comms_arrival *arrival)
{
    free(arrival->rank);
    *arrival = (struct comms_arrival){0};
}

double comms_arrival_waited(const struct comms_arrival *arrival)
{
    double timed = 0, waited = 0;
    for (size_t i = 0; i < arrival->n; i++) {
        timed += (double)arrival->rank[i].timed_ns;
        waited += (double)arrival->rank[i].waited_ns;
    }
    return timed > 0 ? waited / timed : NAN;
}

void comms_arrival_report(const struct comms_arrival *arrival,
                          const struct comms_arrival_rank *rank, struct comms_arrival_text *text)
{
    double calls = (double)arrival->calls;
    text_set(text->last, "%s", text_percent((double)rank->last / calls));
    text_set(text->late, "%s", units_seconds((double)rank->late_ns / calls / 1e9));
    (void)strcpy(text->waited, "-");
    if (rank->timed_ns)
        text_set(text->waited, "%s",
                 text_percent((double)rank->waited_ns / (double)rank->timed_ns));
}

/* NULL: no rank is late. */
static const struct comms_arrival_rank *find_late(const struct comms_arrival *arrival)
{
    enum { CALLS_LEAST = 20 };
    const struct comms_arrival_rank *latest = arrival->rank;
    double waited = comms_arrival_waited(arrival);
    for (size_t i = 1; i < arrival->n; i++)
        latest = arrival->rank[i].last > latest->last ? &arrival->rank[i] : latest;
    bool is_late = arrival->calls >= CALLS_LEAST && latest &&
                   (double)latest->last >= 0.8 * (double)arrival->calls &&
                   (double)latest->late_ns > 0.01 * (double)arrival->span_ns;
    return is_late && !(waited < 0.01) ? latest : NULL;
}

void comms_arrival_judge(const struct comms_arrival *arrival, struct findings_about *about)
{
    const struct comms_arrival_rank *latest = find_late(arrival);
    double calls = (double)arrival->calls;
    if (!latest)
        return;
    const char *behind = units_seconds((double)latest->late_ns / calls / 1e9);
    const char *each = units_seconds((double)arrival->span_ns / calls / 1e9);
    const char *waited = arrival->timed ? text_percent(comms_arrival_waited(arrival)) : "";
    if (arrival->one_process && latest->last == arrival->calls)
        findings_report(
            about, "comms_in_turn", FINDING_NOTE,
            "one process enqueues its ranks in turn, rank %u always last, on average %s after the "
            "first, while a collective comes every %s; use one process or thread a rank",
            latest->rank, behind, each);
    else
        findings_report(about, "comms_late", FINDING_DOUBT,
                        "rank %u is late: it enqueued %" PRIu64 " of %" PRIu64
                        " collectives last, on average %s after the first rank, while one comes "
                        "every %s; %s%s%s",
                        latest->rank, latest->last, arrival->calls, behind, each,
                        waited[0] ? "ranks waited on their GPUs " : "the others may wait for it",
                        waited, waited[0] ? " of the time that collectives took" : "");
}
