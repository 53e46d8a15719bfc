#include "harness/comms/page/html_comms.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "harness/comms/findings/findings.h"
#include "harness/comms/logs/names.h"
#include "harness/lib/base/text.h"
#include "harness/lib/base/units.h"
#include "harness/show/html/html_parts.h"
#include "harness/show/report/escape.h"

#define MAP_FIGURE "comms_bytes" /* which the map of the page is, too */

enum {
    CELL = 66,
    EDGE = 64,
    MAP_MOST = 64,     /* GPUs of a map in the page; of more there is gnuplot's picture */
    NUMBERS_MOST = 10, /* that have room for numbers */
    TABLE_MOST = 16,   /* of a table of numbers */
    RANKS_MOST = 64,
    COPIES_ROWS_MOST = 256
};

/* ---- tables ---- */

/* Columns are separated by '|'; one of texts begins with ':'. */
static void begin_table(const char *columns, const char *caption, FILE *out)
{
    (void)fputs("<div class=\"scroll\"><table>", out);
    if (caption[0])
        html_element("caption", out, "%s", caption);
    (void)fputs("\n<tr>", out);
    for (const char *at = columns; *at; at += *at == '|') {
        bool is_text = *at == ':';
        size_t length = strcspn(at, "|");
        (void)fprintf(out, "<th scope=\"col\"%s>%.*s</th>", is_text ? " class=\"text\"" : "",
                      (int)length - is_text, at + is_text);
        at += length;
    }
    (void)fputs("</tr>\n", out);
}

/* A row with a name that is escaped, and cells separated by '|' that need not be. */
__attribute__((format(printf, 3, 4))) static void print_cells(FILE *out, const char *name,
                                                              const char *fmt, ...)
{
    char text[400], *rest = text;
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    (void)fputs("<tr>", out);
    html_element(HTML_NAME, out, "%s", name);
    for (const char *cell; (cell = strsep(&rest, "|"));)
        (void)fprintf(out, "<td>%s</td>", cell);
}

static void end_row(FILE *out)
{
    (void)fputs("</tr>\n", out);
}

static void end_table(FILE *out)
{
    (void)fputs("</table></div>\n", out);
}

/* ---- the map ---- */

/* Viridis (S. van der Walt and N. Smith, CC0), as plots/heat_map.gp; the text on it in black or
 * white. */
static const char *const colours[] = {"#440154", "#48186A", "#472D7B", "#424086", "#3B528B",
                                      "#33638D", "#2C728E", "#26828E", "#21918C", "#1FA088",
                                      "#28AE80", "#3FBC73", "#5EC962", "#84D44B", "#ADDC30",
                                      "#D8E219", "#FDE725"};
enum { COLOURS = sizeof(colours) / sizeof(colours[0]), DARK_COLOURS = 8 };

static void print_map_cell(const struct comms_matrix *matrix, uint32_t from, uint32_t to,
                           const double ends[static 2], FILE *out)
{
    uint64_t bytes = matrix->bytes[(size_t)from * matrix->n + to];
    char text[24];
    uint32_t x = EDGE + to * CELL, y = EDGE + from * CELL;
    if (!bytes) {
        (void)fprintf(out, "<rect class=\"none\" x=\"%u\" y=\"%u\" width=\"%d\" height=\"%d\"/>", x,
                      y, CELL, CELL);
        return;
    }
    double share = (comms_log10(bytes) - ends[0]) / fmax(ends[1] - ends[0], 1e-9);
    int colour = (int)lround(fmin(fmax(share, 0), 1) * (COLOURS - 1));
    (void)fprintf(out,
                  "<rect x=\"%u\" y=\"%u\" width=\"%d\" height=\"%d\" fill=\"%s\"><title>GPU %u to "
                  "%u: %" PRIu64 " bytes, %" PRIu64 " calls</title></rect>",
                  x, y, CELL, CELL, colours[colour], from, to, bytes,
                  matrix->calls[(size_t)from * matrix->n + to]);
    if (matrix->n <= NUMBERS_MOST)
        (void)fprintf(out, "<text class=\"in\" style=\"fill:%s\" x=\"%u\" y=\"%u\">%s</text>",
                      colour < DARK_COLOURS ? "#fff" : "#000", x + CELL / 2, y + CELL / 2 + 5,
                      units_format_si((double)bytes, text, sizeof(text)));
}

