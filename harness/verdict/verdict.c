#include "harness/verdict/verdict.h"

#include <math.h>

#include "harness/lib/text.h"
#include "harness/verdict/advice.h"
#include "harness/verdict/bound.h"
#include "harness/verdict/comparison.h"
#include "harness/verdict/control.h"
#include "harness/verdict/odd.h"
#include "harness/verdict/recommend.h"

static void add_placement(const struct analysis *analysis, struct findings *findings)
{
    const struct result *result = analysis->result;
    unsigned most = 0, least = result_next_workers(result, 0);
    for (unsigned planned_workers = least; planned_workers;
         planned_workers = result_next_workers(result, planned_workers))
        most = planned_workers;
    for (size_t i = 0; i < result->narms; i++) {
        if (result->arms[i].planned_workers != most || !recommend_is_first(analysis, i))
            continue;
        const struct finding advice = advice_make(analysis, &result->arms[i]);
        if (advice.sentence[0] && most != least)
            findings_putf(findings, &advice, "with %u workers, %.560s", most, advice.sentence);
        else if (advice.sentence[0])
            findings_put(findings, &advice);
    }
}

/* What to type for a verdict: three times as much, and at least twice the rounds that a verdict
 * needs. Where steps were cut off, more of them prove nothing. */
static void advise_more(const struct analysis *measured, struct finding *all)
{
    enum { ROUNDS_LEAST = 12 };
    const struct result *result = measured->result;
    const double longer_s = ceil(3 * result->rounds_s);
    const unsigned more = 3 * result->rounds_done;
    bool cut = false;
    for (size_t i = 0; i < result->narms; i++)
        cut = cut || measured->rounds.arms[i].status == STATUS_CENSORED;
    if (cut)
        text_add(all->sentence, " Steps were cut off: run it again with a longer --limit.");
    else if (result->rounds_s > 0)
        text_add(all->sentence, " Run it again for longer, with --max-time %.0f%s.",
                 longer_s > 90 ? ceil(longer_s / 60) : longer_s, longer_s > 90 ? "m" : "");
    else
        text_add(all->sentence, " Run it again for longer, with --rounds %u.",
                 more > ROUNDS_LEAST ? more : ROUNDS_LEAST);
}

static int add_comparison(const struct analysis *measured, struct verdict *verdict, struct err *err)
{
    int rc = ab_compare(measured, &verdict->comparisons, err);
    if (rc || !verdict->comparisons.n)
        return rc;
    struct finding all;
    comparisons_to_finding(&verdict->comparisons, &all);
    if (!comparisons_decided(&verdict->comparisons) &&
        comparisons_count(&verdict->comparisons, OUTCOME_UNCLEAR))
        advise_more(measured, &all);
    findings_put(&verdict->findings, &all);
    return 0;
}

/* Judges the measured rows. `measured` excludes the arms that watch the machine. */
static int judge(const struct analysis *measured, const struct topo *topo, struct verdict *verdict,
                 struct err *err)
{
    const struct symmetry_distance distance = symmetry_topo_distance(topo);
    const struct result *result = measured->result;
    struct findings *findings = &verdict->findings;
    /* Runs whose arms differ by more than placement have findings of their own. */
    bool of_placements = !result->variants && result->purpose == PURPOSE_RUN;
    int rc = symmetry_make(&measured->rows, &distance, &verdict->symmetry, err);
    if (!rc && result->variants) /* pairing by round tolerates a busy machine */
        rc = add_comparison(measured, verdict, err);
    if (rc)
        return rc;
    if (of_placements)
        add_placement(measured, findings);
    busy_find(measured, findings);
    scaling_find(measured, findings);
    for (size_t i = 0; i < result->narms; i++)
        retention_find(measured, &result->arms[i], findings);
    if (of_placements)
        bound_find(measured, findings);
    statuses_find(measured, findings);
    commands_find(measured, findings);
    doses_find(measured, findings);
    scans_find(measured, findings);
    plans_find(topo, result, findings);
    gpus_find(topo, result, findings);
    gpus_find_changes(topo, result, findings);
    if (of_placements) /* with variants, equal units would be mixed from both */
        symmetry_findings(&verdict->symmetry, topo, findings);
    return 0;
}

int verdict_judge(const struct topo *topo, struct verdict *verdict, struct err *err)
{
    struct result own;
    recommend_all(&verdict->analysis);
    const struct analysis measured = analysis_measured(&verdict->analysis, &own);
    int rc = judge(&measured, topo, verdict, err);
    if (!rc && !busy_among(&verdict->findings)) /* the finding "busy" already says why */
        control_find(&verdict->analysis, &verdict->findings);
    return rc ? rc : findings_check(&verdict->findings, err);
}

int verdict_make(const struct result *result, const struct topo *topo, struct verdict *verdict,
                 struct err *err)
{
    *verdict = (struct verdict){0};
    int rc = analysis_make(result, &verdict->analysis, err);
    return rc ? rc : verdict_judge(topo, verdict, err);
}

void verdict_free(struct verdict *verdict)
{
    findings_free(&verdict->findings);
    comparisons_free(&verdict->comparisons);
    symmetry_free(&verdict->symmetry);
    analysis_free(&verdict->analysis);
}
