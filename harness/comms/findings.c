#include "harness/comms/findings.h"

#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "harness/comms/matrix.h"
#include "harness/comms/plugin/names.h"
#include "harness/comms/summary.h"
#include "harness/lib/text.h"

struct judge {
    bool counted;                                  /* some communicator has a call */
    const struct comms_communicator *communicator; /* NULL: findings are about the whole command */
    size_t lacking;                                /* of its ranks: count_lacking */
    struct findings_about about;
};

const char *comms_call_communicator(const struct comms_communicator *communicator, size_t at)
{
    return text_one_line(str_fmt("communicator %zu (%s%s%016" PRIx64 ")", at + 1,
                                 communicator->name, communicator->name[0] ? ", " : "",
                                 communicator->id));
}

/* ---- of a communicator ---- */

/* Ranks whose log was last copied before they ended. */
static size_t count_lacking(const struct comms_communicator *communicator)
{
    size_t n = 0;
    for (size_t i = 0; i < communicator->npresent; i++)
        n += communicator->present[i].member->state == COMMS_ALIVE &&
             communicator->present[i].log->header.copied_ns;
    return n;
}

static void judge_ranks(struct judge *judge)
{
    const struct comms_communicator *communicator = judge->communicator;
    size_t present = comms_ranks_present(communicator), alive = 0;
    for (size_t i = 0; i < communicator->npresent; i++)
        alive += communicator->present[i].member->state == COMMS_ALIVE;
    if (present < communicator->nranks)
        findings_report(&judge->about, "comms_missing", FINDING_DOUBT,
                        "%u of %u ranks wrote no log here: their traffic is missing",
                        (unsigned)(communicator->nranks - present), communicator->nranks);
    if (present < communicator->npresent)
        findings_report(
            &judge->about, "comms_twice", FINDING_DOUBT,
            "a rank is in several logs, and their sums are added: are all logs of one command?");
    if (alive && alive < communicator->npresent)
        findings_report(
            &judge->about, "comms_alive", FINDING_NOTE,
            "%zu of %zu ranks did not destroy it: they were killed, or ended without it%s", alive,
            communicator->npresent, judge->lacking ? "" : "; their calls until then are here");
    if (judge->lacking)
        findings_report(&judge->about, "comms_lacking", FINDING_NOTE,
                        "%zu of %zu ranks were killed or still run: their logs lack up to the last "
                        "30 s, so sums of ranks may disagree",
                        judge->lacking, communicator->npresent);
    if (!communicator->size_known)
        findings_report(
            &judge->about, "comms_size_not_told", FINDING_NOTE,
            "NCCL before 2.27 does not report the number of ranks: %u were seen or named by others",
            communicator->nranks);
}

/* Frameworks make communicators that they never use. But if no communicator has a call, NCCL may
 * not report calls at all. */
static void judge_unused(struct judge *judge)
{
    if (judge->communicator->ndone || judge->communicator->nranks < 2)
        return;
    findings_report(&judge->about, "comms_no_calls",
                    judge->counted || judge->lacking ? FINDING_NOTE : FINDING_DOUBT,
                    "NCCL reported no call of it: %s",
                    judge->lacking   ? "until its logs were last copied"
                    : judge->counted ? "it was made, but not used"
                                     : "it was not used, or this NCCL does not report calls to the "
                                       "plugin (NCCL_DEBUG=INFO names what is loaded)");
}

static void judge_line(struct judge *judge, const struct comms_line *line)
{
    const char *name = comms_func_name(line->func);
    if (!comms_is_point_to_point(line->func) && line->func != COMMS_FUNC_OTHER &&
        line->least != line->most)
        findings_report(&judge->about, "comms_uneven",
                        judge->lacking ? FINDING_NOTE : FINDING_DOUBT,
                        "%s by %s %s: %" PRIu64 " calls of one rank but %" PRIu64
                        " of another, though collectives need all ranks",
                        name, comms_algo_name(line->algo), comms_proto_name(line->proto),
                        line->least, line->most);
    if (line->captured)
        findings_report(&judge->about, "comms_captured", FINDING_NOTE,
                        "%s: %" PRIu64
                        " calls were captured in CUDA graphs: NCCL reports them once, or at each "
                        "replay if a proxy takes part, without saying which",
                        name, line->calls);
    if (line->any_size)
        findings_report(&judge->about, "comms_coarse", FINDING_NOTE,
                        "%s: %" PRIu64
                        " calls were counted without details: there were too many kinds",
                        name, line->any_size);
}