static void print_map(const struct comms_matrix *matrix, FILE *out)
{
    double ends[2];
    uint32_t side = EDGE + matrix->n * CELL + 4, every = matrix->n / 17 + 1;
    comms_matrix_log_ends(matrix, ends);
    (void)fprintf(
        out,
        "<svg class=\"heat\" role=\"img\" viewBox=\"0 0 %u %u\"><title>Bytes from each GPU "
        "to each other, colours by powers of ten</title><desc>The brighter the more: from "
        "10 to the power of %.1f to that of %.1f. The numbers are in matrix.csv.</desc>\n",
        side, side, ends[0], ends[1]);
    (void)fprintf(out, "<text x=\"%u\" y=\"18\">to GPU</text><text x=\"30\" y=\"%d\">from</text>\n",
                  EDGE + matrix->n * CELL / 2, EDGE - 10);
    for (uint32_t i = 0; i < matrix->n; i += every)
        (void)fprintf(out, "<text x=\"%u\" y=\"%d\">%u</text><text x=\"%d\" y=\"%u\">%u</text>\n",
                      EDGE + i * CELL + CELL / 2, EDGE - 10, i, EDGE / 2,
                      EDGE + i * CELL + CELL / 2 + 5, i);
    for (uint32_t from = 0; from < matrix->n; from++) {
        for (uint32_t to = 0; to < matrix->n; to++)
            print_map_cell(matrix, from, to, ends, out);
        (void)fputc('\n', out);
    }
    (void)fputs("</svg>\n", out);
}

static void print_numbers(const char *caption, const struct comms_matrix *matrix,
                          const uint64_t *cells, FILE *out)
{
    (void)fprintf(
        out,
        "<div class=\"scroll\"><table><caption>%s</caption>\n<tr><th scope=\"col\">from, to"
        "</th>",
        caption);
    for (uint32_t to = 0; to < matrix->n; to++)
        (void)fprintf(out, "<th scope=\"col\">%u</th>", to);
    (void)fputs("</tr>\n", out);
    for (uint32_t from = 0; from < matrix->n; from++) {
        (void)fprintf(out, "<tr><th scope=\"row\">%u</th>", from);
        for (uint32_t to = 0; to < matrix->n; to++)
            (void)fprintf(out, "<td>%" PRIu64 "</td>", cells[(size_t)from * matrix->n + to]);
        (void)fputs("</tr>\n", out);
    }
    (void)fputs("</table></div>\n", out);
}

static void print_gpus(const struct comms_total *total, FILE *out)
{
    char name[200];
    (void)fputs("<ul class=\"workers\">\n", out);
    for (uint32_t i = 0; i < total->matrix.n; i++)
        html_line("li", out, "GPU %u: %s", i, comms_call_gpu(&total->gpu[i], name, sizeof(name)));
    (void)fputs("</ul>\n", out);
}

static void print_total(const struct comms_view *view, FILE *out)
{
    static const char *const says[] = {
        [COMMS_EXACT] = "Exact: NCCL reports each pair, or only one is possible",
        [COMMS_FROM_NCCL] = "Pairs: order from NCCL",
        [COMMS_MODELLED] = "Pairs are modelled: rings in the order of ranks",
    };
    const struct comms_matrix *matrix = &view->total.matrix;
    (void)fputs("<section id=\"matrix\">\n<h2>Bytes between GPUs</h2>\n<p>", out);
    if (view->total_note[0] || !matrix->n) {
        html_say(out, "%s", view->total_note[0] ? view->total_note : "No pair is known.");
        (void)fputs("</p>\n</section>\n", out);
        return;
    }
    html_say(out, "%s%s. All communicators together; colours by powers of ten.", says[matrix->how],
             matrix->trees ? ", trees as NCCL builds them" : "");
    if (matrix->unknown_calls)
        html_say(out,
                 " Pairs unknown, of all ranks together: calls %" PRIu64 ", bytes %" PRIu64 ".",
                 matrix->unknown_calls, matrix->unknown_bytes);
    (void)fputs("</p>\n", out);
    if (matrix->n <= MAP_MOST)
        print_map(matrix, out);
    print_gpus(&view->total, out);
    if (matrix->n <= TABLE_MOST) {
        (void)fputs("<details><summary>As numbers</summary>\n", out);
        print_numbers("Bytes", matrix, matrix->bytes, out);
        print_numbers("Calls", matrix, matrix->calls, out);
        (void)fputs("</details>\n", out);
    }
    (void)fputs("</section>\n", out);
}

static void print_links(const struct comms_view *view, FILE *out)
{
    const struct comms_links *links = &view->links;
    if (!links->n)
        return;
    (void)fputs("<section id=\"links\">\n<h2>Links</h2>\n<p>The shortest path of each pair, "
                "including protocol overhead; the busiest first. Shares: of what a link can carry "
                "in that time.</p>\n",
                out);
    begin_table("link|bytes|GB/s at most|share", "", out);
    for (size_t i = 0; i < links->n && i < MAP_MOST; i++) {
        const struct comms_link *link = &links->link[i];
        char name[120], share[24], most[24] = "-";
        if (link->gbps > 0)
            (void)snprintf(most, sizeof(most), "%.4g", link->gbps);
        print_cells(out, comms_call_link(&view->total, link, name, sizeof(name)),
                    "%" PRIu64 "|%s|%s", link->bytes, most,
                    text_percent(comms_link_share(links, link), share, sizeof(share)));
        end_row(out);
    }
    end_table(out);
    (void)fputs("</section>\n", out);
}

