#include "harness/comms/json/comms.h"

#include <inttypes.h>
#include <stdio.h>

#include "harness/comms/logs/names.h"
#include "harness/store/json/findings.h"
#include "harness/store/json/value.h"

static json_t *whole(uint64_t value)
{
    return json_integer((json_int_t)value);
}

/* The least that a bucket has; null where the size was not kept. */
static json_t *least_of(uint32_t bucket)
{
    if (bucket > 64)
        return json_null();
    return whole(bucket ? 1ull << (bucket - 1) : 0);
}

/* Calls by size, and their bytes where those are wanted. */
static json_t *sizes_to_json(const uint64_t *calls, const uint64_t *bytes)
{
    json_t *sizes = json_array();
    for (uint32_t b = 0; b < COMMS_SIZES; b++)
        if (calls[b])
            (void)json_array_append_new(sizes, json_pack("{s:o, s:o, s:o*}", "from_bytes",
                                                         least_of(b), "calls", whole(calls[b]),
                                                         "bytes", bytes ? whole(bytes[b]) : NULL));
    return sizes;
}

static json_t *log_to_json(const struct comms_log *log)
{
    return json_pack("{s:o, s:o, s:o, s:o, s:i, s:o, s:o, s:o, s:o, s:o, s:o}", "file",
                     json_value_text(log->name), "host", json_value_text(log->header.host), "pid",
                     whole((uint64_t)log->header.pid), "program",
                     json_value_text(log->header.program), "interface", (int)log->header.interface,
                     "start_ns", whole(log->header.start_ns), "events", whole(log->all_events),
                     "events_dropped", whole(log->dropped), "unknown_events",
                     whole(log->header.unknown_events), "timed_every",
                     whole(log->header.timed_every), "untimed", whole(log->header.untimed));
}

static json_t *present_to_json(const struct comms_communicator *communicator)
{
    json_t *present = json_array();
    for (size_t i = 0; i < communicator->npresent; i++) {
        const struct comms_rank *rank = &communicator->present[i];
        (void)json_array_append_new(
            present, json_pack("{s:i, s:o, s:s, s:o}", "rank", (int)rank->rank, "file",
                               json_value_text(rank->log->name), "state",
                               rank->member->state == COMMS_ALIVE ? "alive" : "finalized", "gpu",
                               json_value_text_or_null(rank->gpu)));
    }
    return present;
}

static json_t *line_to_json(const struct comms_line *line, uint32_t nranks)
{
    const struct comms_speed speed = comms_line_speed(line, nranks);
    return json_pack("{s:s, s:s, s:s, s:b, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}",
                     "collective", comms_func_name(line->func), "algorithm",
                     comms_algo_name(line->algo), "protocol", comms_proto_name(line->proto),
                     "captured", line->captured, "calls", whole(line->calls), "bytes",
                     whole(line->bytes), "calls_least", whole(line->least), "calls_most",
                     whole(line->most), "sizes", sizes_to_json(line->sizes, NULL), "timed_calls",
                     whole(line->timed_calls), "time_s", json_value_real(speed.time), "algbw",
                     json_value_real(speed.algbw), "busbw", json_value_real(speed.busbw));
}

static json_t *done_to_json(const struct comms_communicator *communicator)
{
    json_t *all = json_array();
    for (size_t i = 0; i < communicator->ndone; i++) {
        const struct comms_done *done = &communicator->done[i];
        const struct comms_key *key = &done->count.key;
        (void)json_array_append_new(
            all, json_pack("{s:i, s:s, s:s, s:s, s:s, s:i, s:b, s:o, s:o, s:o, s:o}", "rank",
                           (int)done->rank, "collective", comms_func_name(key->func), "datatype",
                           comms_datatype_name(key->datatype), "algorithm",
                           comms_algo_name(key->algo), "protocol", comms_proto_name(key->proto),
                           "channels", (int)key->channels, "captured", (int)key->captured, "peer",
                           key->peer < 0 ? json_null() : json_integer(key->peer), "from_bytes",
                           least_of(key->bucket), "calls", whole(done->count.calls), "bytes",
                           whole(done->count.bytes)));
    }
    return all;
}

