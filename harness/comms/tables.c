#include "harness/comms/show.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "harness/comms/findings.h"
#include "harness/comms/plugin/names.h"
#include "harness/lib/text.h"

/* Three columns: by calls, counted, the ratio. */
static void add_side(uint64_t called, uint64_t counted, struct doc_table *table)
{
    doc_si(table, (double)called);
    doc_si(table, (double)counted);
    if (called)
        doc_cell(table, "%.4f", (double)counted / (double)called);
    else
        doc_cell(table, "-");
}

static void add_row(const char *name, const struct comms_nvlink_check_sum *row,
                    struct doc_table *table)
{
    doc_row(table, DOC_PLAIN);
    doc_cell(table, "%s", name);
    add_side(row->sent, row->counted_sent, table);
    add_side(row->received, row->counted_received, table);
}

static void add_group(const char *text, struct doc_table *table)
{
    doc_row(table, DOC_GROUP);
    doc_cell(table, "%s", text);
}

static bool is_of_interest(const struct comms_nvlink_check_gpu *gpu)
{
    return gpu->ranks || gpu->sum.counted_sent || gpu->sum.counted_received;
}

static void add_gpus(const struct comms_nvlink_check *check, struct doc_table *table)
{
    for (size_t i = 0; i < check->n; i++) {
        const struct comms_nvlink_check_gpu *gpu = &check->gpu[i];
        if (i == 0 || strcmp(check->gpu[i - 1].host, gpu->host) != 0)
            add_group(gpu->host, table);
        if (is_of_interest(gpu))
            add_row(gpu->pci, &gpu->sum, table);
    }
}

static void add_none(const struct comms_counted *counted, struct doc *doc)
{
    doc_text(doc, "NVLink's counters of %s: unknown, %s", counted->host,
             comms_counted_why(counted));
}

/* Calls against NVLink's counters, or why these are unknown; nothing if none were read. */
static void comms_nvlink_check_add_to_doc(const struct comms_nvlink_check *check,
                                          const struct comms_counters *counters, struct doc *doc)
{
    if (counters->n)
        doc_heading(doc, "Bytes over NVLink");
    for (size_t i = 0; i < counters->n && !check->n; i++)
        add_none(&counters->counted[i], doc);
    if (!counters->n || !check->n)
        return;
    const struct comms_nvlink_check_sum sum = comms_nvlink_check_all(check);
    doc_text(doc, "Of these calls, including protocol flags (LL 2, LL128 16/15), and as counted by "
                  "the GPUs");
    struct doc_table *table = doc_table(doc);
    doc_column(table, DOC_LABEL, "GPU");
    doc_columns(table, DOC_NUMBER, "sent", "counted", "ratio", "received", "counted", "ratio",
                NULL);
    add_gpus(check, table);
    add_row("all", &sum, table);
    /* Counted minus called: a negative number means that calls report more. */
    doc_text(doc, "Unexplained bytes: %" PRId64 " sent, %" PRId64 " received",
             (int64_t)(sum.counted_sent - sum.sent),
             (int64_t)(sum.counted_received - sum.received));
    if (sum.flags)
        doc_text(doc,
                 "Small sends may have sent up to %s more: NCCL does not report whether they used "
                 "LL",
                 units_si((double)sum.flags));
    if (check->elsewhere)
        doc_text(doc,
                 "Not on NVLink, as they go to another node or the GPU is unknown: bytes %" PRIu64,
                 check->elsewhere);
}

/* Most lines of a table; the CSV files have all lines. */
enum { MATRIX_MOST = 16, PAIRS = 12, RANKS_MOST = 64, LINKS_MOST = 16 };

static void add_rest(size_t all, size_t most, const char *what, struct doc *doc)
{
    if (all > most)
        doc_text(doc, "... and %zu more %s", all - most, what);
}

/* ---- to whom ---- */

/* A whole number up to four digits; 0 is "-". */
static void add_number(struct doc_table *table, uint64_t value)
{
    if (value > 9999)
        doc_si(table, (double)value);
    else if (value)
        doc_cell(table, "%" PRIu64, value);
    else
        doc_cell(table, "-");
}

static uint64_t row_sum(const struct comms_matrix *matrix, const uint64_t *cells, uint32_t from)
{
    uint64_t sum = 0;
    for (uint32_t to = 0; to < matrix->n; to++)
        sum += to == from ? 0 : cells[(size_t)from * matrix->n + to];
    return sum;
}

