#include "harness/comms/json.h"

#include <inttypes.h>

#include "harness/comms/plugin/names.h"
#include "harness/lib/str.h"
#include "harness/record/json_value.h"

static json_t *uint_to_json(uint64_t value)
{
    return json_integer((json_int_t)value);
}

/* The smallest size of a bucket; null if the size was not kept. */
static json_t *bucket_to_json(uint32_t bucket)
{
    if (bucket > 64)
        return json_null();
    return uint_to_json(bucket ? 1ull << (bucket - 1) : 0);
}

/* Calls by size. */
static json_t *sizes_to_json(const uint64_t *calls)
{
    json_t *sizes = json_array();
    for (uint32_t b = 0; b < COMMS_SIZES; b++)
        if (calls[b])
            (void)json_array_append_new(sizes,
                                        json_pack("{s:o, s:o}", "from_bytes", bucket_to_json(b),
                                                  "calls", uint_to_json(calls[b])));
    return sizes;
}

static json_t *log_to_json(const struct comms_log *log)
{
    return json_pack(
        "{s:o, s:o, s:o, s:o, s:i, s:o, s:o, s:o, s:o, s:o, s:o}", "file",
        json_value_text(log->name), "host", json_value_text(log->header.host), "pid",
        uint_to_json((uint64_t)log->header.pid), "program", json_value_text(log->header.program),
        "interface", (int)log->header.interface, "start_ns", uint_to_json(log->header.start_ns),
        "events", uint_to_json(log->all_events), "events_dropped", uint_to_json(log->dropped),
        "unknown_events", uint_to_json(log->header.unknown_events), "timed_every",
        uint_to_json(log->header.timed_every), "untimed", uint_to_json(log->header.untimed));
}

static json_t *present_to_json(const struct comms_communicator *communicator)
{
    return JSON_LIST(rank, communicator->present, communicator->npresent,
                     json_pack("{s:i, s:o, s:s, s:o}", "rank", (int)rank->rank, "file",
                               json_value_text(rank->log->name), "state",
                               rank->member->state == COMMS_ALIVE ? "alive" : "finalized", "gpu",
                               json_value_text_or_null(rank->gpu)));
}

static json_t *line_to_json(const struct comms_line *line, uint32_t nranks)
{
    const struct comms_speed speed = comms_line_speed(line, nranks);
    return json_pack("{s:s, s:s, s:s, s:b, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}",
                     "collective", comms_func_name(line->func), "algorithm",
                     comms_algo_name(line->algo), "protocol", comms_proto_name(line->proto),
                     "captured", line->captured, "calls", uint_to_json(line->calls), "bytes",
                     uint_to_json(line->bytes), "calls_least", uint_to_json(line->least),
                     "calls_most", uint_to_json(line->most), "sizes", sizes_to_json(line->sizes),
                     "timed_calls", uint_to_json(line->timed_calls), "time_s",
                     json_value_real(speed.time), "algbw", json_value_real(speed.algbw), "busbw",
                     json_value_real(speed.busbw));
}

static json_t *done_to_json(const struct comms_done *done)
{
    const struct comms_key *key = &done->count.key;
    return json_pack("{s:i, s:s, s:s, s:s, s:s, s:i, s:b, s:o, s:o, s:o, s:o}", "rank",
                     (int)done->rank, "collective", comms_func_name(key->func), "datatype",
                     comms_datatype_name(key->datatype), "algorithm", comms_algo_name(key->algo),
                     "protocol", comms_proto_name(key->proto), "channels", (int)key->channels,
                     "captured", (int)key->captured, "peer",
                     key->peer < 0 ? json_null() : json_integer(key->peer), "from_bytes",
                     bucket_to_json(key->bucket), "calls", uint_to_json(done->count.calls), "bytes",
                     uint_to_json(done->count.bytes));
}

static json_t *row_to_json(const uint64_t *cells, size_t n, bool log)
{
    return JSON_LIST(cell, cells, n,
                     log ? json_value_real(comms_log10(*cell)) : uint_to_json(*cell));
}

static json_t *cells_to_json(const struct comms_matrix *matrix, const uint64_t *cells, bool log)
{
    json_t *rows = json_array();
    for (size_t from = 0; from < matrix->n; from++)
        (void)json_array_append_new(rows, row_to_json(cells + from * matrix->n, matrix->n, log));
    return rows;
}

