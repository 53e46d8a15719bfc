#include "harness/verdict/advice/verdict.h"

#include <stdio.h>
#include <string.h>

#include "harness/verdict/advice/advice.h"
#include "harness/verdict/advice/bound.h"
#include "harness/verdict/advice/recommend.h"
#include "harness/verdict/advice/scaling.h"
#include "harness/verdict/odd/busy.h"
#include "harness/verdict/odd/commands.h"
#include "harness/verdict/odd/gpus.h"
#include "harness/verdict/odd/scans.h"
#include "harness/verdict/odd/statuses.h"
#include "harness/verdict/odd/symmetry_findings.h"
#include "harness/verdict/pairs/ab.h"
#include "harness/verdict/runs/canary.h"

int verdict_add_placement(const struct analysis *analysis, struct findings *findings,
                          struct err *err)
{
    const struct result *result = analysis->result;
    struct finding advice;
    unsigned most = 0, least = result_next_slots(result, 0);
    int rc = 0;
    for (unsigned slots = least; slots; slots = result_next_slots(result, slots))
        most = slots;
    for (size_t i = 0; i < result->narms && !rc; i++) {
        if (result->arms[i].slots != most || !recommend_is_first(analysis, i))
            continue;
        rc = advice_make(analysis, &result->arms[i], &advice, err);
        if (rc || !advice.sentence[0])
            continue;
        if (most != least) {
            char own[sizeof(advice.sentence)];
            memcpy(own, advice.sentence, sizeof(own));
            (void)snprintf(advice.sentence, sizeof(advice.sentence), "with %u workers, %.560s",
                           most, own);
        }
        rc = findings_add(findings, &advice, err);
    }
    return rc;
}

static int add_retention(const struct analysis *analysis, struct findings *findings,
                         struct err *err)
{
    int rc = 0;
    for (size_t i = 0; i < analysis->result->narms && !rc; i++) {
        const struct arm *arm = &analysis->result->arms[i];
        struct finding advice;
        if (arm->alone && bench_is_team(arm->bench) && advice_retention(analysis, arm, &advice))
            rc = findings_add(findings, &advice, err);
    }
    return rc;
}

static int add_comparison(const struct analysis *measured, struct verdict *verdict, struct err *err)
{
    struct finding all;
    int rc = ab_compare(measured, &verdict->comparisons, err);
    if (rc || !verdict->comparisons.n)
        return rc;
    comparisons_to_finding(&verdict->comparisons, &all);
    return findings_add(&verdict->findings, &all, err);
}

/* Else arms that differ by more have findings of their own. */
static bool is_of_placements(const struct result *result)
{
    return !result->variants && result->purpose == PURPOSE_RUN;
}

/* Of what was measured: nobody else looks at the rows that watch the machine. */
static int judge(const struct analysis *measured, const struct topo *topo, struct verdict *verdict,
                 struct err *err)
{
    const struct symmetry_distance distance = symmetry_topo_distance(topo);
    int rc = symmetry_make(&measured->rows, &distance, &verdict->symmetry, err);
    if (!rc)
        rc = busy_find(measured, &verdict->findings, err);
    if (!rc && measured->result->variants)
        rc = add_comparison(measured, verdict, err);
    if (!rc && is_of_placements(measured->result))
        rc = verdict_add_placement(measured, &verdict->findings, err);
    if (!rc)
        rc = scaling_find(measured, &verdict->findings, err);
    if (!rc)
        rc = add_retention(measured, &verdict->findings, err);
    if (!rc && is_of_placements(measured->result))
        rc = bound_find(measured, &verdict->findings, err);
    if (!rc)
        rc = statuses_find(measured, &verdict->findings, err);
    if (!rc)
        rc = commands_find(measured, &verdict->findings, err);
    if (!rc)
        rc = scans_find(measured, &verdict->findings, err);
    if (!rc)
        rc = gpus_find(topo, measured->result, &verdict->findings, err);
    if (!rc)
        rc = gpus_find_changes(topo, measured->result, &verdict->findings, err);
    if (!rc && is_of_placements(measured->result)) /* equal units would be those of both variants */
        rc = symmetry_findings(&verdict->symmetry, topo, &verdict->findings, err);
    return rc;
}

int verdict_judge(const struct topo *topo, struct verdict *verdict, struct err *err)
{
    struct result own;
    const struct analysis measured = analysis_measured(&verdict->analysis, &own);
    int rc = judge(&measured, topo, verdict, err);
    if (!rc && !busy_among(&verdict->findings)) /* that says why */
        rc = canary_find(&verdict->analysis, &verdict->findings, err);
    return rc;
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