/* `log`: cells as powers of ten, which have no sums. */
static void add_cells(const struct comms_matrix *matrix, const uint64_t *cells, bool log,
                      struct doc *doc)
{
    struct doc_table *table = doc_table(doc);
    doc_column(table, DOC_LABEL, "from, to");
    for (uint32_t to = 0; to < matrix->n; to++)
        doc_column(table, DOC_NUMBER, "%u", to);
    if (!log)
        doc_column(table, DOC_NUMBER, "all");
    for (uint32_t from = 0; from < matrix->n; from++) {
        doc_row(table, DOC_PLAIN);
        doc_cell(table, "%u", from);
        for (uint32_t to = 0; to < matrix->n; to++) {
            uint64_t value = cells[(size_t)from * matrix->n + to];
            if (log && value)
                doc_cell(table, "%.1f", comms_log10(value));
            else
                add_number(table, value);
        }
        if (!log)
            add_number(table, row_sum(matrix, cells, from));
    }
}

/* With many ranks only the pairs with the most bytes are shown. */
static void add_pairs(const struct comms_matrix *matrix, struct doc *doc)
{
    uint64_t below = UINT64_MAX, above = 1;
    size_t cells = (size_t)matrix->n * matrix->n;
    struct doc_table *table = doc_table(doc);
    doc_column(table, DOC_LABEL, "from");
    doc_columns(table, DOC_NUMBER, "to", "bytes", NULL);
    for (int shown = 0; shown < PAIRS && above; below = above) {
        above = 0;
        for (size_t i = 0; i < cells; i++)
            if (matrix->bytes[i] < below && matrix->bytes[i] > above)
                above = matrix->bytes[i];
        for (size_t i = 0; above && i < cells && shown < PAIRS; i++) {
            if (matrix->bytes[i] != above)
                continue;
            shown++;
            doc_row(table, DOC_PLAIN);
            doc_cell(table, "%zu", i / matrix->n);
            doc_cell(table, "%zu", i % matrix->n);
            doc_cell(table, "%" PRIu64, above);
        }
    }
}

static const char *how_text(const struct comms_matrix *matrix)
{
    switch (matrix->how) {
    case COMMS_EXACT:
        return "exact: NCCL reports each pair, or only one is possible";
    case COMMS_FROM_NCCL:
        return "order from NCCL";
    default:
        return matrix->trees ? "modelled: rings in the order of ranks, trees as NCCL builds them "
                               "over nodes in the order of ranks"
                             : "modelled: rings in the order of ranks";
    }
}

static void add_bytes(const struct comms_matrix *matrix, struct doc *doc)
{
    doc_text(doc, "From (row) to (column), %s", how_text(matrix));
    if (matrix->n > MATRIX_MOST)
        add_pairs(matrix, doc);
    else
        add_cells(matrix, matrix->bytes, false, doc);
    if (matrix->unknown_calls)
        doc_text(doc, "Pairs unknown, of all ranks together: calls %" PRIu64 ", bytes %" PRIu64,
                 matrix->unknown_calls, matrix->unknown_bytes);
}

static void add_further(const struct comms_matrix *matrix, const char *whose, struct doc *doc)
{
    if (!matrix->n || matrix->n > MATRIX_MOST)
        return;
    doc_heading(doc, "Bytes as powers of ten (log10), %s", whose);
    add_cells(matrix, matrix->bytes, true, doc);
    doc_heading(doc, "Calls, %s", whose);
    add_cells(matrix, matrix->calls, false, doc);
}

/* The matrix that is shown first: that of the only communicator, or the total. */
static const struct comms_matrix *main_matrix(const struct comms_view *view)
{
    return view->comms.n == 1 ? &view->comms.communicator[0].matrix : &view->total.matrix;
}

static void add_matrix(const struct comms_view *view, struct doc *doc)
{
    const struct comms_matrix *matrix = main_matrix(view);
    if (!view->comms.n)
        return;
    doc_heading(doc, view->comms.n == 1 ? "Bytes from rank to rank"
                                        : "Bytes from GPU to GPU, of all communicators");
    if (view->comms.n > 1 && view->total_note[0])
        doc_text(doc, "%s", view->total_note);
    else if (!matrix->n)
        doc_text(doc, "no matrix of more than %d ranks", COMMS_MATRIX_RANKS);
    else
        add_bytes(matrix, doc);
}

