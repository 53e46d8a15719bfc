#include "harness/comms/json/comms_truth.h"

#include "harness/store/json/value.h"

static json_t *side_to_json(uint64_t called, uint64_t counted)
{
    return json_pack("{s:I, s:I, s:I, s:o}", "called_bytes", (json_int_t)called, "counted_bytes",
                     (json_int_t)counted, "unexplained_bytes", (json_int_t)(counted - called),
                     "ratio", called ? json_real((double)counted / (double)called) : json_null());
}

static json_t *gpu_to_json(const struct comms_truth_gpu *gpu)
{
    return json_pack("{s:o, s:s, s:i, s:o, s:o}", "host", json_value_text(gpu->host), "pci_bdf",
                     gpu->counted->pci_bdf, "ranks", (int)gpu->ranks, "sent",
                     side_to_json(gpu->sent, (uint64_t)gpu->counted->sent_bytes), "received",
                     side_to_json(gpu->received, (uint64_t)gpu->counted->received_bytes));
}

/* Machines of which no GPU was counted. */
static json_t *not_counted_to_json(const struct comms_counters *counters)
{
    json_t *all = json_array();
    for (size_t i = 0; i < counters->n; i++)
        if (counters->counted[i].why[0])
            (void)json_array_append_new(
                all, json_pack("{s:o, s:o}", "host", json_value_text(counters->counted[i].host),
                               "why", json_value_text(counters->counted[i].why)));
    return all;
}

json_t *comms_truth_to_json(const struct comms_truth *truth, const struct comms_counters *counters)
{
    if (!counters->n)
        return json_null();
    const struct comms_truth_sum sum = comms_truth_all(truth);
    json_t *gpus = json_array();
    for (size_t i = 0; i < truth->n; i++)
        (void)json_array_append_new(gpus, gpu_to_json(&truth->gpu[i]));
    return json_pack(
        "{s:o, s:{s:o, s:o}, s:I, s:I, s:o, s:i, s:o}", "gpus", gpus, "all", "sent",
        side_to_json(sum.sent, sum.counted_sent), "received",
        side_to_json(sum.received, sum.counted_received), "flags_bytes", (json_int_t)sum.flags,
        "elsewhere_bytes", (json_int_t)truth->elsewhere, "copied_bytes",
        truth->has_copies ? json_integer((json_int_t)truth->copied) : json_null(), "left_out",
        (int)truth->left_out, "not_counted", not_counted_to_json(counters));
}