static json_t *cells_to_json(const struct comms_matrix *matrix, const uint64_t *cells, bool log)
{
    json_t *rows = json_array();
    for (uint32_t from = 0; from < matrix->n; from++) {
        json_t *row = json_array();
        for (uint32_t to = 0; to < matrix->n; to++) {
            uint64_t cell = cells[(size_t)from * matrix->n + to];
            (void)json_array_append_new(row,
                                        log ? json_value_real(comms_log10(cell)) : whole(cell));
        }
        (void)json_array_append_new(rows, row);
    }
    return rows;
}

/* Null of more ranks than a matrix may have. */
static json_t *matrix_to_json(const struct comms_matrix *matrix)
{
    if (!matrix->n)
        return json_null();
    return json_pack("{s:s, s:o, s:o, s:o, s:o}", "how", comms_how_name(matrix->how), "bytes",
                     cells_to_json(matrix, matrix->bytes, false), "calls",
                     cells_to_json(matrix, matrix->calls, false), "unknown_calls",
                     whole(matrix->unknown_calls), "unknown_bytes", whole(matrix->unknown_bytes));
}

/*
 * {"calls", "span_s", "timed_calls", "waited_share" | null, "ranks": [{"rank", "last_calls",
 *   "late_s", "timed_s", "waited_s"}]}; null where there is nothing to compare.
 */
static json_t *arrival_to_json(const struct comms_arrival *arrival)
{
    if (!arrival->calls)
        return json_null();
    json_t *ranks = json_array();
    for (size_t i = 0; i < arrival->n; i++) {
        const struct comms_arrival_rank *rank = &arrival->rank[i];
        (void)json_array_append_new(
            ranks,
            json_pack("{s:i, s:I, s:f, s:f, s:f}", "rank", (int)rank->rank, "last_calls",
                      (json_int_t)rank->last, "late_s", (double)rank->late_ns / 1e9, "timed_s",
                      (double)rank->timed_ns / 1e9, "waited_s", (double)rank->waited_ns / 1e9));
    }
    return json_pack("{s:I, s:f, s:I, s:o, s:o}", "calls", (json_int_t)arrival->calls, "span_s",
                     (double)arrival->span_ns / 1e9, "timed_calls", (json_int_t)arrival->timed,
                     "waited_share", json_value_real(comms_arrival_waited(arrival)), "ranks",
                     ranks);
}

static json_t *communicator_to_json(const struct comms_communicator *communicator)
{
    char id[24];
    json_t *calls = json_array();
    for (size_t i = 0; i < communicator->work.n; i++)
        (void)json_array_append_new(
            calls, line_to_json(&communicator->work.line[i], communicator->nranks));
    (void)snprintf(id, sizeof(id), "%016" PRIx64, communicator->id);
    return json_pack("{s:s, s:o, s:i, s:i, s:b, s:o, s:o, s:o, s:o, s:o}", "id", id, "name",
                     json_value_text_or_null(communicator->name), "ranks",
                     (int)communicator->nranks, "nodes", (int)communicator->nodes, "ranks_told",
                     communicator->told, "present", present_to_json(communicator), "calls", calls,
                     "matrix", matrix_to_json(&communicator->matrix), "arrival",
                     arrival_to_json(&communicator->arrival), "done", done_to_json(communicator));
}

/* ---- all together ---- */

static json_t *gpus_to_json(const struct comms_total *total)
{
    json_t *gpus = json_array();
    char name[200];
    for (uint32_t i = 0; i < total->matrix.n; i++) {
        const struct comms_gpu *gpu = &total->gpu[i];
        (void)json_array_append_new(
            gpus, json_pack("{s:i, s:o, s:o, s:o, s:o}", "gpu", (int)i, "name",
                            json_value_text(comms_call_gpu(gpu, name, sizeof(name))), "pci",
                            json_value_text_or_null(gpu->pci), "host",
                            json_value_text_or_null(gpu->log ? gpu->log->header.host : ""), "pid",
                            gpu->log ? whole((uint64_t)gpu->log->header.pid) : json_null()));
    }
    return gpus;
}