/* ---- on the GPUs ---- */

static void print_speeds(const struct comms_summary *lines, uint32_t nranks, FILE *out)
{
    bool any = false;
    for (size_t i = 0; i < lines->n; i++)
        any |= lines->line[i].timed_calls > 0;
    if (!any)
        return;
    begin_table("collective|algorithm|protocol|timed|time|algbw|busbw",
                "On the GPU, by CUDA events; bandwidth in GB/s", out);
    for (size_t i = 0; i < lines->n; i++) {
        const struct comms_line *line = &lines->line[i];
        const struct comms_speed speed = comms_line_speed(line, nranks);
        char time[24], algbw[24], busbw[24];
        if (isnan(speed.time))
            continue;
        print_cells(out, comms_func_name(line->func), "%s|%s|%" PRIu64 "|%s|%s|%s",
                    comms_algo_name(line->algo), comms_proto_name(line->proto), line->timed_calls,
                    units_format_seconds(speed.time, time, sizeof(time)),
                    comms_gigabytes(speed.algbw, algbw), comms_gigabytes(speed.busbw, busbw));
        end_row(out);
    }
    end_table(out);
}

static void print_arrival(const struct comms_arrival *arrival, FILE *out)
{
    char text[200], rank[16];
    if (!arrival->calls)
        return;
    (void)snprintf(text, sizeof(text),
                   "The last %" PRIu64
                   " collectives: how often a rank came last, how late after the first, and the "
                   "share of its GPU time spent waiting for the slowest",
                   arrival->calls);
    begin_table("rank|last|late|waited", text, out);
    for (size_t i = 0; i < arrival->n && i < RANKS_MOST; i++) {
        struct comms_arrival_said said;
        comms_arrival_say(arrival, &arrival->rank[i], &said);
        (void)snprintf(rank, sizeof(rank), "%u", arrival->rank[i].rank);
        print_cells(out, rank, "%s|%s|%s", said.last, said.late, said.waited);
        end_row(out);
    }
    end_table(out);
}

/* ---- calls ---- */

static void print_lines(const struct comms_view *view, size_t c, FILE *out)
{
    const struct comms_communicator *communicator = &view->comms.communicator[c];
    char name[160], caption[240], sizes[2000];
    (void)snprintf(caption, sizeof(caption), "%s: %u ranks on %u nodes",
                   comms_call_communicator(communicator, c, name, sizeof(name)),
                   communicator->nranks, communicator->nodes);
    begin_table("collective|algorithm|protocol|calls|bytes|:sizes of calls", caption, out);
    for (size_t i = 0; i < communicator->work.n; i++) {
        const struct comms_line *line = &communicator->work.line[i];
        print_cells(out, comms_func_name(line->func), "%s|%s|%" PRIu64 "|%" PRIu64,
                    comms_algo_name(line->algo), comms_proto_name(line->proto), line->calls,
                    line->bytes);
        html_element("td class=\"text\"", out, "%s%s", comms_call_sizes(line, sizes, sizeof(sizes)),
                     line->captured ? " (CUDA graph)" : "");
        end_row(out);
    }
    end_table(out);
    print_speeds(&communicator->work, communicator->nranks, out);
    print_arrival(&communicator->arrival, out);
}

static void print_calls(const struct comms_view *view, FILE *out)
{
    (void)fputs(
        "<section id=\"calls\">\n<h2>Calls, by collective</h2>\n<p>Collectives: calls of one rank. "
        "Sends and receives: calls of all ranks. Bytes as requested by the program.</p>\n",
        out);
    for (size_t c = 0; c < view->comms.n; c++)
        print_lines(view, c, out);
    (void)fputs("</section>\n", out);
}

/* ---- copies ---- */

static void print_copies(const struct copies *copies, FILE *out)
{
    if (!copies->nlogs)
        return;
    (void)fputs("<section id=\"copies\">\n<h2>Copies</h2>\n<p>As reported by CUPTI; time on the "
                "GPU, summed over copies.</p>\n",
                out);
    begin_table("host|from|to|kind|memory there|and there|calls|bytes|time|GB/s", "", out);
    for (size_t i = 0; i < copies->n && i < COPIES_ROWS_MOST; i++) {
        const struct copies_row *row = &copies->row[i];
        char time[24] = "-", rate[24];
        if (row->timed_ns)
            (void)units_format_seconds((double)row->timed_ns / 1e9, time, sizeof(time));
        print_cells(out, row->host, "%s|%s|%s|%s|%s|%" PRIu64 "|%" PRIu64 "|%s|%s", row->from,
                    row->to, copies_kind_name(row->kind), copies_memory_name(row->from_memory),
                    copies_memory_name(row->to_memory), row->calls, row->bytes, time,
                    comms_gigabytes(copies_row_speed(row), rate));
        end_row(out);
    }
    end_table(out);
    (void)fputs("</section>\n", out);
}

