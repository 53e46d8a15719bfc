#include "harness/show/sizing.h"

#include <math.h>

#include "harness/verdict/runs/sizing.h"

static double best_of(const struct knee_point *points, size_t n)
{
    double best = NAN;
    for (size_t i = 0; i < n; i++)
        best = fmax(best, points[i].rate);
    return best;
}

static void add_point(const struct sizing_curves *curves, size_t i, struct doc_table *table)
{
    const struct knee_point *solo = &curves->solo[i], *many = &curves->all[i];
    doc_row(table, DOC_PLAIN);
    doc_cell(table, "%u", solo->cores);
    doc_si(table, solo->rate);
    doc_share(table, solo->rate / best_of(curves->solo, curves->n));
    doc_si(table, many->rate);
    doc_share(table, many->rate / best_of(curves->all, curves->n));
    doc_si(table, isnan(many->rate) ? (double)NAN : curves->predicted[i]);
    if (isfinite(curves->error[i]))
        doc_cell(table, "%+.1f%%", 100 * curves->error[i]);
    else
        doc_cell(table, "-");
}

void sizing_add_to_doc(const struct analysis *analysis, struct doc *doc)
{
    struct sizing_curves curves;
    const struct result *result = analysis->result;
    if (!sizing_read(analysis, &curves))
        return;
    doc_heading(doc, "sizing %s, %s, %u round%s", result->scenario,
                device_infos[result->device].title, result->rounds_done,
                result->rounds_done == 1 ? "" : "s");
    doc_text(doc, "%s of all workers, each with so many cores, as %s",
             bench_rate_unit(curves.arm->bench), placement_infos[curves.arm->placement].name);
    doc_gap(doc);
    struct doc_table *table = doc_table(doc);
    doc_column(table, DOC_LABEL, "cores");
    doc_columns(table, DOC_NUMBER, "one alone", "of best", NULL);
    doc_column(table, DOC_NUMBER, "%u workers", curves.workers);
    doc_columns(table, DOC_NUMBER, "of best", "predicted", "error", NULL);
    for (size_t i = 0; i < curves.n; i++)
        add_point(&curves, i, table);
}
