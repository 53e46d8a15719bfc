#include "harness/json/comparison.h"

#include "harness/json/value.h"

static json_t *to_json(const struct comparison *one)
{
    return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:i, s:i, "
                     "s:i, s:s, s:b, "
                     "s:o}",
                     "base", json_value_text(one->base), "other", json_value_text(one->other),
                     "arm", json_value_text(one->arm), "params", json_value_text(one->params),
                     "metric", json_value_text(one->metric), "unit", json_value_text(one->unit),
                     "better", json_value_text(one->better), "base_median",
                     json_value_real(one->base_median), "other_median",
                     json_value_real(one->other_median), "ratio", json_value_real(one->ratio),
                     "low", json_value_real(one->low), "high", json_value_real(one->high), "level",
                     json_value_real(one->level), "base_runs", (int)one->base_runs, "other_runs",
                     (int)one->other_runs, "pairs", (int)one->pairs, "outcome",
                     finding_outcome_name(one->outcome), "gates", one->gates, "reason",
                     json_value_text(one->reason));
}

json_t *comparisons_to_json(const struct comparisons *comparisons)
{
    json_t *array = json_array();
    for (size_t i = 0; array && i < comparisons->n; i++)
        if (json_array_append_new(array, to_json(&comparisons->all[i]))) {
            json_decref(array);
            return NULL;
        }
    return array;
}
