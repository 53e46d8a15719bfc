#include "harness/comms/tables/comms.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/comms/findings/findings.h"
#include "harness/comms/logs/names.h"
#include "harness/lib/base/text.h"
#include "harness/lib/base/units.h"

enum {
    BLOCK = 8,      /* columns of a matrix beside each other */
    WHOLE = 16,     /* ranks of a matrix that is printed whole */
    PAIRS = 12,     /* of a larger one */
    ROWS_MOST = 32, /* of copies */
    INDENT = 4
};

/* ---- who ---- */

static void print_rank(const struct comms_rank *rank, FILE *out)
{
    const struct comms_header *header = &rank->log->header;
    text_wrapped(out, 2, INDENT, "rank %u: %s%s%s, process %" PRId64 " (%s)%s", rank->rank,
                 header->host, rank->gpu[0] ? ", GPU " : "", rank->gpu, header->pid,
                 header->program, rank->member->state == COMMS_ALIVE ? ", not destroyed" : "");
}

static void print_who(const struct comms_communicator *communicator, size_t at, FILE *out)
{
    char name[160];
    (void)fprintf(out, "%s%s: %u rank%s on %u node%s\n", at ? "\n" : "",
                  comms_call_communicator(communicator, at, name, sizeof(name)),
                  communicator->nranks, communicator->nranks == 1 ? "" : "s", communicator->nodes,
                  communicator->nodes == 1 ? "" : "s");
    for (size_t i = 0; i < communicator->npresent && i < WHOLE; i++)
        print_rank(&communicator->present[i], out);
    if (communicator->npresent > WHOLE)
        (void)fprintf(out, "  ... and %zu more ranks\n", communicator->npresent - WHOLE);
}

/* ---- how long, and who came late ---- */

static void print_speed(const struct comms_line *line, uint32_t nranks, FILE *out)
{
    char time[24], algbw[24], busbw[24];
    const struct comms_speed speed = comms_line_speed(line, nranks);
    if (isnan(speed.time))
        return;
    (void)fprintf(out, "  %-13s %-14s %-8s %9" PRIu64 " %10s %9s %9s\n",
                  comms_func_name(line->func), comms_algo_name(line->algo),
                  comms_proto_name(line->proto), line->timed_calls,
                  units_format_seconds(speed.time, time, sizeof(time)),
                  comms_gigabytes(speed.algbw, algbw), comms_gigabytes(speed.busbw, busbw));
}

static void print_speeds(const struct comms_summary *lines, uint32_t nranks, FILE *out)
{
    bool any = false;
    for (size_t i = 0; i < lines->n; i++)
        any |= lines->line[i].timed_calls > 0;
    if (!any)
        return;
    (void)fputs("\n  On the GPU, by CUDA events; bandwidth in GB/s\n", out);
    (void)fprintf(out, "  %-13s %-14s %-8s %9s %10s %9s %9s\n", "collective", "algorithm",
                  "protocol", "timed", "time", "algbw", "busbw");
    for (size_t i = 0; i < lines->n; i++)
        print_speed(&lines->line[i], nranks, out);
}

static void print_arrival_of(const struct comms_arrival *arrival,
                             const struct comms_arrival_rank *rank, FILE *out)
{
    struct comms_arrival_said said;
    comms_arrival_say(arrival, rank, &said);
    (void)fprintf(out, "  %5u %10s %14s %16s\n", rank->rank, said.last, said.late, said.waited);
}

