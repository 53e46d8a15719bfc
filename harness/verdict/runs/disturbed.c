#include "harness/verdict/runs/disturbed.h"

#include "harness/lib/base/text.h"
#include "harness/verdict/runs/run_spread.h"

static bool is_disturbed(const struct disturbed_runs *side)
{
    return 2 * side->busy > side->runs;
}

bool disturbed_any(const struct disturbed *of)
{
    return is_disturbed(&of->side[DISTURBED_BASE]) || is_disturbed(&of->side[DISTURBED_OTHER]);
}

char *disturbed_format(const struct disturbed *of, char *buf, size_t size)
{
    buf[0] = '\0';
    for (size_t i = 0; i < DISTURBED_SIDES; i++) {
        const struct disturbed_runs *side = &of->side[i];
        if (is_disturbed(side) && side->runs == 1)
            text_append(buf, size, ", and ", "the run of %s was disturbed: %s", side->name,
                        side->why);
        else if (is_disturbed(side))
            text_append(buf, size, ", and ", "%zu of %zu runs of %s were disturbed: %s", side->busy,
                        side->runs, side->name, side->why);
    }
    return buf;
}

static bool spread_includes_disturbance(const struct disturbed *of)
{
    return (of->history >= RUN_SPREAD_LONG && 2 * of->busy > of->history) ||
           (of->side[DISTURBED_BASE].runs >= RUN_SPREAD_RUNS_LEAST &&
            of->side[DISTURBED_OTHER].runs >= RUN_SPREAD_RUNS_LEAST);
}

static bool outcome_holds(const struct disturbed *of, enum finding_outcome outcome)
{
    bool base = is_disturbed(&of->side[DISTURBED_BASE]);
    bool other = is_disturbed(&of->side[DISTURBED_OTHER]);
    if (base && other)
        return spread_includes_disturbance(of);
    return outcome == OUTCOME_SLOWER ? !other : outcome == OUTCOME_FASTER ? !base : !base && !other;
}

void disturbed_doubt(const struct disturbed *of, struct comparisons *comparisons)
{
    char why[300];
    (void)disturbed_format(of, why, sizeof(why));
    for (size_t i = 0; i < comparisons->n; i++) {
        struct comparison *one = &comparisons->all[i];
        bool decided = one->outcome == OUTCOME_SLOWER || one->outcome == OUTCOME_FASTER ||
                       one->outcome == OUTCOME_SAME;
        if (!decided || outcome_holds(of, one->outcome))
            continue;
        text_set(one->reason, "It looks %s, but %s.", finding_outcome_name(one->outcome), why);
        one->outcome = OUTCOME_UNCLEAR;
    }
}