/* Adds "WHAT; 2 warnings" and the findings, which are borrowed. */
static void comms_add_findings_to_doc(const char *what, const struct findings *findings,
                                      struct doc *doc)
{
    size_t odd = 0;
    for (size_t i = 0; i < findings->n; i++)
        odd += findings->all[i].severity > FINDING_NOTE;
    if (odd)
        doc_verdict(doc, FINDING_DOUBT, NULL, "%s; %zu warning%s", what, odd, odd == 1 ? "" : "s");
    else
        doc_verdict(doc, FINDING_NOTE, NULL, "%s; no warnings", what);
    doc_findings(doc, findings, DOC_LEADING);
    doc_findings(doc, findings, DOC_REST);
}

void comms_add_verdict_to_doc(const struct comms_view *view, struct doc *doc)
{
    const struct comms_matrix *matrix = main_matrix(view);
    uint64_t sum = 0;
    for (uint32_t from = 0; from < matrix->n; from++)
        sum += row_sum(matrix, matrix->bytes, from);
    const char *bytes = units_si((double)sum);
    const char *what =
        str_fmt("%u %s%s sent %sB to each other", matrix->n, view->comms.n == 1 ? "rank" : "GPU",
                matrix->n == 1 ? "" : "s", bytes);
    comms_add_findings_to_doc(what, &view->findings, doc);
    add_matrix(view, doc);
}

/* ---- a communicator ---- */

static void add_calls(const struct comms_communicator *communicator, struct doc *doc)
{
    bool timed = false;
    const struct comms_summary *work = &communicator->work;
    for (size_t i = 0; i < work->n; i++)
        timed = timed || work->line[i].timed_calls > 0;
    struct doc_table *table = doc_table(doc);
    doc_columns(table, DOC_LABEL, "collective", "algorithm", "protocol", NULL);
    doc_columns(table, DOC_NUMBER, "calls", "bytes", NULL);
    if (timed)
        doc_columns(table, DOC_NUMBER, "time", "algbw\nGB/s", "busbw\nGB/s", NULL);
    doc_column(table, DOC_REASON, "sizes of calls");
    for (size_t i = 0; i < work->n; i++) {
        const struct comms_line *line = &work->line[i];
        const struct comms_speed speed = comms_line_speed(line, communicator->nranks);
        doc_row(table, DOC_PLAIN);
        doc_cell(table, "%s%s", comms_func_name(line->func), line->captured ? " (graph)" : "");
        doc_cell(table, "%s", comms_algo_name(line->algo));
        doc_cell(table, "%s", comms_proto_name(line->proto));
        doc_cell(table, "%" PRIu64, line->calls);
        doc_cell(table, "%" PRIu64, line->bytes);
        if (timed) {
            doc_seconds(table, speed.time);
            doc_cell(table, "%s", comms_gigabytes(speed.algbw));
            doc_cell(table, "%s", comms_gigabytes(speed.busbw));
        }
        doc_cell(table, "%s", comms_call_sizes(line));
    }
}

static void add_arrival(const struct comms_arrival *arrival, struct doc *doc)
{
    char all[48] = "";
    const double waited = comms_arrival_waited(arrival), calls = (double)arrival->calls;
    if (!arrival->calls)
        return;
    if (!isnan(waited))
        (void)snprintf(all, sizeof(all), " (all ranks: %s)", text_percent(waited));
    doc_gap(doc);
    doc_text(doc,
             "The last %" PRIu64 " collectives: how often a rank came last, how late after the "
             "first, and the share of its GPU time spent waiting for the slowest%s",
             arrival->calls, all);
    struct doc_table *table = doc_table(doc);
    doc_column(table, DOC_LABEL, "rank");
    doc_columns(table, DOC_NUMBER, "last", "late", "waited", NULL);
    const bool looked = arrival->rank[arrival->first].spent.seconds > 0;
    if (looked)
        doc_columns(table, DOC_NUMBER, "on CPU", "run queue", "throttled", "asleep", NULL);
    for (size_t i = 0; i < arrival->n && i < RANKS_MOST; i++) {
        const struct comms_arrival_rank *rank = &arrival->rank[i];
        doc_row(table, DOC_PLAIN);
        doc_cell(table, "%u", rank->rank);
        doc_share(table, (double)rank->last / calls);
        doc_seconds(table, (double)rank->late_ns / calls / 1e9);
        doc_share(table, (double)rank->waited_ns / (double)rank->timed_ns); /* 0 / 0: not timed */
        for (int part = 0; looked && part < COMMS_PARTS; part++)
            doc_share(table, rank->spent.seconds > 0 ? rank->spent.share[part] : (double)NAN);
    }
    add_rest(arrival->n, RANKS_MOST, "ranks", doc);
}

