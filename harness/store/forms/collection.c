#include "harness/store/forms/collection.h"

#include "harness/store/json/value.h"

static json_t *one_to_json(const struct collected *one, json_t *rows)
{
    return json_pack("{s:o, s:s, s:o, s:i, s:i, s:o, s:i, s:i, s:O?}", "scenario",
                     json_value_text(one->scenario), "status", collected_name(one->end), "says",
                     json_value_text_or_null(one->sentence), "rounds", (int)one->rounds,
                     "rounds_planned", (int)one->rounds_planned, "took_s",
                     json_value_real(one->took_s), "doubts", (int)one->doubts, "bad", (int)one->bad,
                     "rows", rows);
}

json_t *collection_to_json(const struct collection *collection, json_t *const *rows)
{
    json_t *all = json_array();
    for (size_t i = 0; i < collection->n; i++)
        if (json_array_append_new(all, one_to_json(&collection->all[i], rows ? rows[i] : NULL))) {
            json_decref(all);
            return NULL;
        }
    return json_pack("{s:o, s:o, s:s, s:o}", "host", json_value_text(collection->host), "command",
                     json_value_text(collection->command), "started", collection->started,
                     "scenarios", all);
}