/* Calls of the program for which NCCL reported no work. */
static void judge_unreported(struct judge *judge, const struct comms_summary *called,
                             const struct comms_summary *work)
{
    for (size_t i = 0; i < called->n; i++) {
        const struct comms_line *line = &called->line[i];
        uint64_t done = 0, bytes = 0;
        for (size_t j = 0; j < work->n; j++) {
            bool same = work->line[j].func == line->func && !work->line[j].captured;
            done += same ? work->line[j].calls : 0;
            bytes += same ? work->line[j].bytes : 0;
        }
        if (line->captured || line->calls <= done)
            continue;
        bool pairs = comms_is_point_to_point(line->func);
        findings_report(
            &judge->about, "comms_untold", pairs ? FINDING_NOTE : FINDING_DOUBT,
            "%s: NCCL reports no work of %" PRIu64 " calls (%" PRIu64
            " bytes): %s, or not begun at the end",
            comms_func_name(line->func), line->calls - done,
            line->bytes > bytes ? line->bytes - bytes : 0,
            pairs ? "what a rank sends to itself in place"
                  : "kernels on symmetric memory, broadcasts joined into one, copy engines before "
                    "2.29.7");
    }
}

static void judge_types(struct judge *judge)
{
    uint64_t unnamed = 0, other = 0;
    for (size_t i = 0; i < judge->communicator->ndone; i++) {
        const struct comms_done *done = &judge->communicator->done[i];
        if (done->count.key.algo == COMMS_CALLED || done->count.key.bucket == COMMS_BUCKET_ANY)
            continue;
        unnamed += done->count.key.datatype == COMMS_UINT8 ? done->count.calls : 0;
        other += done->count.key.datatype == COMMS_TYPE_OTHER ? done->count.calls : 0;
    }
    if (unnamed)
        findings_report(&judge->about, "comms_uint8", FINDING_NOTE,
                        "calls of a type without a name: %" PRIu64
                        "; in NCCL only uint8 has none, so they count as one byte an element",
                        unnamed);
    if (other)
        findings_report(&judge->about, "comms_type", FINDING_DOUBT,
                        "calls of an unknown type: %" PRIu64 "; their bytes are not counted",
                        other);
}

static void judge_communicator(struct judge *judge)
{
    const struct comms_communicator *communicator = judge->communicator;
    judge->lacking = count_lacking(communicator);
    judge_ranks(judge);
    judge_unused(judge);
    for (size_t i = 0; i < communicator->work.n; i++)
        judge_line(judge, &communicator->work.line[i]);
    judge_unreported(judge, &communicator->called, &communicator->work);
    judge_types(judge);
    comms_arrival_judge(&communicator->arrival, &judge->about);
}

/* ---- of the whole ---- */

static void judge_logs(struct judge *judge, const struct comms_logs *logs)
{
    uint64_t dropped = 0, unplaced = 0, bytes = 0, unknown = 0, left_out = 0;
    for (size_t i = 0; i < logs->n; i++) {
        const struct comms_header *header = &logs->log[i].header;
        dropped += logs->log[i].dropped;
        unplaced += header->unplaced_calls;
        bytes += header->unplaced_bytes;
        unknown += header->unknown_events;
        left_out += header->nmembers > COMMS_MEMBERS ? header->nmembers - COMMS_MEMBERS : 0;
    }
    if (dropped)
        findings_report(&judge->about, "comms_dropped", FINDING_NOTE,
                        "The timelines lack their first %" PRIu64
                        " events: each log keeps at most the last %d. Sums include them.",
                        dropped, COMMS_EVENTS);
    if (unplaced)
        findings_report(&judge->about, "comms_unplaced", FINDING_DOUBT,
                        "%" PRIu64 " calls of %" PRIu64 " bytes exceeded the tables of their logs.",
                        unplaced, bytes);
    if (unknown)
        findings_report(&judge->about, "comms_unknown", FINDING_NOTE,
                        "NCCL reported %" PRIu64 " events of unknown types.", unknown);
    if (left_out)
        findings_report(&judge->about, "comms_left_out", FINDING_DOUBT,
                        "%" PRIu64
                        " communicators more than the %d that a log has room for were not watched.",
                        left_out, COMMS_MEMBERS);
}

static void judge_unidentified(struct judge *judge, size_t unidentified)
{
    if (unidentified)
        findings_report(&judge->about, "comms_silent",
                        judge->counted ? FINDING_NOTE : FINDING_DOUBT,
                        "%zu ranks began, but NCCL reported no calls; before 2.27 their "
                        "communicator is then unknown.",
                        unidentified);
}

void comms_judge(const struct comms_logs *logs, const struct comms *comms,
                 struct findings *findings)
{
    struct judge judge = {.about = {findings}};
    for (size_t i = 0; i < comms->n; i++)
        judge.counted |= comms->communicator[i].ndone > 0;
    judge_logs(&judge, logs);
    judge_unidentified(&judge, comms->unidentified);
    for (size_t i = 0; i < comms->n; i++) {
        judge.communicator = &comms->communicator[i];
        judge.about.subject = comms_call_communicator(judge.communicator, i);
        judge_communicator(&judge);
    }
}

