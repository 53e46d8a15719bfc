#include "harness/comms/tables/comms_copies.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "harness/lib/base/text.h"
#include "harness/lib/base/units.h"

enum { ROWS_MOST = 32 };

static const char *in_gigabytes(double rate, char buf[static 24])
{
    (void)snprintf(buf, 24, isnan(rate) ? "-" : rate < 999.995e9 ? "%.2f" : "%.0f", rate / 1e9);
    return buf;
}

static void print_row(const struct copies_row *row, FILE *out)
{
    char bytes[24], time[24] = "-", rate[24];
    if (row->timed_ns)
        (void)units_format_seconds((double)row->timed_ns / 1e9, time, sizeof(time));
    (void)fprintf(out, "  %-13.24s %-13.24s %-15s %9" PRIu64 " %8s %8s %6s\n", row->from, row->to,
                  copies_row_word(row), row->calls,
                  units_format_si((double)row->bytes, bytes, sizeof(bytes)), time,
                  in_gigabytes(copies_row_speed(row), rate));
}

void copies_print(const struct copies *copies, bool first, FILE *out)
{
    char text[200];
    if (!copies->nlogs)
        return;
    (void)snprintf(text, sizeof(text),
                   "Copies, as CUPTI tells them, of %zu process%s; time on the GPU, each copy by "
                   "itself",
                   copies->nlogs, copies->nlogs == 1 ? "" : "es");
    (void)fputs(first ? "" : "\n", out);
    text_wrap(text, 0, 2, out);
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
        print_row(&copies->row[i], out);
    }
    if (copies->n > ROWS_MOST)
        (void)fprintf(out, "  ... and %zu more\n", copies->n - ROWS_MOST);
}
