#include "harness/show/table/scaling.h"

#include <math.h>
#include <stdio.h>

#include "harness/lib/base/text.h"
#include "harness/lib/base/units.h"
#include "harness/rows/metric.h"
#include "harness/rows/scaling.h"

enum { ABREAST = 5, CELL = 16 }; /* placements that have room on 80 columns */

static const struct row *row_of(const struct analysis *analysis, int arm, const char *metric)
{
    return arm < 0 ? NULL : rows_find(&analysis->rows, &analysis->result->arms[arm], metric);
}

static void print_cell(const struct analysis *analysis, int arm, FILE *out)
{
    char rate[CELL - 2], bound[CELL], efficiency[CELL] = "-";
    const struct row *work = row_of(analysis, arm, METRIC_RATE);
    const struct row *share = row_of(analysis, arm, "efficiency");
    if (!work || isnan(work->median)) {
        (void)fprintf(out, "%14s", "-");
        return;
    }
    (void)snprintf(bound, sizeof(bound), "%s%s%s", work->status == STATUS_CENSORED ? "<" : "",
                   units_format_si(work->median, rate, sizeof(rate)),
                   work->status == STATUS_NOISY ? "~" : "");
    if (share && !isnan(share->median))
        (void)text_percent(share->median, efficiency, sizeof(efficiency));
    (void)fprintf(out, "%9s%5s", bound, efficiency);
}

static void print_some(const struct analysis *analysis, const struct scaling *scaling, size_t from,
                       FILE *out)
{
    size_t end = from + ABREAST < scaling->nplacements ? from + ABREAST : scaling->nplacements;
    (void)fprintf(out, "%7s", "workers");
    for (size_t p = from; p < end; p++)
        (void)fprintf(out, "%14s", placement_infos[scaling->placements[p]].name);
    (void)fputc('\n', out);
    for (size_t c = 0; c < scaling->ncounts; c++) {
        (void)fprintf(out, "%7u", scaling->counts[c]);
        for (size_t p = from; p < end; p++)
            print_cell(analysis, scaling->arm[c][p], out);
        (void)fputc('\n', out);
    }
}

void scaling_print(const struct analysis *analysis, FILE *out, bool color)
{
    struct scaling scaling;
    char head[120], unit[32];
    if (!scaling_read(analysis->result, &scaling))
        return;
    int arm = -1;
    for (size_t p = 0; p < scaling.nplacements && arm < 0; p++)
        arm = scaling.arm[0][p];
    const struct bench *bench = analysis->result->arms[arm < 0 ? 0 : arm].bench;
    (void)snprintf(head, sizeof(head), "%s of all workers, and efficiency, by their number",
                   bench_rate_unit(bench, unit, sizeof(unit)));
    (void)fprintf(out, "\n%s%s%s\n", color ? "\033[2m" : "", head, color ? "\033[0m" : "");
    for (size_t from = 0; from < scaling.nplacements; from += ABREAST)
        print_some(analysis, &scaling, from, out);
}