static void print_arrival(const struct comms_arrival *arrival, FILE *out)
{
    char all[48] = "", share[16];
    if (!arrival->calls)
        return;
    double waited = comms_arrival_waited(arrival);
    if (!isnan(waited))
        (void)snprintf(all, sizeof(all), " (all ranks: %s)",
                       text_percent(waited, share, sizeof(share)));
    (void)fputc('\n', out);
    text_wrapped(out, 2, 2,
                 "The last %" PRIu64
                 " collectives: how often a rank came last, how late after the first, and the "
                 "share of its GPU time spent waiting for the slowest%s",
                 arrival->calls, all);
    (void)fprintf(out, "  %5s %10s %14s %16s\n", "rank", "last", "late", "waited");
    for (size_t i = 0; i < arrival->n && i < WHOLE; i++)
        print_arrival_of(arrival, &arrival->rank[i], out);
    if (arrival->n > WHOLE)
        (void)fprintf(out, "  ... and %zu more ranks\n", arrival->n - WHOLE);
}

static void print_lines(const struct comms_communicator *communicator, FILE *out)
{
    char sizes[2000];
    (void)fprintf(out, "\n  %-13s %-14s %-8s %12s %20s\n", "collective", "algorithm", "protocol",
                  "calls", "bytes");
    for (size_t i = 0; i < communicator->work.n; i++) {
        const struct comms_line *line = &communicator->work.line[i];
        (void)fprintf(out, "  %-13s %-14s %-8s %12" PRIu64 " %20" PRIu64 "%s\n",
                      comms_func_name(line->func), comms_algo_name(line->algo),
                      comms_proto_name(line->proto), line->calls, line->bytes,
                      line->captured ? " graph" : "");
        (void)fprintf(out, "%*s", INDENT, "");
        text_wrap(comms_call_sizes(line, sizes, sizeof(sizes)), INDENT, INDENT + 2, out);
    }
    print_speeds(&communicator->work, communicator->nranks, out);
    print_arrival(&communicator->arrival, out);
}

/* ---- to whom ---- */

static const char *cell(uint64_t value, char buf[static 24])
{
    enum { WHOLE_MOST = 9999 };
    if (value > WHOLE_MOST)
        return units_format_si((double)value, buf, 24);
    (void)snprintf(buf, 24, value ? "%" PRIu64 : "-", value);
    return buf;
}

static uint64_t row_sum(const struct comms_matrix *matrix, const uint64_t *cells, uint32_t from)
{
    uint64_t sum = 0;
    for (uint32_t to = 0; to < matrix->n; to++)
        sum += to == from ? 0 : cells[(size_t)from * matrix->n + to];
    return sum;
}

static const char *log_cell(uint64_t value, char buf[static 24])
{
    (void)snprintf(buf, 24, value ? "%.1f" : "-", comms_log10(value));
    return buf;
}

/* One of the matrices; of a scale by powers of ten there are no sums. */
struct cells {
    const char *title;
    const uint64_t *cells;
    bool log;
};

static void print_block(const struct comms_matrix *matrix, const struct cells *cells,
                        uint32_t first, FILE *out)
{
    char buf[24];
    uint32_t end = first + BLOCK < matrix->n ? first + BLOCK : matrix->n;
    bool sums = end == matrix->n && !cells->log;
    (void)fprintf(out, "  %5s", "");
    for (uint32_t to = first; to < end; to++)
        (void)fprintf(out, " %7u", to);
    (void)fprintf(out, "%s\n", sums ? "     all" : "");
    for (uint32_t from = 0; from < matrix->n; from++) {
        (void)fprintf(out, "  %5u", from);
        for (uint32_t to = first; to < end; to++) {
            uint64_t value = cells->cells[(size_t)from * matrix->n + to];
            (void)fprintf(out, " %7s", cells->log ? log_cell(value, buf) : cell(value, buf));
        }
        if (sums)
            (void)fprintf(out, " %7s", cell(row_sum(matrix, cells->cells, from), buf));
        (void)fputc('\n', out);
    }
}

