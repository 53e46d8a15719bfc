#include "harness/comms/findings.h"

#include <inttypes.h>
#include <stdbool.h>

#include "harness/comms/plugin/names.h"
#include "harness/lib/str.h"
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
                        " events: each log keeps the last %d. Sums include them.",
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

int comms_judge(const struct comms_logs *logs, const struct comms *comms, struct findings *findings,
                struct err *err)
{
    struct judge judge = {.about = {findings, err}};
    for (size_t i = 0; i < comms->n; i++)
        judge.counted |= comms->communicator[i].ndone > 0;
    judge_logs(&judge, logs);
    judge_unidentified(&judge, comms->unidentified);
    for (size_t i = 0; i < comms->n && !judge.about.rc; i++) {
        judge.communicator = &comms->communicator[i];
        judge.about.subject = comms_call_communicator(judge.communicator, i);
        judge_communicator(&judge);
    }
    return judge.about.rc;
}
