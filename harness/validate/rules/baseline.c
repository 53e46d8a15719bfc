/* The rule of --baseline: who has read the file and measured puts in what came of it. */
#include "harness/validate/rules/check.h"

static void judge_baseline(struct checks *checks)
{
    check_say(checks, OUTCOME_SKIP, NULL, "needs --baseline FILE");
}

const struct rule rules_baseline[] = {
    {RULES_BASELINE_ID, RULE_BASELINE, "hardware", ACTION_WATCH,
     "--baseline FILE, and a run of each scenario in it",
     "Each figure is within the bounds that machines of this kind have.", "contend baseline",
     .probes = RULES_RUNS, .judge = judge_baseline},
    {.id = NULL}};
