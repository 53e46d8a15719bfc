#include "harness/comms/summary.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/comms/merge.h"
#include "harness/comms/plugin/names.h"
#include "harness/lib/text.h"

bool comms_is_point_to_point(uint32_t func)
{
    return func == COMMS_SEND || func == COMMS_RECV;
}

size_t comms_ranks_present(const struct comms_communicator *communicator)
{
    size_t n = 0;
    for (size_t i = 0; i < communicator->npresent; i++)
        n += !i || communicator->present[i].rank != communicator->present[i - 1].rank;
    return n;
}

static void add(struct comms_line *line, const struct comms_count *count)
{
    line->calls += count->calls;
    line->bytes += count->bytes;
    line->timed_calls += count->timed_calls;
    line->timed_ns += count->timed_ns;
    line->timed_bytes += count->timed_bytes;
    if (count->key.bucket >= COMMS_SIZES) {
        line->any_size += count->calls;
        return;
    }
    line->sizes[count->key.bucket] += count->calls;
    line->size_bytes[count->key.bucket] += count->bytes;
}

static bool is_same(const struct comms_line *line, const struct comms_key *key)
{
    return line->func == key->func && line->algo == key->algo && line->proto == key->proto &&
           line->captured == (key->captured != 0);
}

/* `done` has the work of each rank, in the order of ranks. */
static void sum(const struct comms_communicator *communicator, struct comms_line *line)
{
    const struct comms_line empty = {
        .func = line->func, .algo = line->algo, .proto = line->proto, .captured = line->captured};
    struct comms_line rank = empty, all = empty, most = empty;
    uint64_t least = UINT64_MAX;
    size_t ranks = 0;
    for (size_t i = 0; i < communicator->ndone; i++) {
        const struct comms_done *done = &communicator->done[i];
        if (is_same(line, &done->count.key)) {
            add(&rank, &done->count);
            add(&all, &done->count);
        }
        bool is_last = i + 1 == communicator->ndone || communicator->done[i + 1].rank != done->rank;
        if (!is_last || !rank.calls)
            continue;
        ranks++;
        least = rank.calls < least ? rank.calls : least;
        most = rank.calls > most.calls ? rank : most;
        rank = empty;
    }
    *line = comms_is_point_to_point(line->func) ? all : most;
    line->timed_calls = all.timed_calls;
    line->timed_ns = all.timed_ns;
    line->timed_bytes = all.timed_bytes;
    line->least = ranks < comms_ranks_present(communicator) ? 0 : least;
    line->most = most.calls;
}

static int by_key(const void *a, const void *b)
{
    const struct comms_line *x = a, *y = b;
    if (x->func != y->func)
        return x->func < y->func ? -1 : 1;
    if (x->algo != y->algo)
        return x->algo < y->algo ? -1 : 1;
    if (x->proto != y->proto)
        return x->proto < y->proto ? -1 : 1;
    return (int)x->captured - (int)y->captured;
}

int comms_summary_make(const struct comms_communicator *communicator, bool called,
                       struct comms_summary *lines, struct err *err)
{
    *lines = (struct comms_summary){.line = calloc(COMMS_LINES_MOST, sizeof(*lines->line))};
    if (!lines->line)
        return err_set(err, -ENOMEM, "no memory for a table");
    for (size_t i = 0; i < communicator->ndone; i++) {
        const struct comms_key *key = &communicator->done[i].count.key;
        size_t at = 0;
        while (at < lines->n && !is_same(&lines->line[at], key))
            at++;
        if ((key->algo == COMMS_CALLED) != called || at < lines->n || at == COMMS_LINES_MOST)
            continue;
        lines->line[lines->n++] = (struct comms_line){
            .func = key->func, .algo = key->algo, .proto = key->proto, .captured = key->captured};
    }
    for (size_t i = 0; i < lines->n; i++)
        sum(communicator, &lines->line[i]);
    qsort(lines->line, lines->n, sizeof(*lines->line), by_key);
    return 0;
}