/* ---- on NVLink ---- */

static void print_sides(const char *name, const struct comms_nvlink_check_sum *sum, FILE *out)
{
    char sent[24] = "-", received[24] = "-";
    if (sum->sent)
        (void)snprintf(sent, sizeof(sent), "%.4f", (double)sum->counted_sent / (double)sum->sent);
    if (sum->received)
        (void)snprintf(received, sizeof(received), "%.4f",
                       (double)sum->counted_received / (double)sum->received);
    print_cells(out, name, "%" PRIu64 "|%" PRIu64 "|%s|%" PRIu64 "|%" PRIu64 "|%s", sum->sent,
                sum->counted_sent, sent, sum->received, sum->counted_received, received);
    end_row(out);
}

static void print_truth(const struct comms_nvlink_check *nvlink_check, FILE *out)
{
    const struct comms_nvlink_check_sum sum = comms_nvlink_check_all(nvlink_check);
    char name[COMMS_HOST_MAX + PCI_BDF_MAX + 4];
    if (!nvlink_check->n)
        return;
    (void)fputs("<section id=\"nvlink\">\n<h2>NVLink's counters</h2>\n<p>Bytes of these calls, "
                "including protocol flags, and as counted by the GPUs meanwhile.",
                out);
    if (sum.flags)
        html_say(out,
                 " Small sends may have sent up to %" PRIu64
                 " more: NCCL does not report whether they used LL.",
                 sum.flags);
    if (nvlink_check->elsewhere)
        html_say(out, " %" PRIu64 " bytes are not included: to another node, or of an unknown GPU.",
                 nvlink_check->elsewhere);
    (void)fputs("</p>\n", out);
    begin_table("GPU|sent|counted|ratio|received|counted|ratio", "", out);
    for (size_t i = 0; i < nvlink_check->n; i++) {
        const struct comms_nvlink_check_gpu *gpu = &nvlink_check->gpu[i];
        (void)snprintf(name, sizeof(name), "%s, %s", gpu->host, gpu->pci);
        print_sides(name, &gpu->sum, out);
    }
    print_sides("all", &sum, out);
    end_table(out);
    (void)fputs("</section>\n", out);
}

/* ---- the page ---- */

static void print_head(const struct html_comms *page, FILE *out)
{
    const struct comms_view *view = page->view;
    char title[300];
    (void)snprintf(title, sizeof(title), "contend comms: %.200s", page->path);
    html_begin(text_one_line(title), out);
    (void)fputs("<header>\n<h1>Who sent how much to whom over NCCL</h1>\n<p>", out);
    html_say(out, "%s: %zu processes, %zu communicators, %u GPUs", page->path, view->logs.n,
             view->comms.n, view->total.matrix.n);
    if (view->copies.nlogs)
        html_say(out, "; copies of %zu process%s", view->copies.nlogs,
                 view->copies.nlogs == 1 ? "" : "es");
    (void)fputs("</p>\n</header>\n<main>\n<section>\n", out);
    html_verdict("", &view->findings, out);
    (void)fputs("<ul class=\"findings\">\n", out);
    html_findings(&view->findings, out);
    (void)fputs("</ul>\n</section>\n", out);
}

static void print_figures(const struct html_comms *page, FILE *out)
{
    if (!page->nfigures)
        return;
    (void)fputs("<section id=\"figures\">\n<h2>Figures</h2>\n", out);
    for (size_t i = 0; i < page->nfigures; i++)
        if (page->view->total.matrix.n > MAP_MOST || strcmp(page->figures[i].name, MAP_FIGURE) != 0)
            html_figure(&page->figures[i], out);
    (void)fputs("</section>\n", out);
}

int html_comms_print(const struct html_comms *page, FILE *out, struct err *err)
{
    char word[1100];
    print_head(page, out);
    print_total(page->view, out);
    print_links(page->view, out);
    print_copies(&page->view->copies, out);
    print_truth(&page->view->nvlink_check, out);
    print_figures(page, out);
    print_calls(page->view, out);
    (void)text_shell_word(page->path, word, sizeof(word));
    (void)fputs("<section id=\"commands\">\n<h2>Again</h2>\n", out);
    html_line("pre", out, "contend comms --read %s", word);
    (void)fputs("</section>\n</main>\n</body>\n</html>\n", out);
    return ferror(out) ? err_set(err, -EIO, "cannot write the page") : 0;
}
