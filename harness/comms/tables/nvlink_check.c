#include "harness/comms/tables/comms.h"

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

static void print_row(const char *name, const struct comms_nvlink_check_sum *row, FILE *out)
{
    (void)fprintf(out, "  %-16s", name);
    print_side(row->sent, row->counted_sent, out);
    print_side(row->received, row->counted_received, out);
    (void)fputc('\n', out);
}

/* Below what was counted, so that minus says that calls tell more. */
static void print_unexplained(const struct comms_nvlink_check_sum *sum, FILE *out)
{
    (void)fprintf(out, "  %-16s %19" PRId64 " %8s %19" PRId64 "\n", "unexplained",
                  (int64_t)(sum->counted_sent - sum->sent), "",
                  (int64_t)(sum->counted_received - sum->received));
}

/* The bytes that protocols may add to small sends, beyond the row. */
static void print_flags(uint64_t flags, FILE *out)
{
    char bytes[24];
    if (!flags)
        return;
    text_wrapped(
        out, 2, 2,
        "Small sends may have sent up to %s more: NCCL does not report whether they used LL",
        units_format_si((double)flags, bytes, sizeof(bytes)));
}

static bool is_of_interest(const struct comms_nvlink_check_gpu *gpu)
{
    return gpu->ranks || gpu->copies || gpu->sum.counted_sent || gpu->sum.counted_received;
}

static void print_gpus(const struct comms_nvlink_check *nvlink_check, FILE *out)
{
    for (size_t i = 0; i < nvlink_check->n; i++) {
        const struct comms_nvlink_check_gpu *gpu = &nvlink_check->gpu[i];
        if (i == 0 || strcmp(nvlink_check->gpu[i - 1].host, gpu->host) != 0)
            (void)fprintf(out, "  %s\n", gpu->host);
        if (is_of_interest(gpu))
            print_row(gpu->pci, &gpu->sum, out);
    }
}

static void print_none(const struct comms_counted *counted, FILE *out)
{
    text_wrapped(out, 0, 2, "NVLink's counters of %s: unknown, %s", counted->host,
                 comms_counted_why(counted));
}

void comms_nvlink_check_print(const struct comms_nvlink_check *nvlink_check,
                              const struct comms_counters *counters, FILE *out)
{
    if (!counters->n)
        return;
    (void)fputc('\n', out);
    if (!nvlink_check->n) {
        for (size_t i = 0; i < counters->n; i++)
            print_none(&counters->counted[i], out);
        return;
    }
    const struct comms_nvlink_check_sum sum = comms_nvlink_check_all(nvlink_check);
    text_wrapped(out, 0, 0,
                 "Bytes over NVLink: of these calls%s, including protocol flags (LL 2, LL128 "
                 "16/15), and as counted by the GPUs",
                 nvlink_check->has_copies ? " and copies" : "");
    (void)fprintf(out, "  %-16s %9s %9s %8s %9s %9s %8s\n", "GPU", "sent", "counted", "ratio",
                  "received", "counted", "ratio");
    print_gpus(nvlink_check, out);
    print_row("all", &sum, out);
    print_unexplained(&sum, out);
    print_flags(sum.flags, out);
    if (nvlink_check->elsewhere) {
        text_wrapped(
            out, 2, 2,
            "Not on NVLink, as they go to another node or the GPU is unknown: bytes %" PRIu64,
            nvlink_check->elsewhere);
    }
}

/* ---- beside a job that runs ---- */

static void print_moved_side(const struct comms_nvlink_delta_side *side, FILE *out)
{
    char bytes[24], rate[24], share[24];
    (void)fprintf(out, " %9s %9s %6s", units_format_si(side->bytes, bytes, sizeof(bytes)),
                  units_format_si(side->rate, rate, sizeof(rate)),
                  text_percent(side->share, share, sizeof(share)));
}

static void print_moved_row(const char *name, const char *rank,
                            const struct comms_nvlink_delta_sides *sides, FILE *out)
{
    (void)fprintf(out, "  %-14s %6s", name, rank);
    print_moved_side(&sides->sent, out);
    print_moved_side(&sides->received, out);
    (void)fputc('\n', out);
}

static void print_moved_gpus(const struct comms_nvlink_delta *nvlink_delta, bool of_job, FILE *out)
{
    for (size_t i = 0; i < nvlink_delta->n; i++) {
        const struct comms_nvlink_delta_gpu *gpu = &nvlink_delta->gpu[i];
        const struct comms_nvlink_delta_sides sides = comms_nvlink_delta_of(nvlink_delta, gpu);
        char rank[24] = "-";
        if (gpu->ranks)
            (void)snprintf(rank, sizeof(rank), "%" PRId64, gpu->rank);
        if (gpu->of_job == of_job)
            print_moved_row(gpu->counted->pci_bdf[0] ? gpu->counted->pci_bdf : "-", rank, &sides,
                            out);
    }
}

static bool has_others(const struct comms_nvlink_delta *nvlink_delta)
{
    for (size_t i = 0; i < nvlink_delta->n; i++)
        if (!nvlink_delta->gpu[i].of_job)
            return true;
    return false;
}

void comms_nvlink_delta_print(const struct comms_nvlink_delta *nvlink_delta, FILE *out)
{
    char seconds[24];
    (void)fputc('\n', out);
    if (comms_counted_why(&nvlink_delta->counted)[0]) {
        print_none(&nvlink_delta->counted, out);
        return;
    }
    text_wrapped(out, 0, 0,
                 "Bytes over NVLink, as the GPUs of %s counted them over %s, of all processes "
                 "together, and of what their links can carry:",
                 nvlink_delta->counted.host,
                 units_format_seconds(nvlink_delta->seconds, seconds, sizeof(seconds)));
    (void)fprintf(out, "  %-14s %6s %9s %9s %6s %9s %9s %6s\n", "GPU", "rank", "sent", "a second",
                  "share", "received", "a second", "share");
    const struct comms_nvlink_delta_sides all = comms_nvlink_delta_all(nvlink_delta, false);
    if (nvlink_delta->by != COMMS_NVLINK_DELTA_BY_NOBODY) {
        const struct comms_nvlink_delta_sides job = comms_nvlink_delta_all(nvlink_delta, true);
        print_moved_gpus(nvlink_delta, true, out);
        print_moved_row("the job's", "", &job, out);
        if (has_others(nvlink_delta))
            (void)fprintf(out, "  %s\n",
                          nvlink_delta->by == COMMS_NVLINK_DELTA_BY_RANKS
                              ? "used by no rank of the job:"
                              : "not open there:");
    }
    print_moved_gpus(nvlink_delta, false, out);
    if (nvlink_delta->by == COMMS_NVLINK_DELTA_BY_NOBODY || has_others(nvlink_delta))
        print_moved_row("all", "", &all, out);
    if (nvlink_delta->note[0]) {
        text_wrapped(out, 2, 2, "%s", nvlink_delta->note);
    }
}
