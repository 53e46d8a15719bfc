#include "harness/show/dosing.h"

#include <math.h>

#include "harness/record/format.h"
#include "harness/verdict/advice.h"
#include "harness/verdict/runs/dosing.h"

/* "20%" for a kind of dose that is a share, "0.8" for the other kinds. */
static void add_level(int kind, double level, struct doc_table *table)
{
    if (isnan(level))
        doc_cell(table, "-");
    else if (dose_is_share(kind))
        doc_cell(table, "%.3g%%", 100 * level);
    else
        doc_cell(table, "%.3g", level);
}

static void add_point(const struct dosing_curves *curves, const struct dosing_point *point,
                      double level, bool steps, struct doc_table *table)
{
    const struct evidence *kept = &point->retention;
    doc_row(table, DOC_PLAIN);
    add_level(curves->kind, level, table);
    add_level(curves->kind, point->held, table);
    doc_si(table, point->rate);
    doc_share(table, kept->ratio);
    if (isnan(kept->low) || level == curves->level[0])
        doc_cell(table, "%s", "");
    else
        doc_cell(table, "%.0f-%.0f%%", 100 * kept->low, 100 * kept->high);
    if (steps)
        doc_cell(table, "%s", advice_format_ratio(point->p99));
}

void dosing_add_to_doc(const struct analysis *analysis, struct doc *doc)
{
    struct dosing_curves curves;
    const struct result *result = analysis->result;
    if (!dosing_read(analysis, &curves))
        return;
    const bool steps = !result->arms[0].bench->scan;
    doc_heading(doc, "%s, %s, %u worker%s, %u round%s, doses of %s", result->scenario,
                device_infos[result->device].title, curves.workers, curves.workers == 1 ? "" : "s",
                result->rounds_done, result->rounds_done == 1 ? "" : "s", dose_names[curves.kind]);
    doc_gap(doc);
    struct doc_table *table = doc_table(doc);
    doc_column(table, DOC_LABEL, "%s", dose_names[curves.kind]);
    doc_columns(table, DOC_NUMBER, "held", NULL);
    doc_column(table, DOC_NUMBER, "%s",
               curves.what.unit ? curves.what.unit : bench_rate_unit(result->arms[0].bench));
    doc_columns(table, DOC_NUMBER, "retention", "range", steps ? "p99 step" : NULL, NULL);
    for (size_t p = 0; p < curves.nplacements; p++) {
        doc_row(table, DOC_GROUP);
        doc_cell(table, "%s", placement_infos[curves.placement[p]].name);
        for (size_t i = 0; i < curves.n; i++)
            add_point(&curves, &curves.point[p][i], curves.level[i], steps, table);
    }
    if (steps)
        doc_text(doc, "retention: throughput under the dose relative to none of it, by round; p99 "
                      "step: 99th percentile of step times, relative to the same");
    else
        doc_text(doc, "retention: %s (%s) under the dose relative to none of it, by round",
                 curves.what.metric, format_dims(result->arms[0].bench, &curves.what.dims));
}
