#include "harness/comms/page/html_comms_measured.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "harness/comms/logs/names.h"
#include "harness/comms/view/arrival.h"
#include "harness/lib/base/text.h"
#include "harness/lib/base/units.h"
#include "harness/show/html/html_parts.h"
#include "harness/show/report/escape.h"

enum { RANKS_MOST = 64, COPIES_ROWS_MOST = 256 };

/* ---- on the GPUs ---- */

static const char *gigabytes(double rate, char buf[static 24])
{
    (void)snprintf(buf, 24, isnan(rate) ? "-" : "%.2f", rate / 1e9);
    return buf;
}

static void print_speeds(const struct comms_lines *lines, uint32_t nranks, FILE *out)
{
    bool any = false;
    for (size_t i = 0; i < lines->n; i++)
        any |= lines->line[i].timed_calls > 0;
    if (!any)
        return;
    (void)fputs("<div class=\"scroll\"><table><caption>On the GPU, by CUDA events; bandwidth in "
                "GB/s</caption>\n<tr><th scope=\"col\">collective</th><th scope=\"col\">algorithm"
                "</th><th scope=\"col\">protocol</th><th scope=\"col\">timed</th><th scope=\"col\">"
                "time</th><th scope=\"col\">algbw</th><th scope=\"col\">busbw</th></tr>\n",
                out);
    for (size_t i = 0; i < lines->n; i++) {
        const struct comms_line *line = &lines->line[i];
        const struct comms_speed speed = comms_line_speed(line, nranks);
        char time[24], algbw[24], busbw[24];
        if (isnan(speed.time))
            continue;
        (void)fprintf(out,
                      "<tr><th scope=\"row\">%s</th><td>%s</td><td>%s</td><td>%" PRIu64
                      "</td><td>%s</td><td>%s</td><td>%s</td></tr>\n",
                      comms_func_name(line->func), comms_algo_name(line->algo),
                      comms_proto_name(line->proto), line->timed_calls,
                      units_format_seconds(speed.time, time, sizeof(time)),
                      gigabytes(speed.algbw, algbw), gigabytes(speed.busbw, busbw));
    }
    (void)fputs("</table></div>\n", out);
}

static void print_rank(const struct comms_arrival *arrival, const struct comms_arrival_rank *rank,
                       FILE *out)
{
    struct comms_arrival_said said;
    comms_arrival_say(arrival, rank, &said);
    (void)fprintf(out, "<tr><th scope=\"row\">%u</th><td>%s</td><td>%s</td><td>%s</td></tr>\n",
                  rank->rank, said.last, said.late, said.waited);
}

static void print_arrival(const struct comms_arrival *arrival, FILE *out)
{
    if (!arrival->calls)
        return;
    (void)fputs("<div class=\"scroll\"><table><caption>", out);
    html_say(out,
             "The last %" PRIu64 " collectives: how many a rank came last to, how late it was "
             "behind the first, how much of its time on the GPU it waited for the slowest",
             arrival->calls);
    (void)fputs("</caption>\n<tr><th scope=\"col\">rank</th><th scope=\"col\">last</th>"
                "<th scope=\"col\">late</th><th scope=\"col\">waited</th></tr>\n",
                out);
    for (size_t i = 0; i < arrival->n && i < RANKS_MOST; i++)
        print_rank(arrival, &arrival->rank[i], out);
    (void)fputs("</table></div>\n", out);
}

int html_comms_times(const struct comms_communicator *communicator, const struct comms_lines *lines,
                     FILE *out, struct err *err)
{
    struct comms_arrival arrival;
    int rc = comms_arrival_make(communicator, &arrival, err);
    if (rc)
        return rc;
    print_speeds(lines, communicator->nranks, out);
    print_arrival(&arrival, out);
    comms_arrival_free(&arrival);
    return 0;
}

/* ---- copies ---- */