/* Null if there are more ranks than a matrix may have. */
static json_t *matrix_to_json(const struct comms_matrix *matrix)
{
    if (!matrix->n)
        return json_null();
    return json_pack("{s:s, s:o, s:o, s:o, s:o}", "how", comms_how_name(matrix->how), "bytes",
                     cells_to_json(matrix, matrix->bytes, false), "calls",
                     cells_to_json(matrix, matrix->calls, false), "unknown_calls",
                     uint_to_json(matrix->unknown_calls), "unknown_bytes",
                     uint_to_json(matrix->unknown_bytes));
}

/*
 * {"calls", "span_s", "timed_calls", "waited_share" | null, "ranks": [{"rank", "last_calls",
 *   "late_s", "timed_s", "waited_s"}]}; null if there is nothing to compare.
 */
static json_t *arrival_to_json(const struct comms_arrival *arrival)
{
    if (!arrival->calls)
        return json_null();
    json_t *ranks = JSON_LIST(
        rank, arrival->rank, arrival->n,
        json_pack("{s:i, s:I, s:f, s:f, s:f}", "rank", (int)rank->rank, "last_calls",
                  (json_int_t)rank->last, "late_s", (double)rank->late_ns / 1e9, "timed_s",
                  (double)rank->timed_ns / 1e9, "waited_s", (double)rank->waited_ns / 1e9));
    return json_pack("{s:I, s:f, s:I, s:o, s:o}", "calls", (json_int_t)arrival->calls, "span_s",
                     (double)arrival->span_ns / 1e9, "timed_calls", (json_int_t)arrival->timed,
                     "waited_share", json_value_real(comms_arrival_waited(arrival)), "ranks",
                     ranks);
}

static json_t *communicator_to_json(const struct comms_communicator *communicator)
{
    json_t *calls = JSON_LIST(line, communicator->work.line, communicator->work.n,
                              line_to_json(line, communicator->nranks));
    json_t *done = JSON_LIST(each, communicator->done, communicator->ndone, done_to_json(each));
    const char *id = str_fmt("%016" PRIx64, communicator->id);
    return json_pack("{s:s, s:o, s:i, s:i, s:b, s:o, s:o, s:o, s:o, s:o}", "id", id, "name",
                     json_value_text_or_null(communicator->name), "ranks",
                     (int)communicator->nranks, "nodes", (int)communicator->nodes, "ranks_told",
                     communicator->size_known, "present", present_to_json(communicator), "calls",
                     calls, "matrix", matrix_to_json(&communicator->matrix), "arrival",
                     arrival_to_json(&communicator->arrival), "done", done);
}

/* ---- all together ---- */

static json_t *gpu_to_json(const struct comms_total *total, const struct comms_gpu *gpu)
{
    return json_pack("{s:i, s:o, s:o, s:o, s:o}", "gpu", (int)(gpu - total->gpu), "name",
                     json_value_text(comms_call_gpu(gpu)), "pci", json_value_text_or_null(gpu->pci),
                     "host", json_value_text_or_null(gpu->log ? gpu->log->header.host : ""), "pid",
                     gpu->log ? uint_to_json((uint64_t)gpu->log->header.pid) : json_null());
}

/* The GPU of each rank. */
static json_t *ranks_to_json(const struct comms_view *view)
{
    json_t *ranks = json_array();
    for (size_t c = 0; c < view->total.ncommunicators; c++)
        for (uint32_t rank = 0; view->total.gpu_of[c] && rank < view->comms.communicator[c].nranks;
             rank++)
            if (view->total.gpu_of[c][rank] != COMMS_NO_GPU)
                (void)json_array_append_new(ranks, json_pack("{s:i, s:i, s:i}", "communicator",
                                                             (int)c, "rank", (int)rank, "gpu",
                                                             (int)view->total.gpu_of[c][rank]));
    return ranks;
}

