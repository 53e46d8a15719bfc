#include "harness/comms/tables/comms_time.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "harness/comms/logs/names.h"
#include "harness/lib/base/text.h"
#include "harness/lib/base/units.h"

enum { RANKS = 16 };

static const char *gigabytes(double rate, char buf[static 24])
{
    (void)snprintf(buf, 24, isnan(rate) ? "-" : "%.2f", rate / 1e9);
    return buf;
}

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
                  gigabytes(speed.algbw, algbw), gigabytes(speed.busbw, busbw));
}

void comms_print_speeds(const struct comms_lines *lines, uint32_t nranks, FILE *out)
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

static void print_rank(const struct comms_arrival *arrival, const struct comms_arrival_rank *rank,
                       FILE *out)
{
    struct comms_arrival_said said;
    comms_arrival_say(arrival, rank, &said);
    (void)fprintf(out, "  %5u %10s %14s %16s\n", rank->rank, said.last, said.late, said.waited);
}

int comms_print_arrival(const struct comms_communicator *communicator, FILE *out, struct err *err)
{
    struct comms_arrival arrival;
    char text[280], all[48] = "", share[16];
    int rc = comms_arrival_make(communicator, &arrival, err);
    if (rc || !arrival.calls) {
        comms_arrival_free(&arrival);
        return rc;
    }
    double waited = comms_arrival_waited(&arrival);
    if (!isnan(waited))
        (void)snprintf(all, sizeof(all), " (all ranks: %s)",
                       text_percent(waited, share, sizeof(share)));
    (void)snprintf(text, sizeof(text),
                   "Of the last %" PRIu64 " collectives: how many a rank came last to, how late it "
                   "was behind the first, and how much of its time on the GPU it waited for the "
                   "slowest%s",
                   arrival.calls, all);
    (void)fputs("\n  ", out);
    text_wrap(text, 2, 2, out);
    (void)fprintf(out, "  %5s %10s %14s %16s\n", "rank", "last", "late", "waited");
    for (size_t i = 0; i < arrival.n && i < RANKS; i++)
        print_rank(&arrival, &arrival.rank[i], out);
    if (arrival.n > RANKS)
        (void)fprintf(out, "  ... and %zu more ranks\n", arrival.n - RANKS);
    comms_arrival_free(&arrival);
    return 0;
}