static void print_copies_row(const struct copies_row *row, FILE *out)
{
    char time[24] = "-", rate[24];
    if (row->timed_ns)
        (void)units_format_seconds((double)row->timed_ns / 1e9, time, sizeof(time));
    (void)fputs("<tr><th scope=\"row\">", out);
    html_say(out, "%s", row->host);
    (void)fprintf(out,
                  "</th><td>%s</td><td>%s</td><td>%s</td><td>%s</td><td>%s</td><td>%" PRIu64
                  "</td><td>%" PRIu64 "</td><td>%s</td><td>%s</td></tr>\n",
                  row->from, row->to, copies_kind_name(row->kind),
                  copies_memory_name(row->from_memory), copies_memory_name(row->to_memory),
                  row->calls, row->bytes, time, gigabytes(copies_row_speed(row), rate));
}

void html_comms_copies(const struct comms_view *view, FILE *out)
{
    if (!view->copies.nlogs)
        return;
    (void)fputs("<section id=\"copies\">\n<h2>Copies</h2>\n<p>As CUPTI tells them; time on the "
                "GPU, each copy by itself.</p>\n<div class=\"scroll\"><table>\n<tr>"
                "<th scope=\"col\">host</th><th scope=\"col\">from</th><th scope=\"col\">to</th>"
                "<th scope=\"col\">kind</th><th scope=\"col\">memory there</th>"
                "<th scope=\"col\">and there</th>"
                "<th scope=\"col\">calls</th><th scope=\"col\">bytes</th><th scope=\"col\">time"
                "</th><th scope=\"col\">GB/s</th></tr>\n",
                out);
    for (size_t i = 0; i < view->copies.n && i < COPIES_ROWS_MOST; i++)
        print_copies_row(&view->copies.row[i], out);
    (void)fputs("</table></div>\n</section>\n", out);
}

/* ---- on NVLink ---- */

static void print_side(uint64_t called, uint64_t counted, FILE *out)
{
    char ratio[24] = "-";
    if (called)
        (void)snprintf(ratio, sizeof(ratio), "%.4f", (double)counted / (double)called);
    (void)fprintf(out, "<td>%" PRIu64 "</td><td>%" PRIu64 "</td><td>%s</td>", called, counted,
                  ratio);
}

static void print_gpu(const struct comms_truth_gpu *gpu, FILE *out)
{
    (void)fputs("<tr><th scope=\"row\">", out);
    html_say(out, "%s, %s", gpu->host, gpu->counted->pci_bdf);
    (void)fputs("</th>", out);
    print_side(gpu->sent, (uint64_t)gpu->counted->sent_bytes, out);
    print_side(gpu->received, (uint64_t)gpu->counted->received_bytes, out);
    (void)fputs("</tr>\n", out);
}

void html_comms_truth(const struct comms_view *view, FILE *out)
{
    const struct comms_truth *truth = &view->truth;
    const struct comms_truth_sum sum = comms_truth_all(truth);
    if (!truth->n)
        return;
    (void)fputs("<section id=\"nvlink\">\n<h2>What NVLink counted</h2>\n<p>Bytes by these calls, "
                "with the flags of protocols, and as the GPUs counted them meanwhile.",
                out);
    if (sum.flags)
        html_say(out,
                 " Small sends may have sent up to %" PRIu64 " more: NCCL does not tell whether "
                 "they went by LL.",
                 sum.flags);
    if (truth->elsewhere)
        html_say(out,
                 " %" PRIu64 " bytes are in none of them: to another node, or of a GPU that is "
                 "not known.",
                 truth->elsewhere);
    (void)fputs("</p>\n<div class=\"scroll\"><table>\n<tr><th scope=\"col\">GPU</th>"
                "<th scope=\"col\">sent</th><th scope=\"col\">counted</th><th scope=\"col\">ratio"
                "</th><th scope=\"col\">received</th><th scope=\"col\">counted</th>"
                "<th scope=\"col\">ratio</th></tr>\n",
                out);
    for (size_t i = 0; i < truth->n; i++)
        print_gpu(&truth->gpu[i], out);
    (void)fputs("<tr><th scope=\"row\">all</th>", out);
    print_side(sum.sent, sum.counted_sent, out);
    print_side(sum.received, sum.counted_received, out);
    (void)fputs("</tr>\n</table></div>\n</section>\n", out);
}
