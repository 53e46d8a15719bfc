/* The rule of --bounds: who has read the file and measured puts in what came of it. */
#include "harness/validate/rules/check.h"

static void judge_baseline(struct checks *checks)
{
    check_say(checks, OUTCOME_SKIP, NULL, "needs --bounds FILE");
}

const struct rule rules_baseline[] = {
    {RULES_BASELINE_ID, RULE_BASELINE, "hardware", ACTION_WATCH,
     "--bounds FILE, and a run of each scenario in it",
     "Each figure is within the bounds that machines of this kind have.", "contend validate bounds",
     .probes = RULES_RUNS, .judge = judge_baseline},
    {.id = NULL}};
