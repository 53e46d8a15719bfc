#include "harness/store/json/recommended.h"

#include <string.h>

#include "harness/store/json/value.h"

static const char *command_of(const struct findings *findings)
{
    for (size_t i = 0; i < findings->n; i++)
        if (!strcmp(findings->all[i].id, "placement") || !strcmp(findings->all[i].id, "tune"))
            return findings->all[i].command;
    return "";
}

/* Of the largest number of workers; -1 = there is none. */
static int first_arm(const struct analysis *analysis)
{
    const struct arm *arms = analysis->result->arms;
    int found = -1;
    for (size_t i = 0; i < analysis->result->narms; i++)
        if (recommend_is_first(analysis, i) && (found < 0 || arms[i].slots > arms[found].slots))
            found = (int)i;
    return found;
}

json_t *recommended_to_json(const struct analysis *analysis, const struct findings *findings)
{
    const struct arm *arms = analysis->result ? analysis->result->arms : NULL;
    int first = arms ? first_arm(analysis) : -1;
    if (first < 0)
        return json_null();
    const struct recommendation made = recommend_make(analysis, &arms[first]);
    if (made.arm < 0)
        return json_null();
    const char *command = recommend_applies(&made) ? command_of(findings) : "";
    return json_pack("{s:o, s:s, s:i, s:o, s:o, s:o, s:o, s:i, s:o}", "setting",
                     json_value_text(arm_name(&arms[made.arm])), "placement",
                     placement_infos[arms[made.arm].placement].name, "workers",
                     (int)arms[made.arm].slots, "relative_to",
                     json_value_text(arm_name(&arms[made.reference])), "speed_up",
                     json_value_real(made.gain.median), "low", json_value_real(made.gain.low),
                     "high", json_value_real(made.gain.high), "rounds", (int)made.gain.rounds,
                     "command", json_value_text_or_null(command));
}
