#include "harness/comms/tables/comms_truth.h"

#include <inttypes.h>
#include <string.h>

#include "harness/lib/base/text.h"
#include "harness/lib/base/units.h"

/* Three columns: by calls, counted, the ratio. */
static void print_side(uint64_t called, uint64_t counted, FILE *out)
{
    char a[24], b[24], ratio[24] = "-";
    if (called)
        (void)snprintf(ratio, sizeof(ratio), "%.4f", (double)counted / (double)called);
    (void)fprintf(out, " %9s %9s %8s", units_format_si((double)called, a, sizeof(a)),
                  units_format_si((double)counted, b, sizeof(b)), ratio);
}

static void print_row(const char *name, const struct comms_truth_sum *row, FILE *out)
{
    (void)fprintf(out, "  %-16s", name);
    print_side(row->sent, row->counted_sent, out);
    print_side(row->received, row->counted_received, out);
    (void)fputc('\n', out);
}

/* Below what was counted, so that minus says that calls tell more. */
static void print_unexplained(const struct comms_truth_sum *sum, FILE *out)
{
    (void)fprintf(out, "  %-16s %19" PRId64 " %8s %19" PRId64 "\n", "nothing explains",
                  (int64_t)(sum->counted_sent - sum->sent), "",
                  (int64_t)(sum->counted_received - sum->received));
}

/* What small sends may have on the wire beside what the row says. */
static void print_flags(uint64_t flags, FILE *out)
{
    char text[160], bytes[24];
    if (!flags)
        return;
    (void)snprintf(text, sizeof(text),
                   "Small sends may have sent up to %s more: NCCL does not tell whether they went "
                   "by LL",
                   units_format_si((double)flags, bytes, sizeof(bytes)));
    (void)fputs("  ", out);
    text_wrap(text, 2, 2, out);
}

static bool is_of_interest(const struct comms_truth_gpu *gpu)
{
    return gpu->ranks || gpu->copies || gpu->counted->sent_bytes || gpu->counted->received_bytes;
}

static void print_gpus(const struct comms_truth *truth, FILE *out)
{
    for (size_t i = 0; i < truth->n; i++) {
        const struct comms_truth_gpu *gpu = &truth->gpu[i];
        const struct comms_truth_sum row = comms_truth_sum_of(gpu);
        if (i == 0 || strcmp(truth->gpu[i - 1].host, gpu->host) != 0)
            (void)fprintf(out, "  %s\n", gpu->host);
        if (is_of_interest(gpu))
            print_row(gpu->counted->pci_bdf, &row, out);
    }
}

void comms_truth_print_none(const struct comms_counted *counted, FILE *out)
{
    char text[320];
    (void)snprintf(text, sizeof(text), "NVLink's counters of %s: not told, %s", counted->host,
                   comms_counted_why(counted));
    text_wrap(text_one_line(text), 0, 2, out);
}

void comms_truth_print(const struct comms_truth *truth, const struct comms_counters *counters,
                       FILE *out)
{
    char text[160];
    if (!counters->n)
        return;
    (void)fputc('\n', out);
    if (!truth->n) {
        for (size_t i = 0; i < counters->n; i++)
            comms_truth_print_none(&counters->counted[i], out);
        return;
    }
    const struct comms_truth_sum sum = comms_truth_all(truth);
    (void)snprintf(text, sizeof(text),
                   "Bytes over NVLink: by these calls%s, with the flags of protocols (LL 2, LL128 "
                   "16/15), and as the GPUs counted them",
                   truth->has_copies ? " and copies" : "");
    text_wrap(text, 0, 0, out);
    (void)fprintf(out, "  %-16s %9s %9s %8s %9s %9s %8s\n", "GPU", "sent", "counted", "ratio",
                  "received", "counted", "ratio");
    print_gpus(truth, out);
    print_row("all", &sum, out);
    print_unexplained(&sum, out);
    print_flags(sum.flags, out);
    if (truth->elsewhere) {
        (void)snprintf(text, sizeof(text),
                       "Not laid on NVLink, as it goes to another node or a GPU is not known: "
                       "bytes %" PRIu64,
                       truth->elsewhere);
        (void)fputs("  ", out);
        text_wrap(text, 2, 2, out);
    }
}