/* With many ranks only the pairs with the most bytes are shown. */
static void print_pairs(const struct comms_matrix *matrix, FILE *out)
{
    uint64_t below = UINT64_MAX, above = 0;
    size_t cells = (size_t)matrix->n * matrix->n;
    for (int shown = 0; shown < PAIRS;) {
        above = 0;
        for (size_t i = 0; i < cells; i++)
            if (matrix->bytes[i] < below && matrix->bytes[i] > above)
                above = matrix->bytes[i];
        for (size_t i = 0; above && i < cells && shown < PAIRS; i++)
            if (matrix->bytes[i] == above)
                shown += fprintf(out, "  %5zu -> %-5zu %20" PRIu64 " bytes\n", i / matrix->n,
                                 i % matrix->n, above) > 0;
        if (!above)
            break;
        below = above;
    }
}

static const char *say_how(const struct comms_matrix *matrix)
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

/* `log`: bytes by powers of ten as well. */
static void print_matrix(const struct comms_matrix *matrix, bool log, FILE *out)
{
    const struct cells all[] = {{"Bytes", matrix->bytes, false},
                                {"Bytes as powers of ten (log10)", matrix->bytes, true},
                                {"Calls", matrix->calls, false}};
    for (size_t m = 0; m < (matrix->n > WHOLE ? 1 : sizeof(all) / sizeof(all[0])); m++) {
        if (all[m].log && !log)
            continue;
        (void)fputc('\n', out);
        text_wrapped(out, 2, 2, "%s from (down) to (across), %s:", all[m].title, say_how(matrix));
        if (matrix->n > WHOLE)
            print_pairs(matrix, out);
        for (uint32_t first = 0; first < matrix->n && matrix->n <= WHOLE; first += BLOCK)
            print_block(matrix, &all[m], first, out);
    }
    if (!matrix->unknown_calls)
        return;
    (void)fputc('\n', out);
    text_wrapped(out, 2, 2,
                 "Pairs unknown, of all ranks together: calls %" PRIu64 ", bytes %" PRIu64,
                 matrix->unknown_calls, matrix->unknown_bytes);
}

/* ---- all together ---- */

static void print_gpus(const struct comms_total *total, FILE *out)
{
    char name[200];
    for (uint32_t i = 0; i < total->matrix.n && i < WHOLE; i++) {
        text_wrapped(out, 2, INDENT, "GPU %u: %s", i,
                     comms_call_gpu(&total->gpu[i], name, sizeof(name)));
    }
    if (total->matrix.n > WHOLE)
        (void)fprintf(out, "  ... and %u more GPUs\n", total->matrix.n - WHOLE);
    if (total->assumed)
        (void)fputs("  Several GPUs of one process: numbered by the order of its ranks.\n", out);
    if (total->left_out)
        (void)fprintf(out, "  Left out, as too large for a matrix: communicators %zu\n",
                      total->left_out);
}

/* One communicator has no sum over communicators. */
static void print_total(const struct comms_view *view, FILE *out)
{
    if (view->comms.n < 2)
        return;
    (void)fprintf(out, "\nAll communicators, from GPU to GPU\n");
    if (view->total_note[0]) {
        (void)fprintf(out, "  %s\n", view->total_note);
        return;
    }
    print_gpus(&view->total, out);
    print_matrix(&view->total.matrix, true, out);
}

/* ---- over which links ---- */

static void print_link(const struct comms_view *view, const struct comms_link *link, FILE *out)
{
    char name[120], bytes[24], share[24];
    double part = comms_link_share(&view->links, link);
    (void)fprintf(out, "  %-48s %10sB  %s\n",
                  comms_call_link(&view->total, link, name, sizeof(name)),
                  units_format_si((double)link->bytes, bytes, sizeof(bytes)),
                  text_percent(part, share, sizeof(share)));
}