/* Thresholds: small calls per larger call, from which on small calls dominate; small calls in a row
 * that can be joined; and the ratio of the largest sum to the mean that counts as uneven. */
static const double small_to_large = 4, in_a_row = 4, uneven = 2;
/* Timed sizes must span this factor to give both a latency and a rate. */
static const double timed_span = 64;

struct usage_judge {
    const struct comms_communicator *communicator;
    size_t at;
    const struct comms_timeline *timeline;
    struct findings_about about;
};

/* ---- small calls ---- */

struct comms_knee comms_knee_of(const struct comms_communicator *communicator, uint32_t func)
{
    struct comms_knee knee = {NAN, NAN, COMMS_SMALL_BYTES};
    double least = INFINITY, most = 0;
    for (size_t i = 0; i < communicator->ndone; i++) {
        const struct comms_count *count = &communicator->done[i].count;
        if (count->key.func != func || !count->timed_calls || !count->timed_ns ||
            !count->timed_bytes)
            continue;
        double calls = (double)count->timed_calls, seconds = (double)count->timed_ns * 1e-9;
        double size = (double)count->timed_bytes / calls;
        least = fmin(least, size);
        most = fmax(most, size);
        knee.latency_s = fmin(knee.latency_s, seconds / calls); /* fmin ignores NaN */
        knee.rate = fmax(knee.rate, (double)count->timed_bytes / seconds);
    }
    if (most >= timed_span * least)
        knee.bytes = knee.latency_s * knee.rate;
    return knee;
}

/* Counts small and large calls of the rank that made the most small calls. */
static void count_calls(const struct usage_judge *judge, uint32_t func, double below, double *small,
                        double *large)
{
    double calls[2] = {0, 0};
    *small = *large = 0;
    for (size_t i = 0; i < judge->communicator->ndone; i++) {
        const struct comms_done *done = &judge->communicator->done[i];
        const struct comms_key *key = &done->count.key;
        bool is_last = i + 1 == judge->communicator->ndone || done[1].rank != done->rank;
        if (key->func == func && key->algo != COMMS_CALLED && key->bucket < COMMS_SIZES &&
            done->count.calls)
            calls[(double)done->count.bytes / (double)done->count.calls >= below] +=
                (double)done->count.calls;
        if (!is_last)
            continue;
        if (calls[0] > *small) {
            *small = calls[0];
            *large = calls[1];
        }
        calls[0] = calls[1] = 0;
    }
}

/* How many small calls the first rank enqueues in a row on this communicator, on average. */
static double length_of_rows(const struct usage_judge *judge, uint32_t func, double below)
{
    double small = 0, rows = 0;
    bool open = false;
    uint32_t rank = judge->communicator->npresent ? judge->communicator->present[0].rank : 0;
    for (size_t i = 0; i < judge->timeline->n; i++) {
        const struct comms_moment *moment = &judge->timeline->moment[i];
        if (moment->communicator != judge->at || moment->rank != rank)
            continue;
        bool is_small = comms_key_unpack(moment->key).func == func && (double)moment->bytes < below;
        small += is_small;
        rows += is_small && !open;
        open = is_small;
    }
    return rows > 0 ? small / rows : 0;
}

static void judge_small(struct usage_judge *judge, uint32_t func)
{
    const struct comms_knee knee = comms_knee_of(judge->communicator, func);
    double small, large;
    const char *cost = "", *limit, *calls;
    count_calls(judge, func, knee.bytes, &small, &large);
    if (small < COMMS_SMALL_CALLS || small < small_to_large * large)
        return;
    double row = length_of_rows(judge, func, knee.bytes);
    limit = units_bytes((uint64_t)knee.bytes);
    if (!isnan(knee.latency_s))
        cost = str_fmt("; at %s each that is %s of each rank", units_seconds(knee.latency_s),
                       units_seconds(knee.latency_s * small));
    const char *evidence = str_fmt("%.0f calls below %s, %.0f above, %.1f in a row%s", small, limit,
                                   large, row, isnan(knee.latency_s) ? "; not timed" : "");
    calls = units_si(small);
    judge->about.evidence = evidence;
    if (row >= in_a_row && func != COMMS_SEND)
        findings_report(
            &judge->about, "comms_many_small", FINDING_DOUBT,
            "%s calls of %s are below %s, where a call is mostly latency%s. They come %.0f in a "
            "row: join them by larger buckets or ncclGroupStart and ncclGroupEnd",
            calls, comms_func_name(func), limit, cost, row);
    else
        findings_report(&judge->about, "comms_below_knee", FINDING_DOUBT,
                        "%s calls of %s are below %s, where a call is mostly latency%s, with other "
                        "calls between them: send less often, or overlap them with work",
                        calls, comms_func_name(func), limit, cost);
}

