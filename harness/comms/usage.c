#include "harness/comms/findings.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "harness/comms/matrix.h"
#include "harness/comms/plugin/names.h"
#include "harness/comms/summary.h"
#include "harness/lib/str.h"
#include "harness/lib/units.h"

/* Thresholds: small calls per larger call, from which on small calls dominate; small calls in a row
 * that can be joined; and the ratio of the largest sum to the mean that counts as uneven. */
static const double small_to_large = 4, in_a_row = 4, uneven = 2;
/* Timed sizes must span this factor to give both a latency and a rate. */
static const double timed_span = 64;

struct judge {
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
static void count_calls(const struct judge *judge, uint32_t func, double below, double *small,
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
static double length_of_rows(const struct judge *judge, uint32_t func, double below)
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

static void judge_small(struct judge *judge, uint32_t func)
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

static void report_uneven(struct judge *judge, const struct sends *sends)
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

static void judge_sends(struct judge *judge)
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
        judge->about.rc = err_set(judge->about.err, -ENOMEM, "no memory for %zu ranks", n);
    }
    free(sends.by_rank);
    free(sends.by_pair);
}

int comms_usage_judge(const struct comms *comms, const struct comms_timeline *timeline,
                      struct findings *findings, struct err *err)
{
    struct judge judge = {.timeline = timeline, .about = {findings, err}};
    for (size_t i = 0; i < comms->n && !judge.about.rc; i++) {
        judge.communicator = &comms->communicator[i];
        judge.at = i;
        judge.about.subject = comms_call_communicator(judge.communicator, i);
        for (uint32_t func = COMMS_ALL_REDUCE; func < COMMS_FUNCS && !judge.about.rc; func++)
            if (func != COMMS_RECV)
                judge_small(&judge, func);
        if (!judge.about.rc)
            judge_sends(&judge);
    }
    return judge.about.rc;
}