static void print_links(const struct comms_view *view, FILE *out)
{
    char name[120], bytes[24], share[24];
    const struct comms_links *links = &view->links;
    if (links->n) {
        const struct comms_link *hottest = &links->link[0];
        double part = comms_link_share(links, hottest);
        (void)fputc('\n', out);
        text_wrapped(out, 0, 2,
                     "Busiest link: %s, %sB%s%s%s. All links, and their share of what they can "
                     "carry in that time:",
                     comms_call_link(&view->total, hottest, name, sizeof(name)),
                     units_format_si((double)hottest->bytes, bytes, sizeof(bytes)),
                     part == part ? ", " : "",
                     part == part ? text_percent(part, share, sizeof(share)) : "",
                     part == part ? " of its capacity" : "");
        for (size_t i = 0; i < links->n && i < PAIRS; i++)
            print_link(view, &links->link[i], out);
        if (links->n > PAIRS)
            (void)fprintf(out, "  ... and %zu less busy links\n", links->n - PAIRS);
    }
    if (view->ports.n && links->unknown_bytes)
        (void)fprintf(out, "%sB went between GPUs without a known link\n",
                      units_format_si((double)links->unknown_bytes, bytes, sizeof(bytes)));
}

/* ---- copies ---- */

static const char *in_gigabytes(double rate, char buf[static 24])
{
    (void)snprintf(buf, 24, isnan(rate) ? "-" : rate < 999.995e9 ? "%.2f" : "%.0f", rate / 1e9);
    return buf;
}

static void print_copies_row(const struct copies_row *row, FILE *out)
{
    char bytes[24], time[24] = "-", rate[24];
    if (row->timed_ns)
        (void)units_format_seconds((double)row->timed_ns / 1e9, time, sizeof(time));
    (void)fprintf(out, "  %-13.24s %-13.24s %-15s %9" PRIu64 " %8s %8s %6s\n", row->from, row->to,
                  copies_row_word(row), row->calls,
                  units_format_si((double)row->bytes, bytes, sizeof(bytes)), time,
                  in_gigabytes(copies_row_speed(row), rate));
}

/* With an empty line before it unless it is `first`. */
static void print_copies(const struct copies *copies, bool first, FILE *out)
{
    char text[200];
    if (!copies->nlogs)
        return;
    (void)fputs(first ? "" : "\n", out);
    text_wrapped(
        out, 0, 2,
        "Copies of %zu process%s, as reported by CUPTI; time on the GPU, summed over copies",
        copies->nlogs, copies->nlogs == 1 ? "" : "es");
    if (!copies->n) {
        (void)fputs("  nothing was copied\n", out);
        return;
    }
    (void)fprintf(out, "  %-13s %-13s %-15s %9s %8s %8s %6s\n", "from", "to", "memory", "calls",
                  "bytes", "time", "GB/s");
    for (size_t i = 0; i < copies->n && i < ROWS_MOST; i++) {
        bool several = strcmp(copies->row[0].host, copies->row[copies->n - 1].host) != 0;
        if (several && (!i || strcmp(copies->row[i - 1].host, copies->row[i].host) != 0)) {
            (void)snprintf(text, sizeof(text), "%.150s", copies->row[i].host);
            (void)fprintf(out, "  %s\n", text_one_line(text));
        }
        print_copies_row(&copies->row[i], out);
    }
    if (copies->n > ROWS_MOST)
        (void)fprintf(out, "  ... and %zu more\n", copies->n - ROWS_MOST);
}

void comms_print(const struct comms_view *view, FILE *out)
{
    const struct comms *comms = &view->comms;
    for (size_t i = 0; i < comms->n; i++) {
        const struct comms_communicator *communicator = &comms->communicator[i];
        print_who(communicator, i, out);
        if (!communicator->ndone) {
            (void)fputs("  nothing was sent\n", out);
            continue;
        }
        print_lines(communicator, out);
        if (communicator->matrix.n)
            print_matrix(&communicator->matrix, comms->n == 1, out);
        else
            (void)fprintf(out, "\n  no matrix of more than %d ranks\n", COMMS_MATRIX_RANKS);
    }
    print_total(view, out);
    print_links(view, out);
    print_copies(&view->copies, comms->n == 0, out);
    if (!view->total_note[0])
        comms_nvlink_check_print(&view->nvlink_check, &view->counters, out);
}