/* One rank has no bus bandwidth. */
static double bus_factor(uint32_t func, double n)
{
    switch (func) {
    case COMMS_ALL_REDUCE:
        return n > 1 ? 2 * (n - 1) / n : NAN;
    case COMMS_ALL_GATHER:
    case COMMS_REDUCE_SCATTER:
    case COMMS_ALL_TO_ALL:
        return n > 1 ? (n - 1) / n : NAN;
    case COMMS_BROADCAST:
    case COMMS_REDUCE:
        return n > 1 ? 1 : NAN;
    default:
        return NAN;
    }
}

struct comms_speed comms_line_speed(const struct comms_line *line, uint32_t nranks)
{
    bool of_all = line->func == COMMS_ALL_GATHER || line->func == COMMS_REDUCE_SCATTER ||
                  line->func == COMMS_ALL_TO_ALL;
    struct comms_speed speed = {NAN, NAN, NAN};
    if (!line->timed_calls || !line->timed_ns)
        return speed;
    speed.time = (double)line->timed_ns / (double)line->timed_calls / 1e9;
    speed.algbw =
        (double)line->timed_bytes * (of_all ? nranks : 1) / ((double)line->timed_ns / 1e9);
    speed.busbw = speed.algbw * bus_factor(line->func, nranks);
    return speed;
}

const char *comms_call_sizes(const struct comms_line *line)
{
    const char *text = "";
    for (int b = 0; b < COMMS_SIZES; b++)
        if (line->sizes[b])
            str_add(&text, ", ", "%" PRIu64 " from %s", line->sizes[b],
                    units_bytes(b ? 1ull << (b - 1) : 0));
    if (line->any_size)
        str_add(&text, ", ", "%" PRIu64 " of any size", line->any_size);
    return text;
}

const char *comms_gigabytes(double rate)
{
    return str_fmt(isnan(rate) ? "-" : "%.2f", rate / 1e9);
}

void comms_summary_free(struct comms_summary *lines)
{
    free(lines->line);
    *lines = (struct comms_summary){0};
}

