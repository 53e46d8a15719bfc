#include "harness/show/tune.h"

#include <math.h>
#include <string.h>

#include "harness/verdict/advice.h"
#include "harness/verdict/runs/tune.h"

enum { SHOWN = 24 }; /* the best of the search */

static struct doc_table *begin(const struct analysis *analysis, const struct tune_line *line,
                               struct doc *doc)
{
    struct doc_table *table;
    doc_gap(doc);
    table = doc_table(doc);
    doc_column(table, DOC_LABEL, "%s", line->fresh ? "fresh rounds" : "search");
    doc_columns(table, DOC_NUMBER, "threads", "rounds", NULL);
    doc_column(table, DOC_NUMBER, "%s", bench_rate_unit(analysis->result->arms[line->arm].bench));
    doc_column(table, DOC_NUMBER, "%s", line->fresh ? "speed-up" : "of best");
    if (line->fresh)
        doc_column(table, DOC_NUMBER, "interval");
    doc_column(table, DOC_SENTENCE, "why not");
    return table;
}

/* Adds the gain and "13-17x" for fresh rounds, a share of the best for the search. */
static void add_ratio(const struct tune_line *line, struct doc_table *table)
{
    const struct evidence *against = &line->against;
    if (!line->fresh) {
        doc_share(table, against->ratio);
        return;
    }
    doc_cell(table, "%s", line->is_reference ? "1x" : advice_format_ratio(against->ratio));
    if (line->is_reference || isnan(against->low)) {
        doc_cell(table, "%s", "");
        return;
    }
    const char *low = advice_format_ratio(against->low);
    doc_cell(table, "%.*s-%s", (int)strlen(low) - 1, low, advice_format_ratio(against->high));
}

static void add_line(const struct analysis *analysis, const struct tune_line *line,
                     struct doc_table *table)
{
    const struct arm *arm = &analysis->result->arms[line->arm];
    doc_row(table, line->recommended ? DOC_GOOD : DOC_PLAIN);
    doc_cell(table, "%s%s", arm_name(arm), line->recommended ? "*" : "");
    if (arm->plan.status != PLAN_OK) {
        doc_put(table, table->n - 1, line->fresh ? 6 : 5, arm->plan.reason);
        return;
    }
    doc_cell(table, "%u", arm->plan.workers[0].threads);
    doc_cell(table, "%zu", analysis->rounds.arms[line->arm].n);
    doc_si(table, line->rate);
    add_ratio(line, table);
}

void tune_add_to_doc(const struct analysis *analysis, struct doc *doc)
{
    struct tune_lines lines;
    struct doc_table *table = NULL;
    const struct result *result = analysis->result;
    size_t searched = 0;
    bool starred = false;
    doc_heading(doc, "tune %s, %s, %u round%s", result->scenario,
                device_infos[result->device].title, result->rounds_done,
                result->rounds_done == 1 ? "" : "s");
    doc->failed = tune_lines_make(analysis, &lines, NULL) || doc->failed;
    while (searched < lines.n && !lines.all[searched].fresh)
        searched++;
    size_t first = searched > SHOWN ? searched - SHOWN : 0;
    for (size_t i = first; i < lines.n && !doc->failed; i++) {
        if (i == first && i < searched && searched < lines.n)
            doc_fold(doc, "The search");
        if (i == searched && searched)
            doc_unfold(doc);
        if (i == first && first)
            doc_text(doc, "%zu slower ones are in rows.csv", first);
        if (i == first || i == searched)
            table = begin(analysis, &lines.all[i], doc);
        add_line(analysis, &lines.all[i], table);
        starred = starred || lines.all[i].recommended;
    }
    if (starred)
        doc_text(doc, "speed-up: throughput relative to none, paired by round; *: recommended");
    tune_lines_free(&lines);
}