/* ---- uneven sends ---- */

struct sends {
    uint64_t *by_rank, *by_pair; /* owned */
    uint64_t all, most_rank, most_pair;
    uint32_t rank, from, to; /* that sent the most */
    size_t pairs;
};

static void add_sends(const struct comms_communicator *communicator, struct sends *sends)
{
    uint32_t n = communicator->nranks;
    for (size_t i = 0; i < communicator->ndone; i++) {
        const struct comms_done *done = &communicator->done[i];
        const struct comms_key *key = &done->count.key;
        if (key->func != COMMS_SEND || key->algo == COMMS_CALLED || key->peer < 0 ||
            (uint32_t)key->peer >= n || (uint32_t)key->peer == done->rank)
            continue;
        sends->by_rank[done->rank] += done->count.bytes;
        sends->by_pair[(size_t)done->rank * n + (uint32_t)key->peer] += done->count.bytes;
        sends->all += done->count.bytes;
    }
    for (uint32_t from = 0; from < n; from++) {
        if (sends->by_rank[from] > sends->most_rank) {
            sends->most_rank = sends->by_rank[from];
            sends->rank = from;
        }
        for (uint32_t to = 0; to < n; to++) {
            uint64_t bytes = sends->by_pair[(size_t)from * n + to];
            sends->pairs += bytes > 0;
            if (bytes > sends->most_pair) {
                sends->most_pair = bytes;
                sends->from = from;
                sends->to = to;
            }
        }
    }
}

static void report_uneven(struct usage_judge *judge, const struct sends *sends)
{
    uint32_t n = judge->communicator->nranks;
    double by_rank = (double)sends->all / n;
    double by_pair = (double)sends->all / (double)(sends->pairs ? sends->pairs : 1);
    if (sends->all < COMMS_UNEVEN_BYTES)
        return;
    if ((double)sends->most_rank >= uneven * by_rank && n > 2) {
        judge->about.evidence = str_fmt("rank %u sent %sB, a rank on average %sB", sends->rank,
                                        units_si((double)sends->most_rank), units_si(by_rank));
        findings_report(&judge->about, "comms_uneven_ranks", FINDING_DOUBT,
                        "rank %u sends %.1f times the mean of all ranks: the others wait for it. "
                        "Distribute its data, or place it closest to the others",
                        sends->rank, (double)sends->most_rank / by_rank);
    }
    /* Ranks with one or two neighbours form a pipeline, whose ends are uneven by nature. */
    if ((double)sends->most_pair >= uneven * by_pair && sends->pairs >= 2 * (size_t)n && n > 2) {
        judge->about.evidence =
            str_fmt("%u to %u %sB, a pair on average %sB", sends->from, sends->to,
                    units_si((double)sends->most_pair), units_si(by_pair));
        findings_report(&judge->about, "comms_uneven_peers", FINDING_DOUBT,
                        "rank %u sends %.1f times as much to rank %u as the average pair, and an "
                        "exchange lasts as long as its largest pair: balance the exchange (for "
                        "experts: their load), or place the two close together",
                        sends->from, (double)sends->most_pair / by_pair, sends->to);
    }
}

static void judge_sends(struct usage_judge *judge)
{
    size_t n = judge->communicator->nranks;
    struct sends sends = {0};
    if (n < 2 || n > COMMS_MATRIX_RANKS)
        return;
    sends.by_rank = calloc(n, sizeof(*sends.by_rank));
    sends.by_pair = calloc(n * n, sizeof(*sends.by_pair));
    if (sends.by_rank && sends.by_pair) {
        add_sends(judge->communicator, &sends);
        report_uneven(judge, &sends);
    } else {
        judge->about.findings->failed = true;
    }
    free(sends.by_rank);
    free(sends.by_pair);
}

void comms_usage_judge(const struct comms *comms, const struct comms_timeline *timeline,
                       struct findings *findings)
{
    struct usage_judge judge = {.timeline = timeline, .about = {findings}};
    for (size_t i = 0; i < comms->n; i++) {
        judge.communicator = &comms->communicator[i];
        judge.at = i;
        judge.about.subject = comms_call_communicator(judge.communicator, i);
        for (uint32_t func = COMMS_ALL_REDUCE; func < COMMS_FUNCS; func++)
            if (func != COMMS_RECV)
                judge_small(&judge, func);
        judge_sends(&judge);
    }
}