static json_t *total_to_json(const struct comms_view *view)
{
    const struct comms_matrix *matrix = &view->total.matrix;
    if (view->total_note[0])
        return json_null();
    return json_pack(
        "{s:s, s:b, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "how",
        comms_how_name(matrix->how), "assumed", view->total.assumed, "left_out",
        uint_to_json(view->total.left_out), "gpus",
        JSON_LIST(gpu, view->total.gpu, matrix->n, gpu_to_json(&view->total, gpu)), "ranks",
        ranks_to_json(view), "bytes", cells_to_json(matrix, matrix->bytes, false), "calls",
        cells_to_json(matrix, matrix->calls, false), "bytes_log10",
        cells_to_json(matrix, matrix->bytes, true), "calls_log10",
        cells_to_json(matrix, matrix->calls, true), "unknown_calls",
        uint_to_json(matrix->unknown_calls), "unknown_bytes", uint_to_json(matrix->unknown_bytes));
}

static json_t *link_to_json(const struct comms_view *view, const struct comms_link *link)
{
    return json_pack("{s:o, s:i, s:o, s:o, s:o}", "name",
                     json_value_text(comms_call_link(&view->total, link)), "gpu", (int)link->gpu,
                     "bytes", uint_to_json(link->bytes), "gbps",
                     link->gbps > 0 ? json_real(link->gbps) : json_null(), "share",
                     json_value_real(comms_link_share(&view->links, link)));
}

/* ---- what NVLink counted ---- */

static json_t *nvlink_check_side_to_json(uint64_t called, uint64_t counted)
{
    return json_pack("{s:I, s:I, s:I, s:o}", "called_bytes", (json_int_t)called, "counted_bytes",
                     (json_int_t)counted, "unexplained_bytes", (json_int_t)(counted - called),
                     "ratio", called ? json_real((double)counted / (double)called) : json_null());
}

static json_t *nvlink_check_gpu_to_json(const struct comms_nvlink_check_gpu *gpu)
{
    return json_pack("{s:o, s:s, s:i, s:o, s:o}", "host", json_value_text(gpu->host), "pci_bdf",
                     gpu->pci, "ranks", (int)gpu->ranks, "sent",
                     nvlink_check_side_to_json(gpu->sum.sent, gpu->sum.counted_sent), "received",
                     nvlink_check_side_to_json(gpu->sum.received, gpu->sum.counted_received));
}

/* Machines without counts, and the reason that they recorded. */
static json_t *not_counted_to_json(const struct comms_counters *counters)
{
    json_t *all = json_array();
    for (size_t i = 0; i < counters->n; i++) {
        const char *why = comms_counted_why(&counters->counted[i]);
        if (why[0])
            (void)json_array_append_new(all, json_pack("{s:o, s:o}", "host",
                                                       json_value_text(counters->counted[i].host),
                                                       "why", json_value_text(why)));
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
static json_t *nvlink_check_to_json(const struct comms_nvlink_check *nvlink_check,
                                    const struct comms_counters *counters)
{
    if (!counters->n)
        return json_null();
    const struct comms_nvlink_check_sum sum = comms_nvlink_check_all(nvlink_check);
    json_t *gpus =
        JSON_LIST(gpu, nvlink_check->gpu, nvlink_check->n, nvlink_check_gpu_to_json(gpu));
    return json_pack("{s:o, s:{s:o, s:o}, s:I, s:I, s:i, s:o}", "gpus", gpus, "all", "sent",
                     nvlink_check_side_to_json(sum.sent, sum.counted_sent), "received",
                     nvlink_check_side_to_json(sum.received, sum.counted_received), "flags_bytes",
                     (json_int_t)sum.flags, "elsewhere_bytes", (json_int_t)nvlink_check->elsewhere,
                     "left_out", (int)nvlink_check->left_out, "not_counted",
                     not_counted_to_json(counters));
}

/* ---- the whole ---- */

json_t *comms_to_json(const struct comms_view *view)
{
    json_t *files = JSON_LIST(log, view->logs.log, view->logs.n, log_to_json(log));
    json_t *all =
        JSON_LIST(each, view->comms.communicator, view->comms.n, communicator_to_json(each));
    json_t *links = JSON_LIST(link, view->links.link, view->links.n, link_to_json(view, link));
    return json_pack("{s:i, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "schema_version", 1, "logs", files,
                     "communicators", all, "total", total_to_json(view), "links", links,
                     "links_unknown_bytes", uint_to_json(view->links.unknown_bytes), "nvlink",
                     nvlink_check_to_json(&view->nvlink_check, &view->counters), "findings",
                     findings_to_json(&view->findings));
}
