#include "harness/judge/verdict.h"

#include <stdio.h>
#include <string.h>

#include "harness/judge/ab.h"
#include "harness/judge/advice.h"
#include "harness/judge/busy.h"
#include "harness/judge/gpus.h"
#include "harness/judge/scans.h"
#include "harness/judge/statuses.h"
#include "harness/judge/symmetry_findings.h"

static int add_placement(const struct analysis *analysis, struct findings *findings,
                         struct err *err)
{
    const struct result *result = analysis->result;
    struct finding advice;
    unsigned most = 0, least = result_next_slots(result, 0);
    for (unsigned slots = least; slots; slots = result_next_slots(result, slots))
        most = slots;
    if (!most)
        return 0;
    int rc = advice_make(analysis, most, &advice, err);
    if (rc || !advice.sentence[0])
        return rc;
    if (most != least) {
        char own[sizeof(advice.sentence)];
        memcpy(own, advice.sentence, sizeof(own));
        (void)snprintf(advice.sentence, sizeof(advice.sentence), "with %u workers, %.560s", most,
                       own);
    }
    return findings_add(findings, &advice, err);
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

static int add_comparison(struct verdict *verdict, struct err *err)
{
    struct finding all;
    int rc = ab_compare(&verdict->analysis, &verdict->comparisons, err);
    if (rc || !verdict->comparisons.n)
        return rc;
    comparisons_to_finding(&verdict->comparisons, &all);
    return findings_add(&verdict->findings, &all, err);
}

int verdict_judge(const struct topo *topo, struct verdict *verdict, struct err *err)
{
    const struct symmetry_distance distance = symmetry_topo_distance(topo);
    const struct result *result = verdict->analysis.result;
    int rc = symmetry_make(&verdict->analysis.rows, &distance, &verdict->symmetry, err);
    if (!rc)
        rc = busy_find(&verdict->analysis, &verdict->findings, err);
    if (!rc && result->variants)
        rc = add_comparison(verdict, err);
    if (!rc && !result->variants)
        rc = add_placement(&verdict->analysis, &verdict->findings, err);
    if (!rc)
        rc = add_retention(&verdict->analysis, &verdict->findings, err);
    if (!rc)
        rc = statuses_find(&verdict->analysis, &verdict->findings, err);
    if (!rc)
        rc = scans_find(&verdict->analysis, &verdict->findings, err);
    if (!rc)
        rc = gpus_find(topo, result, &verdict->findings, err);
    if (!rc)
        rc = gpus_find_changes(topo, result, &verdict->findings, err);
    if (!rc && !result->variants) /* equal units would be those of both variants */
        rc = symmetry_findings(&verdict->symmetry, topo, &verdict->findings, err);
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
