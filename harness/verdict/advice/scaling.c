#include "harness/verdict/advice/scaling.h"

#include <math.h>
#include <stdio.h>

#include "harness/lib/base/text.h"
#include "harness/lib/base/units.h"
#include "harness/rows/metric.h"
#include "harness/rows/scaling.h"
#include "harness/verdict/advice/advice.h"

/* As of a sizing: fewer that do so much are enough. */
static const double enough_share = 0.95;

static double median_of(const struct analysis *analysis, int arm, const char *metric)
{
    const struct row *row =
        arm < 0 ? NULL : rows_find(&analysis->rows, &analysis->result->arms[arm], metric);
    bool measured = row && (row->status == STATUS_OK || row->status == STATUS_NOISY);
    return measured ? row->median : (double)NAN;
}

/* What is recommended of the largest number of workers, PLACEMENTS without evidence. */
static int find_recommended(const struct analysis *analysis, const struct scaling *scaling,
                            enum placement *placement, struct err *err)
{
    const struct arm *arms = analysis->result->arms;
    int rc = 0;
    *placement = PLACEMENTS;
    for (size_t p = 0; p < scaling->nplacements && *placement == PLACEMENTS && !rc; p++) {
        struct recommendation made = {.arm = -1};
        int arm = scaling->arm[scaling->ncounts - 1][p];
        if (arm >= 0)
            rc = recommend_make(analysis, &arms[arm], &made, err);
        if (!rc && made.arm >= 0)
            *placement = arms[made.arm].placement;
    }
    return rc;
}

/* Its place in the curves; false where nothing was measured. */
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

static void tell(const struct analysis *analysis, const struct scaling *scaling, size_t most,
                 size_t p, struct finding *finding)
{
    char rate[32], fewer[160] = "", share[16], efficiency[16];
    size_t enough = 0;
    int arm = scaling->arm[most][p];
    double best = median_of(analysis, arm, METRIC_RATE), held;
    while (enough < most &&
           !(median_of(analysis, scaling->arm[enough][p], METRIC_RATE) >= enough_share * best))
        enough++;
    held = median_of(analysis, arm, "efficiency");
    if (enough < most)
        (void)snprintf(
            fewer, sizeof(fewer), "; %u %s %s of it", scaling->counts[enough],
            scaling->counts[enough] == 1 ? "does" : "do",
            text_percent(median_of(analysis, scaling->arm[enough][p], METRIC_RATE) / best, share,
                         sizeof(share)));
    const char *unit = analysis->rounds.arms[arm].rate_unit;
    (void)snprintf(
        finding->sentence, sizeof(finding->sentence),
        "most work per second was done by %u worker%s under %s: %s %s%s%s%s%s.",
        scaling->counts[most], scaling->counts[most] == 1 ? "" : "s",
        placement_infos[scaling->placements[p]].name, units_format_si(best, rate, sizeof(rate)),
        unit, isnan(held) ? "" : ", at an efficiency of ",
        isnan(held) ? "" : text_percent(held, efficiency, sizeof(efficiency)), fewer,
        most + 1 == scaling->ncounts && enough == most ? "; more workers than these were not tried"
                                                       : "");
    if (advice_may_advise(scaling->placements[p]))
        (void)advice_command(analysis->result, &analysis->result->arms[scaling->arm[enough][p]],
                             finding->command, sizeof(finding->command));
}

int scaling_find(const struct analysis *analysis, struct findings *findings, struct err *err)
{
    struct scaling scaling;
    struct finding finding = {.id = "workers", .value = NAN, .low = NAN, .high = NAN};
    size_t count = 0, placement = 0;
    enum placement recommended;
    if (!scaling_read(analysis->result, &scaling))
        return 0;
    int rc = find_recommended(analysis, &scaling, &recommended, err);
    if (rc || !find_most(analysis, &scaling, recommended, &count, &placement))
        return rc;
    tell(analysis, &scaling, count, placement, &finding);
    return findings_add(findings, &finding, err);
}
