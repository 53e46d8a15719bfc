#include "harness/comms/json.h"

#include <inttypes.h>
#include <math.h>

#include "harness/comms/plugin/names.h"
#include "harness/lib/text.h"
#include "harness/record/json_value.h"

/* The smallest size of a bucket; -1 if the size was not kept. */
static int64_t bucket_bytes(uint32_t bucket)
{
    return bucket > 64 ? -1 : bucket ? (int64_t)(1ull << (bucket - 1)) : 0;
}

/* Calls by size. */
static json_t *sizes_to_json(const uint64_t *calls)
{
    json_t *sizes = json_array();
    for (uint32_t b = 0; b < COMMS_SIZES; b++)
        if (calls[b])
            json_value_append(&sizes,
                              json_value_object("from_bytes:N calls:I", bucket_bytes(b), calls[b]));
    return sizes;
}

static json_t *log_to_json(const struct comms_log *log)
{
    const struct comms_header *header = &log->header;
    return json_value_object("file:t host:t pid:I program:t interface:i start_ns:I events:I "
                             "events_dropped:I unknown_events:I timed_every:I untimed:I",
                             log->name, header->host, (int64_t)header->pid, header->program,
                             (int)header->interface, header->start_ns, (int64_t)log->all_events,
                             (int64_t)log->dropped, (int64_t)header->unknown_events,
                             (int64_t)header->timed_every, (int64_t)header->untimed);
}

static json_t *rank_to_json(const struct comms_rank *rank)
{
    return json_value_object("rank:i file:t state:t gpu:T", rank->rank, rank->log->name,
                             rank->member->state == COMMS_ALIVE ? "alive" : "finalized", rank->gpu);
}

static json_t *line_to_json(const struct comms_line *line, uint32_t nranks)
{
    const struct comms_speed speed = comms_line_speed(line, nranks);
    return json_value_object(
        "collective:t algorithm:t protocol:t captured:b calls:I bytes:I calls_least:I calls_most:I "
        "sizes:o timed_calls:I time_s:r algbw:r busbw:r",
        comms_func_name(line->func), comms_algo_name(line->algo), comms_proto_name(line->proto),
        line->captured, line->calls, line->bytes, line->least, line->most,
        sizes_to_json(line->sizes), line->timed_calls, speed.time, speed.algbw, speed.busbw);
}

static json_t *done_to_json(const struct comms_done *done)
{
    const struct comms_key *key = &done->count.key;
    return json_value_object("rank:i collective:t datatype:t algorithm:t protocol:t channels:i "
                             "captured:b peer:n from_bytes:N calls:I bytes:I",
                             done->rank, comms_func_name(key->func),
                             comms_datatype_name(key->datatype), comms_algo_name(key->algo),
                             comms_proto_name(key->proto), (int)key->channels, (int)key->captured,
                             (int)key->peer, bucket_bytes(key->bucket), done->count.calls,
                             done->count.bytes);
}

static json_t *cells_to_json(const struct comms_matrix *matrix, const uint64_t *cells, bool log)
{
    json_t *rows = json_array();
    for (size_t from = 0; from < matrix->n; from++)
        json_value_append(&rows, JSON_ARRAY(cell, cells + from * matrix->n, matrix->n,
                                            log ? json_value_real(comms_log10(*cell))
                                                : json_integer((json_int_t)*cell)));
    return rows;
}

/* Null if there are more ranks than a matrix may have. */
static json_t *matrix_to_json(const struct comms_matrix *matrix)
{
    if (!matrix->n)
        return json_null();
    return json_value_object(
        "how:t bytes:o calls:o unknown_calls:I unknown_bytes:I", comms_how_name(matrix->how),
        cells_to_json(matrix, matrix->bytes, false), cells_to_json(matrix, matrix->calls, false),
        matrix->unknown_calls, matrix->unknown_bytes);
}