static void add_communicator(const struct comms_communicator *communicator, size_t at,
                             struct doc *doc)
{
    doc_heading(doc, "%s: %u rank%s on %u node%s", comms_call_communicator(communicator, at),
                communicator->nranks, communicator->nranks == 1 ? "" : "s", communicator->nodes,
                communicator->nodes == 1 ? "" : "s");
    if (communicator->work.n)
        add_calls(communicator, doc);
    else
        doc_text(doc, "nothing was sent");
    add_arrival(&communicator->arrival, doc);
}

static void add_ranks(const struct comms_communicator *communicator, struct doc *doc)
{
    struct doc_table *table = doc_table(doc);
    doc_columns(table, DOC_LABEL, "rank", "host", "GPU", "process", "program", "state", NULL);
    for (size_t i = 0; i < communicator->npresent && i < RANKS_MOST; i++) {
        const struct comms_rank *rank = &communicator->present[i];
        const struct comms_header *header = &rank->log->header;
        doc_row(table, DOC_PLAIN);
        doc_cell(table, "%u", rank->rank);
        doc_cell(table, "%s", header->host);
        doc_cell(table, "%s", rank->gpu[0] ? rank->gpu : "-");
        doc_cell(table, "%" PRId64, header->pid);
        doc_cell(table, "%s", header->program);
        doc_cell(table, "%s", rank->member->state == COMMS_ALIVE ? "not destroyed" : "destroyed");
    }
    add_rest(communicator->npresent, RANKS_MOST, "ranks", doc);
}

/* Ranks, and all matrices but the first. */
static void add_details(const struct comms_view *view, struct doc *doc)
{
    const struct comms_total *total = &view->total;
    size_t n = view->comms.n;
    doc_fold(doc, "Ranks, calls from each to each, and bytes by powers of ten");
    for (size_t i = 0; i < n; i++) {
        const struct comms_communicator *communicator = &view->comms.communicator[i];
        const char *name = comms_call_communicator(communicator, i);
        doc_heading(doc, "%s", name);
        add_ranks(communicator, doc);
        if (n > 1 && communicator->ndone && communicator->matrix.n)
            add_bytes(&communicator->matrix, doc);
        add_further(&communicator->matrix, name, doc);
    }
    if (n > 1 && !view->total_note[0]) {
        doc_heading(doc, "All communicators");
        for (uint32_t i = 0; i < total->matrix.n && i < RANKS_MOST; i++)
            doc_text(doc, "GPU %u: %s", i, comms_call_gpu(&total->gpu[i]));
        add_rest(total->matrix.n, RANKS_MOST, "GPUs", doc);
        if (total->assumed)
            doc_text(doc, "Several GPUs of one process: numbered by the order of its ranks.");
        if (total->left_out)
            doc_text(doc, "Left out, as too large for a matrix: communicators %zu",
                     total->left_out);
        add_further(&total->matrix, "all communicators", doc);
    }
    doc_unfold(doc);
}

/* ---- over which links ---- */

static void add_links(const struct comms_view *view, struct doc *doc)
{
    const struct comms_links *links = &view->links;
    if (links->n) {
        doc_heading(doc, "Links, the busiest first, and their share of what they can carry");
        struct doc_table *table = doc_table(doc);
        doc_column(table, DOC_LABEL, "link");
        doc_columns(table, DOC_NUMBER, "bytes", "GB/s at most", "share", NULL);
        for (size_t i = 0; i < links->n && i < LINKS_MOST; i++) {
            const struct comms_link *link = &links->link[i];
            doc_row(table, DOC_PLAIN);
            doc_cell(table, "%s", comms_call_link(&view->total, link));
            doc_si(table, (double)link->bytes);
            if (link->gbps > 0)
                doc_cell(table, "%.4g", link->gbps);
            else
                doc_cell(table, "-");
            doc_share(table, comms_link_share(links, link));
        }
        add_rest(links->n, LINKS_MOST, "less busy links", doc);
    }
    if (view->ports.n && links->unknown_bytes)
        doc_text(doc, "%sB went between GPUs without a known link",
                 units_si((double)links->unknown_bytes));
}

void comms_add_tables_to_doc(const struct comms_view *view, struct doc *doc)
{
    add_links(view, doc);
    if (!view->total_note[0])
        comms_nvlink_check_add_to_doc(&view->nvlink_check, &view->counters, doc);
    for (size_t i = 0; i < view->comms.n; i++)
        add_communicator(&view->comms.communicator[i], i, doc);
    add_details(view, doc);
}
