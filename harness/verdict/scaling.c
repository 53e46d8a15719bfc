
#include <math.h>

#include "harness/lib/text.h"
#include "harness/lib/units.h"
#include "harness/record/metric.h"
#include "harness/record/scaling.h"
#include "harness/verdict/advice.h"

/* Fewer workers are enough if they reach this share of the best, as in a sizing. */
static const double enough_share = 0.95;

static double median_of(const struct analysis *analysis, int arm, const char *metric)
{
    const struct row *row =
        arm < 0 ? NULL : rows_find(&analysis->rows, &analysis->result->arms[arm], metric);
    bool measured = row && (row->status == STATUS_OK || row->status == STATUS_NOISY);
    return measured ? row->median : (double)NAN;
}

/* The recommended placement for the largest number of workers; PLACEMENTS = no evidence. */
static enum placement find_recommended(const struct analysis *analysis,
                                       const struct scaling *scaling)
{
    const struct arm *arms = analysis->result->arms;
    for (size_t p = 0; p < scaling->nplacements; p++) {
        int arm = scaling->arm[scaling->ncounts - 1][p];
        int recommended = arm < 0 ? -1 : recommend_make(analysis, &arms[arm]).arm;
        if (recommended >= 0)
            return arms[recommended].placement;
    }
    return PLACEMENTS;
}

/* Finds the count and placement with the highest throughput; false if nothing was measured. */
static bool find_most(const struct analysis *analysis, const struct scaling *scaling,
                      enum placement recommended, size_t *count, size_t *placement)
{
    double most = 0;
    for (size_t c = 0; c < scaling->ncounts; c++)
        for (size_t p = 0; p < scaling->nplacements; p++) {
            double rate = median_of(analysis, scaling->arm[c][p], METRIC_RATE);
            bool other = recommended != PLACEMENTS && scaling->placements[p] != recommended;
            if (other || !(rate > most))
                continue;
            most = rate;
            *count = c;
            *placement = p;
        }
    return most > 0;
}

void scaling_find(const struct analysis *analysis, struct findings *findings)
{
    struct scaling scaling;
    struct finding finding = {.id = "workers", .value = NAN, .low = NAN, .high = NAN};
    size_t most = 0, p = 0, enough = 0;
    if (!scaling_read(analysis->result, &scaling) ||
        !find_most(analysis, &scaling, find_recommended(analysis, &scaling), &most, &p))
        return;
    int arm = scaling.arm[most][p];
    double best = median_of(analysis, arm, METRIC_RATE);
    while (enough < most &&
           !(median_of(analysis, scaling.arm[enough][p], METRIC_RATE) >= enough_share * best))
        enough++;
    double rate = median_of(analysis, scaling.arm[enough][p], METRIC_RATE);
    double held = median_of(analysis, arm, "efficiency");
    unsigned workers = scaling.counts[most], fewer = scaling.counts[enough];
    text_set(finding.sentence, "highest throughput: %u worker%s under %s, %s %s", workers,
             workers == 1 ? "" : "s", placement_infos[scaling.placements[p]].name, units_si(best),
             analysis->rounds.arms[arm].rate_unit);
    if (!isnan(held))
        text_add(finding.sentence, ", efficiency %s", text_percent(held));
    if (enough < most)
        text_add(finding.sentence, "; %u %s %s of that.", fewer, fewer == 1 ? "reaches" : "reach",
                 text_percent(rate / best));
    else
        text_add(finding.sentence,
                 most + 1 == scaling.ncounts ? "; more workers were not tried." : ".");
    if (advice_may_advise(scaling.placements[p]))
        (void)advice_command(analysis->result, &analysis->result->arms[scaling.arm[enough][p]],
                             finding.command, sizeof(finding.command));
    findings_put(findings, &finding);
}
