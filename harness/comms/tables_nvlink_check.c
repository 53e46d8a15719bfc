#include <inttypes.h>
#include <string.h>

#include "harness/comms/tables.h"
#include "harness/lib/units.h"

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

static void add_gpus(const struct comms_nvlink_check *nvlink_check, struct doc_table *table)
{
    for (size_t i = 0; i < nvlink_check->n; i++) {
        const struct comms_nvlink_check_gpu *gpu = &nvlink_check->gpu[i];
        if (i == 0 || strcmp(nvlink_check->gpu[i - 1].host, gpu->host) != 0)
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

void comms_nvlink_check_add_to_doc(const struct comms_nvlink_check *nvlink_check,
                                   const struct comms_counters *counters, struct doc *doc)
{
    if (counters->n)
        doc_heading(doc, "Bytes over NVLink");
    for (size_t i = 0; i < counters->n && !nvlink_check->n; i++)
        add_none(&counters->counted[i], doc);
    if (!counters->n || !nvlink_check->n)
        return;
    const struct comms_nvlink_check_sum sum = comms_nvlink_check_all(nvlink_check);
    doc_text(doc, "Of these calls, including protocol flags (LL 2, LL128 16/15), and as counted by "
                  "the GPUs");
    struct doc_table *table = doc_table(doc);
    doc_column(table, DOC_LABEL, "GPU");
    doc_columns(table, DOC_NUMBER, "sent", "counted", "ratio", "received", "counted", "ratio",
                NULL);
    add_gpus(nvlink_check, table);
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
    if (nvlink_check->elsewhere)
        doc_text(doc,
                 "Not on NVLink, as they go to another node or the GPU is unknown: bytes %" PRIu64,
                 nvlink_check->elsewhere);
}