/* The collectives of one rank, by their number. */
struct track {
    size_t n, at;
    uint64_t until_ns;                /* its time at earlier calls */
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

/* The time from `from` to `to` that is not before `until`: buckets of a step may all be late by the
 * same time, which counts once. */
static uint64_t since(uint64_t from, uint64_t until, uint64_t to)
{
    from = from > until ? from : until;
    return to > from ? to - from : 0;
}

static void add_times(struct track *tracks, struct comms_arrival *arrival)
{
    uint64_t first = UINT64_MAX, shortest = UINT64_MAX, latest = 0, last_but_one = 0;
    size_t last = 0;
    for (size_t i = 0; i < arrival->n; i++) {
        const struct comms_event *event = tracks[i].event[tracks[i].at];
        first = event->time_ns < first ? event->time_ns : first;
        shortest = event->duration_ns < shortest ? event->duration_ns : shortest;
        if (event->time_ns > latest) {
            last_but_one = latest;
            latest = event->time_ns;
            last = i;
        } else if (event->time_ns > last_but_one)
            last_but_one = event->time_ns;
    }
    if (!arrival->calls++)
        arrival->begin_ns = first;
    arrival->span_ns = since(arrival->begin_ns, 0, latest);
    arrival->rank[last].last++;
    arrival->timed += shortest > 0;
    for (size_t i = 0; i < arrival->n; i++) {
        const struct comms_event *event = tracks[i].event[tracks[i].at++];
        struct comms_arrival_rank *rank = &arrival->rank[i];
        rank->late_ns += event->time_ns - first;
        if (i == last)
            rank->alone_ns += since(last_but_one, tracks[i].until_ns, event->time_ns);
        rank->timed_ns += shortest ? event->duration_ns : 0;
        rank->waited_ns += shortest ? event->duration_ns - shortest : 0;
        tracks[i].until_ns = event->time_ns;
    }
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

/* NULL: no rank is late. */
static struct comms_arrival_rank *find_late(const struct comms_arrival *arrival)
{
    enum { CALLS_LEAST = 20, LAST_LEAST = 3, TIMES_OTHERS = 6 };
    struct comms_arrival_rank *latest = arrival->rank;
    uint64_t others_ns = 0;
    for (size_t i = 1; i < arrival->n; i++)
        latest = arrival->rank[i].alone_ns > latest->alone_ns ? &arrival->rank[i] : latest;
    if (arrival->calls < CALLS_LEAST || comms_arrival_waited(arrival) < 0.01)
        return NULL;
    for (size_t i = 0; i < arrival->n; i++)
        if (&arrival->rank[i] != latest && arrival->rank[i].alone_ns > others_ns)
            others_ns = arrival->rank[i].alone_ns;
    const double last = (double)latest->last, span_ns = (double)arrival->span_ns;
    if (last >= 0.8 * (double)arrival->calls && (double)latest->late_ns > 0.01 * span_ns)
        return latest;
    bool is_missed = latest->last >= LAST_LEAST && (double)latest->alone_ns > 0.05 * span_ns &&
                     latest->alone_ns >= TIMES_OTHERS * others_ns;
    return is_missed ? latest : NULL;
}

/* One thread may enqueue all ranks in turn. */
static bool is_in_turn(const struct comms_arrival *arrival, const struct comms_arrival_rank *latest)
{
    return arrival->one_process && latest->last == arrival->calls;
}

static void find_causes(const struct comms_communicator *communicator,
                        struct comms_arrival *arrival)
{
    for (size_t i = 0; i < arrival->n; i++) {
        const struct comms_rank *present = &communicator->present[i];
        struct comms_arrival_rank *rank = &arrival->rank[i];
        const uint32_t member = (uint32_t)(present->member - present->log->member);
        rank->pid = present->member->state == COMMS_FINALIZED ? 0 : present->log->header.pid;
        rank->spent = comms_spent_find(present->log, member, arrival->begin_ns,
                                       arrival->begin_ns + arrival->span_ns);
        rank->cause.part = COMMS_PARTS;
        if (rank->late_ns < arrival->rank[arrival->first].late_ns)
            arrival->first = i;
    }
    struct comms_arrival_rank *late = find_late(arrival);
    if (late && !is_in_turn(arrival, late))
        late->cause = comms_cause_find(&late->spent, &arrival->rank[arrival->first].spent,
                                       (double)late->alone_ns / (double)arrival->span_ns);
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
    while (!rc && next_common_call(tracks, n))
        add_times(tracks, arrival);
    if (!rc)
        find_causes(communicator, arrival);
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

static void judge_cause(const struct comms_arrival *arrival, const struct comms_arrival_rank *late,
                        const struct findings_about *about)
{
    const struct comms_arrival_rank *first = &arrival->rank[arrival->first];
    struct finding finding = {
        .id = "comms_late_cause", .severity = FINDING_DOUBT, .value = NAN, .low = NAN, .high = NAN};
    if (late->cause.part == COMMS_PARTS)
        return;
    text_set(finding.subject, "%s", about->subject);
    text_set(finding.command, late->pid ? "contend doctor --pid %" PRId64 : "contend doctor --live",
             late->pid);
    findings_putf(about->findings, &finding, "rank %u is late because it %s", late->rank,
                  comms_cause_text(&late->cause, &late->spent, &first->spent, first->rank));
}

void comms_arrival_judge(const struct comms_arrival *arrival, const struct findings_about *about)
{
    const struct comms_arrival_rank *latest = find_late(arrival);
    double calls = (double)arrival->calls;
    if (!latest)
        return;
    const char *behind = units_seconds((double)latest->late_ns / calls / 1e9);
    const char *each = units_seconds((double)arrival->span_ns / calls / 1e9);
    const char *waited = arrival->timed ? text_percent(comms_arrival_waited(arrival)) : "";
    if (is_in_turn(arrival, latest))
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
    judge_cause(arrival, latest, about);
}
