#include "harness/verdict/runs/compare.h"

#include <string.h>

#include "harness/lib/text.h"
#include "harness/verdict/evidence.h"

static bool is_disturbed(const struct pairing_runs *side, size_t *busy, const char **why)
{
    *busy = 0;
    for (size_t i = 0; side->busy && i < side->n; i++)
        if (side->busy[i]) {
            *why = side->busy[i];
            ++*busy;
        }
    return 2 * *busy > side->n;
}

static void put(const struct pairing_runs *side, size_t busy, const char *why,
                struct comparisons *comparisons)
{
    char runs[64] = "the run";
    if (side->n > 1)
        text_set(runs, "%zu of %zu runs", busy, side->n);
    text_append(comparisons->disturbed, sizeof(comparisons->disturbed), ", and ",
                "%s of %s %s disturbed: %.*s", runs, side->name, side->n > 1 ? "were" : "was",
                (int)strcspn(why, ":"), why);
}

void disturbed_doubt(const struct pairing_runs sides[PAIRING_SIDES],
                     struct comparisons *comparisons)
{
    bool disturbed[PAIRING_SIDES];
    for (int side = 0; side < PAIRING_SIDES; side++) {
        size_t busy;
        const char *why = "";
        disturbed[side] = is_disturbed(&sides[side], &busy, &why);
        if (disturbed[side] && side != PAIRING_HISTORY)
            put(&sides[side], busy, why, comparisons);
    }
    const bool base = disturbed[PAIRING_BASE], other = disturbed[PAIRING_OTHER];
    const bool both_hold =
        (sides[PAIRING_HISTORY].n >= RUN_SPREAD_LONG && disturbed[PAIRING_HISTORY]) ||
        (sides[PAIRING_BASE].n >= RUN_SPREAD_RUNS_LEAST &&
         sides[PAIRING_OTHER].n >= RUN_SPREAD_RUNS_LEAST);
    const bool holds[OUTCOMES] = {[OUTCOME_SLOWER] = base && other ? both_hold : !other,
                                  [OUTCOME_FASTER] = base && other ? both_hold : !base,
                                  [OUTCOME_SAME] = base && other ? both_hold : !base && !other};
    for (size_t i = 0; i < comparisons->n; i++) {
        struct comparison *one = &comparisons->all[i];
        bool decided = one->evidence.outcome == OUTCOME_SLOWER ||
                       one->evidence.outcome == OUTCOME_FASTER ||
                       one->evidence.outcome == OUTCOME_SAME;
        if (!decided || holds[one->evidence.outcome])
            continue;
        text_set(one->reason, "It looks %s, but %s.", finding_outcome_name(one->evidence.outcome),
                 comparisons->disturbed);
        one->evidence.outcome = OUTCOME_UNCLEAR;
    }
}
