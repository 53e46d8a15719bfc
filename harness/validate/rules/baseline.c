/* The rule of --baseline: who has read the file and measured puts in what came of it. */
#include "harness/validate/rules/check.h"

static void judge_baseline(struct checks *checks)
{
    check_skip(checks, "needs --baseline FILE");
}

const struct rule rules_baseline[] = {
    {.id = RULES_BASELINE_ID,
     .kind = RULE_BASELINE,
     .cause = "hardware",
     .action = ACTION_WATCH,
     .needs = "--baseline FILE, and a run of each scenario in it",
     .about = "Each figure is within the bounds that machines of this kind have.",
     .source = "contend baseline",
     .judge = judge_baseline},
    {.id = NULL}};