/* Which GPU each rank is. */
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
    return json_pack("{s:s, s:b, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "how",
                     comms_how_name(matrix->how), "assumed", view->total.assumed, "left_out",
                     whole(view->total.left_out), "gpus", gpus_to_json(&view->total), "ranks",
                     ranks_to_json(view), "bytes", cells_to_json(matrix, matrix->bytes, false),
                     "calls", cells_to_json(matrix, matrix->calls, false), "bytes_log10",
                     cells_to_json(matrix, matrix->bytes, true), "calls_log10",
                     cells_to_json(matrix, matrix->calls, true), "unknown_calls",
                     whole(matrix->unknown_calls), "unknown_bytes", whole(matrix->unknown_bytes));
}

static json_t *links_to_json(const struct comms_view *view)
{
    json_t *all = json_array();
    char name[120];
    for (size_t i = 0; i < view->links.n; i++) {
        const struct comms_link *link = &view->links.link[i];
        (void)json_array_append_new(
            all, json_pack("{s:o, s:i, s:o, s:o, s:o}", "name",
                           json_value_text(comms_call_link(&view->total, link, name, sizeof(name))),
                           "gpu", (int)link->gpu, "bytes", whole(link->bytes), "gbps",
                           link->gbps > 0 ? json_real(link->gbps) : json_null(), "share",
                           json_value_real(comms_link_share(&view->links, link))));
    }
    return all;
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

/* Machines of which no GPU was counted. */
static json_t *not_counted_to_json(const struct comms_counters *counters)
{
    json_t *all = json_array();
    for (size_t i = 0; i < counters->n; i++)
        if (counters->counted[i].why[0])
            (void)json_array_append_new(
                all, json_pack("{s:o, s:o}", "host", json_value_text(counters->counted[i].host),
                               "why", json_value_text(counters->counted[i].why)));
    return all;
}

/*
 * {"gpus": [{"host", "pci_bdf", "ranks", "sent": SIDE, "received": SIDE}],
 *  "all": {"sent": SIDE, "received": SIDE}, "flags_bytes", "elsewhere_bytes", "copied_bytes"
 *   between these GPUs, in SIDE too | null where copies were not counted, "left_out",
 *  "not_counted": [{"host", "why"}]}
 * with SIDE = {"called_bytes", "counted_bytes", "unexplained_bytes", "ratio" | null of nothing
 * called}; null where nobody looked.
 */
static json_t *nvlink_check_to_json(const struct comms_nvlink_check *nvlink_check,
                                    const struct comms_counters *counters)
{
    if (!counters->n)
        return json_null();
    const struct comms_nvlink_check_sum sum = comms_nvlink_check_all(nvlink_check);
    json_t *gpus = json_array();
    for (size_t i = 0; i < nvlink_check->n; i++)
        (void)json_array_append_new(gpus, nvlink_check_gpu_to_json(&nvlink_check->gpu[i]));
    return json_pack(
        "{s:o, s:{s:o, s:o}, s:I, s:I, s:o, s:i, s:o}", "gpus", gpus, "all", "sent",
        nvlink_check_side_to_json(sum.sent, sum.counted_sent), "received",
        nvlink_check_side_to_json(sum.received, sum.counted_received), "flags_bytes",
        (json_int_t)sum.flags, "elsewhere_bytes", (json_int_t)nvlink_check->elsewhere,
        "copied_bytes",
        nvlink_check->has_copies ? json_integer((json_int_t)nvlink_check->copied) : json_null(),
        "left_out", (int)nvlink_check->left_out, "not_counted", not_counted_to_json(counters));
}

/* ---- copies ---- */

static json_t *copies_log_to_json(const struct copies_log *log)
{
    const struct copies_sums *sums = log->sums;
    return json_pack(
        "{s:o, s:o, s:o, s:o, s:o, s:o, s:b, s:b, s:o, s:o, s:o, s:o, s:o}", "file",
        json_value_text(log->name), "host", json_value_text(log->header.host), "pid",
        whole((uint64_t)log->header.pid), "program", json_value_text(log->header.program), "cupti",
        whole(log->header.interface), "start_ns", whole(log->header.start_ns), "finished",
        sums->finished != COPIES_GOES_ON, "taken_over", copies_are_taken(sums), "dropped",
        whole(sums->dropped), "unknown", whole(sums->unknown + sums->broken), "buffers_out",
        whole(sums->buffers), "migrations_since_ns",
        sums->migrations_ns ? whole(sums->migrations_ns) : json_null(), "migrations_error",
        whole(sums->migrations_error));
}

static json_t *copies_row_to_json(const struct copies_row *row)
{
    return json_pack("{s:o, s:s, s:s, s:s, s:s, s:s, s:b, s:o, s:o, s:o, s:o, s:o, s:o, s:o}",
                     "host", json_value_text(row->host), "from", row->from, "to", row->to, "kind",
                     copies_kind_name(row->kind), "from_memory",
                     copies_memory_name(row->from_memory), "to_memory",
                     copies_memory_name(row->to_memory), "unplaced", row->unplaced, "calls",
                     whole(row->calls), "bytes", whole(row->bytes), "timed_calls",
                     whole(row->timed_calls), "timed_bytes", whole(row->timed_bytes), "time_s",
                     row->timed_ns ? json_real((double)row->timed_ns / 1e9) : json_null(),
                     "bytes_per_s", json_value_real(copies_row_speed(row)), "sizes",
                     sizes_to_json(row->sizes, row->size_bytes));
}

/*
 * {"logs": [{"file", "host", "pid", "program", "cupti": its version, "start_ns", "finished": bool,
 *   "dropped", "unknown", "buffers_out"}],
 *  "rows": [{"host", "from", "to": "host" | PCI address | "GPUN@PID" | "?", "kind",
 *   "from_memory", "to_memory", "unplaced": bool, "calls", "bytes", "timed_calls", "timed_bytes",
 *   "time_s" and "bytes_per_s" | null of not timed, "sizes": [{"from_bytes", "calls", "bytes"}]}]}
 * null where nobody counted.
 */
static json_t *copies_to_json(const struct copies *copies)
{
    if (!copies->nlogs)
        return json_null();
    json_t *logs = json_array(), *rows = json_array();
    for (size_t i = 0; i < copies->nlogs; i++)
        (void)json_array_append_new(logs, copies_log_to_json(&copies->log[i]));
    for (size_t i = 0; i < copies->n; i++)
        (void)json_array_append_new(rows, copies_row_to_json(&copies->row[i]));
    return json_pack("{s:o, s:o}", "logs", logs, "rows", rows);
}

/* ---- the whole ---- */

json_t *comms_to_json(const struct comms_view *view)
{
    json_t *files = json_array(), *all = json_array();
    for (size_t i = 0; i < view->logs.n; i++)
        (void)json_array_append_new(files, log_to_json(&view->logs.log[i]));
    for (size_t i = 0; i < view->comms.n; i++)
        (void)json_array_append_new(all, communicator_to_json(&view->comms.communicator[i]));
    return json_pack("{s:i, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "schema_version", 1, "logs",
                     files, "communicators", all, "total", total_to_json(view), "links",
                     links_to_json(view), "links_unknown_bytes", whole(view->links.unknown_bytes),
                     "nvlink", nvlink_check_to_json(&view->nvlink_check, &view->counters), "copies",
                     copies_to_json(&view->copies), "findings", findings_to_json(&view->findings));
}
