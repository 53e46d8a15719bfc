#include "harness/show/comparison.h"

#include <math.h>
#include <string.h>

#include "harness/lib/units.h"
#include "harness/record/number.h"

static bool is_shown(const struct comparison *one, bool gating)
{
    return one->gating == gating && (gating || one->evidence.outcome != OUTCOME_MISSING);
}

static bool same_sides(const struct comparison *a, const struct comparison *b)
{
    return strcmp(a->base, b->base) == 0 && strcmp(a->other, b->other) == 0;
}

/* Large numbers by prefix, "93.0 k"; others as the tables of scans write them. */
static void add_median(struct doc_table *table, double value, const char *unit)
{
    if (isnan(value))
        doc_cell(table, "-");
    else if (*number_unit(unit) && fabs(value) >= 10000)
        doc_si(table, value);
    else
        doc_cell(table, "%s", number_format(value, unit, false));
}

static void add_one(struct doc_table *table, const struct comparison *one)
{
    const char *unit = number_unit(one->unit);
    enum doc_tone tone =
        one->evidence.outcome == OUTCOME_SLOWER || one->evidence.outcome == OUTCOME_MISSING
            ? DOC_BAD
        : one->evidence.outcome == OUTCOME_FASTER ? DOC_GOOD
                                                  : DOC_PLAIN;
    doc_row(table, DOC_PLAIN);
    doc_cell(table, "%s", finding_outcome_name(one->evidence.outcome));
    doc_tone(table, tone);
    doc_cell(table, "%s%s%s", one->metric, *unit ? ", " : "", unit);
    add_median(table, one->evidence.base, one->unit);
    add_median(table, one->evidence.other, one->unit);
    doc_cell(table, "%s", comparison_format_change(one));
    doc_cell(table, "%s", comparison_format_interval(one));
    doc_cell(table, "%s", one->reason);
}

static struct doc_table *begin(const struct comparison *one, struct doc *doc)
{
    struct doc_table *table = doc_table(doc);
    doc_column(table, DOC_LABEL, "verdict");
    doc_column(table, DOC_CODE, "metric");
    doc_columns(table, DOC_NUMBER, one->base, one->other, "change", "interval", NULL);
    doc_column(table, DOC_REASON, "why");
    return table;
}

/* Those of the same sides as `first`, the worst outcome first. */
static void add_sides(const struct comparisons *comparisons, const struct comparison *first,
                      struct doc *doc)
{
    static const enum finding_outcome order[] = {OUTCOME_SLOWER, OUTCOME_UNCLEAR, OUTCOME_MISSING,
                                                 OUTCOME_FASTER, OUTCOME_SAME,    OUTCOME_NONE};
    const char *arm = "";
    doc_gap(doc);
    struct doc_table *table = begin(first, doc);
    for (size_t o = 0; o < sizeof(order) / sizeof(order[0]); o++)
        for (size_t i = 0; i < comparisons->n; i++) {
            const struct comparison *one = &comparisons->all[i];
            if (one->evidence.outcome != order[o] || !is_shown(one, first->gating) ||
                !same_sides(one, first))
                continue;
            if (strcmp(arm, one->arm) != 0) {
                doc_row(table, DOC_GROUP);
                doc_cell(table, "%s", one->arm);
                arm = one->arm;
            }
            add_one(table, one);
        }
}

static void add_tables(const struct comparisons *comparisons, bool gating, struct doc *doc)
{
    bool any = false;
    for (size_t i = 0; i < comparisons->n; i++) {
        const struct comparison *one = &comparisons->all[i];
        bool done = !is_shown(one, gating);
        for (size_t k = 0; k < i && !done; k++)
            done = is_shown(&comparisons->all[k], gating) && same_sides(&comparisons->all[k], one);
        if (done)
            continue;
        if (!gating && !any)
            doc_fold(doc, "Metrics that do not gate");
        any = true;
        add_sides(comparisons, one, doc);
    }
    if (any && !gating)
        doc_unfold(doc);
}

void comparisons_add_to_doc(const struct comparisons *comparisons, struct doc *doc)
{
    add_tables(comparisons, true, doc);
    add_tables(comparisons, false, doc);
}

void compared_add_to_doc(const struct comparisons *comparisons, const struct findings *findings,
                         struct doc *doc)
{
    doc_findings(doc, findings, DOC_LEADING);
    comparisons_add_to_doc(comparisons, doc);
    doc_findings(doc, findings, DOC_REST);
}
