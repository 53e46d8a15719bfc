#include "harness/comms/tables/comms_moved.h"

#include <inttypes.h>

#include "harness/comms/tables/comms_truth.h"
#include "harness/lib/base/text.h"
#include "harness/lib/base/units.h"

static void print_side(const struct comms_moved_side *side, FILE *out)
{
    char bytes[24], rate[24], share[24];
    (void)fprintf(out, " %9s %9s %6s", units_format_si(side->bytes, bytes, sizeof(bytes)),
                  units_format_si(side->rate, rate, sizeof(rate)),
                  text_percent(side->share, share, sizeof(share)));
}

static void print_row(const char *name, const char *rank, const struct comms_moved_sides *sides,
                      FILE *out)
{
    (void)fprintf(out, "  %-14s %6s", name, rank);
    print_side(&sides->sent, out);
    print_side(&sides->received, out);
    (void)fputc('\n', out);
}

static void print_gpus(const struct comms_moved *moved, bool of_job, FILE *out)
{
    for (size_t i = 0; i < moved->n; i++) {
        const struct comms_moved_gpu *gpu = &moved->gpu[i];
        const struct comms_moved_sides sides = comms_moved_of(moved, gpu);
        char rank[24] = "-";
        if (gpu->ranks)
            (void)snprintf(rank, sizeof(rank), "%" PRId64, gpu->rank);
        if (gpu->of_job == of_job)
            print_row(gpu->counted->pci_bdf[0] ? gpu->counted->pci_bdf : "-", rank, &sides, out);
    }
}

static bool has_others(const struct comms_moved *moved)
{
    for (size_t i = 0; i < moved->n; i++)
        if (!moved->gpu[i].of_job)
            return true;
    return false;
}

void comms_moved_print(const struct comms_moved *moved, FILE *out)
{
    char text[320], seconds[24];
    (void)fputc('\n', out);
    if (comms_counted_why(&moved->counted)[0]) {
        comms_truth_print_none(&moved->counted, out);
        return;
    }
    (void)snprintf(text, sizeof(text),
                   "Bytes over NVLink, as the GPUs of %s counted them over %s, of all processes "
                   "together, and of what their links can carry:",
                   moved->counted.host,
                   units_format_seconds(moved->seconds, seconds, sizeof(seconds)));
    text_wrap(text_one_line(text), 0, 0, out);
    (void)fprintf(out, "  %-14s %6s %9s %9s %6s %9s %9s %6s\n", "GPU", "rank", "sent", "a second",
                  "share", "received", "a second", "share");
    const struct comms_moved_sides all = comms_moved_all(moved, false);
    if (moved->by != COMMS_MOVED_BY_NOBODY) {
        const struct comms_moved_sides job = comms_moved_all(moved, true);
        print_gpus(moved, true, out);
        print_row("the job's", "", &job, out);
        if (has_others(moved))
            (void)fprintf(out, "  %s\n",
                          moved->by == COMMS_MOVED_BY_RANKS ? "used by no rank of the job:"
                                                            : "not open there:");
    }
    print_gpus(moved, false, out);
    if (moved->by == COMMS_MOVED_BY_NOBODY || has_others(moved))
        print_row("all", "", &all, out);
    if (moved->note[0]) {
        (void)fputs("  ", out);
        text_wrap(moved->note, 2, 2, out);
    }
}
