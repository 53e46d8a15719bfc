#include "harness/comms/json/comms_moved.h"

#include <math.h>

#include "harness/store/json/value.h"

static json_t *side_to_json(const struct comms_moved_side *side)
{
    return json_pack("{s:o, s:o, s:o}", "counted_bytes",
                     isnan(side->bytes) ? json_null() : json_integer((json_int_t)side->bytes),
                     "bytes_per_s", json_value_real(side->rate), "share",
                     json_value_real(side->share));
}

static json_t *sides_to_json(const struct comms_moved_sides *sides)
{
    return json_pack("{s:o, s:o}", "sent", side_to_json(&sides->sent), "received",
                     side_to_json(&sides->received));
}

static json_t *gpu_to_json(const struct comms_moved *moved, const struct comms_moved_gpu *gpu)
{
    const struct comms_moved_sides sides = comms_moved_of(moved, gpu);
    bool is_known = moved->by != COMMS_MOVED_BY_NOBODY;
    return json_pack("{s:o, s:o, s:o, s:i, s:o, s:o, s:o, s:o, s:o}", "host",
                     json_value_text(moved->counted.host), "pci_bdf",
                     json_value_text_or_null(gpu->counted->pci_bdf), "of_job",
                     is_known ? json_boolean(gpu->of_job) : json_null(), "ranks", (int)gpu->ranks,
                     "rank", gpu->ranks ? json_integer((json_int_t)gpu->rank) : json_null(),
                     "process", gpu->ranks ? json_integer((json_int_t)gpu->pid) : json_null(),
                     "gbps", gpu->gbps > 0 ? json_real(gpu->gbps) : json_null(), "sent",
                     side_to_json(&sides.sent), "received", side_to_json(&sides.received));
}

json_t *comms_moved_to_json(const struct comms_moved *moved)
{
    static const char *const by[] = {NULL, "ranks", "process"};
    const struct comms_moved_sides all = comms_moved_all(moved, false);
    const struct comms_moved_sides job = comms_moved_all(moved, true);
    const char *why = comms_counted_why(&moved->counted);
    json_t *gpus = json_array(), *not_counted = json_array();
    for (size_t i = 0; i < moved->n; i++)
        (void)json_array_append_new(gpus, gpu_to_json(moved, &moved->gpu[i]));
    if (why[0])
        (void)json_array_append_new(not_counted, json_pack("{s:o, s:o}", "host",
                                                           json_value_text(moved->counted.host),
                                                           "why", json_value_text(why)));
    return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "seconds",
                     json_value_real(moved->seconds), "by", json_value_text(by[moved->by]), "note",
                     json_value_text_or_null(moved->note), "gpus", gpus, "job",
                     moved->by == COMMS_MOVED_BY_NOBODY ? json_null() : sides_to_json(&job), "all",
                     sides_to_json(&all), "not_counted", not_counted);
}