/* {"rank", "last_calls", "late_s", "timed_s", "waited_s", "alone_s", "shares": {"cpu", "run_queue",
 * "throttled", "sleep"} | null without looks, "cpus", "cpus_used", "cause": as comms_cause_name |
 * null} */
static json_t *arrival_rank_to_json(const struct comms_arrival_rank *rank)
{
    const struct comms_spent *spent = &rank->spent;
    json_t *shares = spent->seconds > 0 ? json_object() : json_null();
    for (int part = 0; part < COMMS_PARTS; part++) /* fails for null */
        (void)json_object_set_new(shares, comms_cause_name(part), json_real(spent->share[part]));
    return json_value_object("rank:i last_calls:I late_s:r timed_s:r waited_s:r alone_s:r shares:o "
                             "cpus:i cpus_used:r cause:T",
                             rank->rank, rank->last, (double)rank->late_ns / 1e9,
                             (double)rank->timed_ns / 1e9, (double)rank->waited_ns / 1e9,
                             (double)rank->alone_ns / 1e9, shares, spent->cpus, spent->cpus_used,
                             comms_cause_name(rank->cause.part));
}

/*
 * {"calls", "span_s", "timed_calls", "waited_share" | null, "ranks": [as arrival_rank_to_json]};
 * null if there is nothing to compare.
 */
static json_t *arrival_to_json(const struct comms_arrival *arrival)
{
    if (!arrival->calls)
        return json_null();
    json_t *ranks = JSON_ARRAY(rank, arrival->rank, arrival->n, arrival_rank_to_json(rank));
    return json_value_object("calls:I span_s:r timed_calls:I waited_share:r ranks:o",
                             arrival->calls, (double)arrival->span_ns / 1e9, arrival->timed,
                             comms_arrival_waited(arrival), ranks);
}

static json_t *communicator_to_json(const struct comms_communicator *communicator)
{
    return json_value_object(
        "id:t name:T ranks:i nodes:i ranks_told:b present:o calls:o matrix:o arrival:o done:o",
        str_fmt("%016" PRIx64, communicator->id), communicator->name, communicator->nranks,
        communicator->nodes, communicator->size_known,
        JSON_ARRAY(rank, communicator->present, communicator->npresent, rank_to_json(rank)),
        JSON_ARRAY(line, communicator->work.line, communicator->work.n,
                   line_to_json(line, communicator->nranks)),
        matrix_to_json(&communicator->matrix), arrival_to_json(&communicator->arrival),
        JSON_ARRAY(done, communicator->done, communicator->ndone, done_to_json(done)));
}

/* ---- all together ---- */

static json_t *gpu_to_json(const struct comms_total *total, const struct comms_gpu *gpu)
{
    const struct comms_header *header = gpu->log ? &gpu->log->header : NULL;
    return json_value_object("gpu:i name:t pci:T host:T pid:N", (int)(gpu - total->gpu),
                             comms_call_gpu(gpu), gpu->pci, header ? header->host : "",
                             header ? (int64_t)header->pid : (int64_t)-1);
}

/* The GPU of each rank. */
static json_t *ranks_to_json(const struct comms_view *view)
{
    json_t *ranks = json_array();
    for (size_t c = 0; c < view->total.ncommunicators; c++)
        for (uint32_t rank = 0; view->total.gpu_of[c] && rank < view->comms.communicator[c].nranks;
             rank++)
            if (view->total.gpu_of[c][rank] != COMMS_NO_GPU)
                json_value_append(&ranks, json_value_object("communicator:z rank:i gpu:i", c, rank,
                                                            view->total.gpu_of[c][rank]));
    return ranks;
}

