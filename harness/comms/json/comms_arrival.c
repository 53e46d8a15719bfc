#include "harness/comms/json/comms_arrival.h"

#include "harness/store/json/value.h"

json_t *comms_arrival_to_json(const struct comms_arrival *arrival)
{
    if (!arrival->calls)
        return json_null();
    json_t *ranks = json_array();
    for (size_t i = 0; i < arrival->n; i++) {
        const struct comms_arrival_rank *rank = &arrival->rank[i];
        (void)json_array_append_new(
            ranks,
            json_pack("{s:i, s:I, s:f, s:f, s:f}", "rank", (int)rank->rank, "last_calls",
                      (json_int_t)rank->last, "late_s", (double)rank->late_ns / 1e9, "timed_s",
                      (double)rank->timed_ns / 1e9, "waited_s", (double)rank->waited_ns / 1e9));
    }
    return json_pack("{s:I, s:f, s:I, s:o, s:o}", "calls", (json_int_t)arrival->calls, "span_s",
                     (double)arrival->span_ns / 1e9, "timed_calls", (json_int_t)arrival->timed,
                     "waited_share", json_value_real(comms_arrival_waited(arrival)), "ranks",
                     ranks);
}
