/* The sentence about a scan's speed under load. Declared in advice.h. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "harness/lib/str.h"
#include "harness/lib/text.h"
#include "harness/record/format.h"
#include "harness/verdict/advice.h"

/* A placement is clearly better if it keeps this much more at the size with the lowest
 * retention. */
static const double clear_gain = 0.1;

/* The lowest row and the highest median of an arm's retention. */
struct range {
    const struct row *least; /* NULL = nothing */
    double most;
};

static struct range range_of(const struct rows *rows, const struct arm *arm)
{
    struct range range = {NULL, -INFINITY};
    size_t at = 0;
    for (const struct row *row; (row = rows_next(rows, arm, "retention", &at));) {
        if (!range.least || row->median < range.least->median)
            range.least = row;
        range.most = fmax(range.most, row->median);
    }
    return range;
}

/* "84% to 97%", or "84%". */
static const char *format_range(const struct range *range)
{
    const char *least = text_percent(range->least->median);
    const char *most = text_percent(range->most);
    bool same = strcmp(least, most) == 0;
    return str_fmt("%s%s%s", least, same ? "" : " to ", same ? "" : most);
}

/* True if `arm` keeps more than `other`, by more than chance, at that row's key. */
static bool is_ahead(const struct analysis *analysis, const struct arm *other,
                     const struct arm *arm, const struct row *at)
{
    const struct arm *arms = analysis->result->arms;
    const struct round_value what = {.metric = "retention", .dims = at->dims};
    return evidence_of_arms(analysis, &what, (int)(other - arms), (size_t)(arm - arms)).outcome ==
           OUTCOME_FASTER;
}

static bool is_clear(const struct analysis *analysis, const struct arm *best,
                     const struct arm *other, const struct row *worst)
{
    const struct row *row = rows_at(&analysis->rows, best, "retention", &worst->dims);
    return row && row->median > worst->median + clear_gain &&
           is_ahead(analysis, other, best, worst);
}

/* An arm that failed in a round is not recommended. */
static bool can_win(const struct arm *arm, const struct range *range)
{
    return advice_may_advise(arm->placement) && range->least->status <= STATUS_CENSORED;
}

bool advice_is_loaded(const struct analysis *analysis, const struct arm *idle,
                      const struct arm *arm)
{
    size_t at = 0;
    return !arm->is_baseline && arm->bench == idle->bench && arm->params == idle->params &&
           arm->planned_workers == idle->planned_workers &&
           rows_next(&analysis->rows, arm, "retention", &at);
}

/* The arm with the lowest retention, and the simplest arm that is as good as the best one. */
struct ends {
    const struct arm *worst, *best; /* NULL = none */
    struct range low, high;
};

static struct ends find_ends(const struct analysis *analysis, const struct arm *idle)
{
    struct ends ends = {0};
    const struct arm *most = NULL;
    for (int pass = 0; pass < 2; pass++, most = ends.best)
        for (size_t i = 0; i < analysis->result->narms; i++) {
            const struct arm *arm = &analysis->result->arms[i];
            if (!advice_is_loaded(analysis, idle, arm))
                continue;
            struct range range = range_of(&analysis->rows, arm);
            if (!ends.worst || range.least->median < ends.low.least->median) {
                ends.worst = arm;
                ends.low = range;
            }
            bool simpler = most && !is_ahead(analysis, arm, most, ends.low.least) &&
                           recommend_effort(arm->placement, NULL) <
                               recommend_effort(ends.best->placement, NULL);
            if (can_win(arm, &range) &&
                (most ? simpler : !ends.best || range.least->median > ends.high.least->median)) {
                ends.best = arm;
                ends.high = range;
            }
        }
    return ends;
}

static const char *format_load(const struct result *result, const struct arm *arm)
{
    unsigned behind = arm_background(arm);
    if (arm->plan.has_dose)
        return str_fmt("a dose of %s", dose_format(&arm->dose));
    return str_fmt("%u background worker%s (%s)", behind, behind == 1 ? "" : "s",
                   result->background->name);
}

void retention_find(const struct analysis *analysis, const struct arm *idle,
                    struct findings *findings)
{
    const struct result *result = analysis->result;
    struct finding advice = {.id = "retention"};
    if (!idle->is_baseline || !bench_is_team(idle->bench))
        return;
    const struct ends ends = find_ends(analysis, idle);
    if (!ends.worst)
        return;
    bool clear = ends.best && is_clear(analysis, ends.best, ends.worst, ends.low.least);
    const char *part = format_part(result, idle, NULL);
    text_set(advice.sentence, "Under %s %s%s%s keeps %s of its idle speed with placement %s",
             format_load(result, ends.worst), idle->bench->name, part[0] ? ", " : "", part,
             format_range(&ends.low), placement_infos[ends.worst->placement].name);
    if (clear)
        text_add(advice.sentence, ", %s with %s", format_range(&ends.high),
                 placement_infos[ends.best->placement].name);
    text_add(advice.sentence, ".");
    if (clear && ends.best->placement != PLACE_NONE)
        (void)advice_command(result, ends.best, advice.command, sizeof(advice.command));
    findings_put(findings, &advice);
}