static json_t *total_to_json(const struct comms_view *view)
{
    const struct comms_matrix *matrix = &view->total.matrix;
    if (view->total_note[0])
        return json_null();
    return json_value_object(
        "how:t assumed:b left_out:z gpus:o ranks:o bytes:o calls:o bytes_log10:o calls_log10:o "
        "unknown_calls:I unknown_bytes:I",
        comms_how_name(matrix->how), view->total.assumed, view->total.left_out,
        JSON_ARRAY(gpu, view->total.gpu, matrix->n, gpu_to_json(&view->total, gpu)),
        ranks_to_json(view), cells_to_json(matrix, matrix->bytes, false),
        cells_to_json(matrix, matrix->calls, false), cells_to_json(matrix, matrix->bytes, true),
        cells_to_json(matrix, matrix->calls, true), matrix->unknown_calls, matrix->unknown_bytes);
}

static json_t *link_to_json(const struct comms_view *view, const struct comms_link *link)
{
    return json_value_object("name:t gpu:i bytes:I gbps:r share:r",
                             comms_call_link(&view->total, link), link->gpu, link->bytes,
                             link->gbps > 0 ? link->gbps : (double)NAN,
                             comms_link_share(&view->links, link));
}

/* ---- what NVLink counted ---- */

static json_t *side_to_json(uint64_t called, uint64_t counted)
{
    return json_value_object("called_bytes:I counted_bytes:I unexplained_bytes:I ratio:r", called,
                             counted, (int64_t)(counted - called),
                             called ? (double)counted / (double)called : (double)NAN);
}

static json_t *nvlink_gpu_to_json(const struct comms_nvlink_check_gpu *gpu)
{
    return json_value_object("host:t pci_bdf:t ranks:z sent:o received:o", gpu->host, gpu->pci,
                             gpu->ranks, side_to_json(gpu->sum.sent, gpu->sum.counted_sent),
                             side_to_json(gpu->sum.received, gpu->sum.counted_received));
}

/* Machines without counts, and the reason that they recorded. */
static json_t *not_counted_to_json(const struct comms_counters *counters)
{
    json_t *all = json_array();
    for (size_t i = 0; i < counters->n; i++) {
        const char *why = comms_counted_why(&counters->counted[i]);
        if (why[0])
            json_value_append(&all,
                              json_value_object("host:t why:t", counters->counted[i].host, why));
    }
    return all;
}

/*
 * {"gpus": [{"host", "pci_bdf", "ranks", "sent": SIDE, "received": SIDE}],
 *  "all": {"sent": SIDE, "received": SIDE}, "flags_bytes", "elsewhere_bytes", "left_out",
 *  "not_counted": [{"host", "why"}]}
 * with SIDE = {"called_bytes", "counted_bytes", "unexplained_bytes", "ratio" | null if nothing was
 * called}; null if no counters were read.
 */
static json_t *nvlink_to_json(const struct comms_view *view)
{
    const struct comms_nvlink_check *check = &view->nvlink_check;
    if (!view->counters.n)
        return json_null();
    const struct comms_nvlink_check_sum sum = comms_nvlink_check_all(check);
    json_t *all = json_value_object("sent:o received:o", side_to_json(sum.sent, sum.counted_sent),
                                    side_to_json(sum.received, sum.counted_received));
    return json_value_object(
        "gpus:o all:o flags_bytes:I elsewhere_bytes:I left_out:z not_counted:o",
        JSON_ARRAY(gpu, check->gpu, check->n, nvlink_gpu_to_json(gpu)), all, sum.flags,
        check->elsewhere, check->left_out, not_counted_to_json(&view->counters));
}

/* ---- the whole ---- */

json_t *comms_to_json(const struct comms_view *view)
{
    return json_value_object(
        "schema_version:i logs:o communicators:o total:o links:o links_unknown_bytes:I nvlink:o "
        "findings:o",
        1, JSON_ARRAY(log, view->logs.log, view->logs.n, log_to_json(log)),
        JSON_ARRAY(each, view->comms.communicator, view->comms.n, communicator_to_json(each)),
        total_to_json(view),
        JSON_ARRAY(link, view->links.link, view->links.n, link_to_json(view, link)),
        view->links.unknown_bytes, nvlink_to_json(view), findings_to_json(&view->findings));
}
