/* Doses of contention that were not held. */
#include <math.h>
#include <string.h>

#include "harness/lib/base/text.h"
#include "harness/rows/metric.h"
#include "harness/verdict/odd/odd.h"

/* How far a dose may be from its level; for latency as a share of the level. */
static const double most_off[DOSE_KINDS] = {
    [DOSE_CPU] = 0.02,   [DOSE_BANDWIDTH] = 0.03, [DOSE_LATENCY] = 0.05,
    [DOSE_CACHE] = 0.05, [DOSE_H2D] = 0.03,       [DOSE_THROTTLE] = 0.02};

static double allowed_off(const struct dose *dose)
{
    return most_off[dose->kind] * (dose->kind == DOSE_LATENCY ? dose->level : 1);
}

double doses_off(const struct analysis *analysis, const struct arm *arm)
{
    double held = rows_median(&analysis->rows, arm, METRIC_DOSE);
    return arm->plan.has_dose && !isnan(held)
               ? fabs(held - arm->dose.level) / allowed_off(&arm->dose)
               : 0;
}

/* Adds the reason why the contention is less than asked for, if the plan shows one. */
static void add_reason(const struct arm *arm, double held, struct finding *finding)
{
    const unsigned cpus = bitset_count(&arm->plan.workers[arm->plan.nworkers - 1].cpus);
    const bool is_less = (held < arm->dose.level) != dose_is_remainder(arm->dose.kind);
    if (!is_less)
        return;
    if (arm->dose.kind == DOSE_THROTTLE)
        text_add(finding->sentence, " A quota hardly stops workers that wait.");
    else if (arm->dose.kind == DOSE_H2D)
        text_add(finding->sentence, " The workers' own copies take the rest of the link.");
    else if (arm->dose.kind != DOSE_CPU)
        text_add(finding->sentence,
                 " The %u CPUs beside the workers may be too few: leave it more "
                 "(--cpus).",
                 cpus);
    else if (plan_is_oversubscribed(&arm->plan))
        text_add(finding->sentence, " The workers have more threads than CPUs, which compete with "
                                    "it.");
}

void doses_find(const struct analysis *analysis, struct findings *findings)
{
    const struct result *result = analysis->result;
    const struct arm *worst = NULL;
    unsigned n = 0;
    for (size_t i = 0; i < result->narms; i++) {
        const struct arm *arm = &result->arms[i];
        if (!(doses_off(analysis, arm) > 1))
            continue;
        if (!worst || doses_off(analysis, arm) > doses_off(analysis, worst))
            worst = arm;
        n++;
    }
    if (!worst)
        return;
    struct finding finding = {.id = "dose_not_held", .severity = FINDING_DOUBT};
    const struct row *row = rows_find(&analysis->rows, worst, METRIC_DOSE);
    const struct dose held = {worst->dose.kind, round(100 * row->median) / 100};
    char asked[DOSE_TEXT_MAX], got[DOSE_TEXT_MAX];
    /* The name of a curve's arm has the dose in it. */
    const char *under =
        result->purpose == PURPOSE_DOSE ? placement_infos[worst->placement].name : arm_name(worst);
    text_set(finding.sentence, "The dose of %s was not held under %s: %s.",
             dose_format(&worst->dose, asked), under, strchr(dose_format(&held, got), '=') + 1);
    add_reason(worst, row->median, &finding);
    text_set(finding.evidence,
             "%u of the configurations with a dose; range of its rounds %.3g to %.3g", n, row->min,
             row->max);
    findings_put(findings, &finding);
}
