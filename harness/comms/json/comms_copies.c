#include "harness/comms/json/comms_copies.h"

static json_t *whole(uint64_t value)
{
    return json_integer((json_int_t)value);
}

static json_t *log_to_json(const struct copies_log *log)
{
    const struct copies_slot *slot = log->slot;
    return json_pack(
        "{s:o, s:o, s:o, s:o, s:o, s:o, s:b, s:b, s:o, s:o, s:o, s:o, s:o}", "file",
        json_value_text(log->name), "host", json_value_text(log->header.host), "pid",
        whole((uint64_t)log->header.pid), "program", json_value_text(log->header.program), "cupti",
        whole(log->header.cupti), "start_ns", whole(log->header.start_ns), "finished",
        slot->finished != COPIES_GOES_ON, "taken_over", copies_slot_is_taken(slot), "dropped",
        whole(slot->dropped), "unknown", whole(slot->unknown + slot->broken), "buffers_out",
        whole(slot->buffers), "migrations_since_ns",
        slot->migrations_ns ? whole(slot->migrations_ns) : json_null(), "migrations_error",
        whole(slot->migrations_error));
}

static json_t *sizes_to_json(const struct copies_row *row)
{
    json_t *sizes = json_array();
    for (size_t b = 0; b < COPIES_SIZES; b++)
        if (row->sizes[b])
            (void)json_array_append_new(sizes, json_pack("{s:o, s:o, s:o}", "from_bytes",
                                                         whole(b ? 1ull << (b - 1) : 0), "calls",
                                                         whole(row->sizes[b]), "bytes",
                                                         whole(row->size_bytes[b])));
    return sizes;
}

static json_t *row_to_json(const struct copies_row *row)
{
    return json_pack(
        "{s:o, s:s, s:s, s:s, s:s, s:s, s:b, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "host",
        json_value_text(row->host), "from", row->from, "to", row->to, "kind",
        copies_kind_name(row->kind), "from_memory", copies_memory_name(row->from_memory),
        "to_memory", copies_memory_name(row->to_memory), "unplaced", row->unplaced, "calls",
        whole(row->calls), "bytes", whole(row->bytes), "timed_calls", whole(row->timed_calls),
        "timed_bytes", whole(row->timed_bytes), "time_s",
        row->timed_ns ? json_real((double)row->timed_ns / 1e9) : json_null(), "bytes_per_s",
        json_value_real(copies_row_speed(row)), "sizes", sizes_to_json(row));
}

json_t *copies_to_json(const struct copies *copies)
{
    if (!copies->nlogs)
        return json_null();
    json_t *logs = json_array(), *rows = json_array();
    for (size_t i = 0; i < copies->nlogs; i++)
        (void)json_array_append_new(logs, log_to_json(&copies->log[i]));
    for (size_t i = 0; i < copies->n; i++)
        (void)json_array_append_new(rows, row_to_json(&copies->row[i]));
    return json_pack("{s:o, s:o}", "logs", logs, "rows", rows);
}
