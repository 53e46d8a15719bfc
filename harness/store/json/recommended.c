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
    return json_value_object(
        "setting:t placement:t workers:i relative_to:t speed_up:r low:r high:r rounds:z command:T",
        arm_name(&arms[made.arm]), placement_infos[arms[made.arm].placement].name,
        arms[made.arm].slots, arm_name(&arms[made.reference]), made.gain.median, made.gain.low,
        made.gain.high, made.gain.rounds, command);
}
