#include "harness/store/forms/tune.h"

#include <math.h>

#include "harness/store/json/value.h"
#include "harness/verdict/search/tune.h"

static json_t *from_line(const struct analysis *analysis, const struct tune_line *line)
{
    const struct arm *arm = &analysis->result->arms[line->arm];
    const struct arm_rounds *rounds = &analysis->rounds.arms[line->arm];
    const struct plan_worker *first = arm->plan.nworkers ? &arm->plan.workers[0] : NULL;
    return json_pack(
        "{s:o, s:b, s:b, s:s, s:i, s:o, s:b, s:i, s:o, s:o, s:b, s:o, s:o, s:o, s:o, s:o}",
        "setting", json_value_text(line->name), "fresh", line->fresh, "recommended",
        line->recommended, "placement", placement_infos[arm->placement].name, "workers",
        (int)arm->workers, "threads", first ? json_integer(first->threads) : json_null(), "passive",
        first && first->passive, "rounds", (int)rounds->n, "rate", json_value_real(line->rate),
        "unit", json_value_text(rounds->rate_unit), "reference", line->is_reference, "of_best",
        json_value_real(line->fresh ? (double)NAN : line->against.median), "speed_up",
        json_value_real(line->fresh ? line->against.median : (double)NAN), "low",
        json_value_real(line->fresh ? line->against.low : (double)NAN), "high",
        json_value_real(line->fresh ? line->against.high : (double)NAN), "reason",
        json_value_text_or_null(arm->plan.reason[0] ? arm->plan.reason : rounds->reason));
}

json_t *tune_to_json(const struct analysis *analysis)
{
    struct tune_lines lines;
    json_t *array = tune_lines_make(analysis, &lines, NULL) ? NULL : json_array();
    for (size_t i = 0; array && i < lines.n; i++)
        if (json_array_append_new(array, from_line(analysis, &lines.all[i]))) {
            json_decref(array);
            array = NULL;
        }
    tune_lines_free(&lines);
    return array;
}
