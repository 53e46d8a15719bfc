#include "harness/show/retention.h"

#include <math.h>
#include <string.h>

#include "harness/lib/str.h"
#include "harness/lib/text.h"
#include "harness/lib/units.h"
#include "harness/record/format.h"
#include "harness/record/number.h"
#include "harness/verdict/advice.h"

struct retention {
    const struct analysis *analysis;
    const struct result *result; /* of the analysis */
    struct doc *doc;
    const struct arm *idle;            /* the team without the load */
    const struct bench_metric *metric; /* that a load reduces */
};

static double median(const struct row *row)
{
    return row ? row->median : NAN;
}

/* Removes the dimensions that an option fixes, because the title names them. */
static struct dims without_choices(const struct retention *r, struct dims at)
{
    for (const struct opt *opt = r->idle->bench->opts; opt && opt->name; opt++) {
        unsigned dim = dim_find(r->idle->bench, opt->name);
        if (dim &&
            !strcmp(dims_value(r->idle->bench, &at, dim), opt_format_value(opt, r->idle->params)))
            at = dims_without(&at, dim);
    }
    return at;
}

/* "2 MiB" for a size, else the formatted key. */
static const char *label_of(const struct retention *r, const struct dims *at)
{
    const struct bench *bench = r->idle->bench;
    unsigned by_size = dim_find_kind(bench, DIM_BYTES);
    double bytes = dims_number(bench, at, by_size);
    struct dims rest = without_choices(r, *at);
    if (!by_size || isnan(bytes))
        return format_dims(bench, &rest);
    rest = dims_without(&rest, by_size);
    const char *text = units_bytes((uint64_t)bytes);
    return str_fmt("%s%s%s", text, rest.n ? " " : "", format_dims(bench, &rest));
}

static void add_number(struct doc_table *table, double value)
{
    if (value >= 1e6)
        doc_cell(table, "%.2e", value);
    else
        doc_cell(table, "%s", isnan(value) ? "-" : number_format(value, "", false));
}

static void add_retention(struct doc_table *table, double retention)
{
    doc_share(table, retention);
    if (!isnan(retention))
        doc_tone(table, retention < 0.9 ? DOC_BAD : DOC_GOOD);
}

static bool is_loaded(const struct retention *r, size_t arm)
{
    return advice_is_loaded(r->analysis, r->idle, &r->result->arms[arm]);
}

static void add_line(const struct retention *r, const struct row *row, struct doc_table *table)
{
    const struct rows *rows = &r->analysis->rows;
    doc_row(table, DOC_PLAIN);
    doc_cell(table, "%s", label_of(r, &row->dims));
    add_number(table, row->median);
    for (size_t i = 0; i < r->result->narms; i++)
        if (is_loaded(r, i)) {
            const struct arm *arm = &r->result->arms[i];
            add_number(table, median(rows_at(rows, arm, r->metric->name, &row->dims)));
            add_retention(table, median(rows_at(rows, arm, "retention", &row->dims)));
        }
}

/* Adds the table of one idle team and all its placements under load. */
static void add_team(const struct retention *r)
{
    size_t first = 0, at = 0;
    while (first < r->result->narms && !is_loaded(r, first))
        first++;
    if (first == r->result->narms)
        return;
    const char *what = format_arm(r->result, r->idle, NULL);
    doc_heading(r->doc, "%s%s%s: %s, %s", r->idle->bench->name, what[0] ? ", " : "", what,
                r->metric->name, r->metric->unit);
    struct doc_table *table = doc_table(r->doc);
    doc_column(table, DOC_LABEL, "size");
    doc_column(table, DOC_NUMBER, "idle");
    for (size_t i = first; i < r->result->narms; i++)
        if (is_loaded(r, i)) {
            doc_column(table, DOC_NUMBER, "%s", placement_infos[r->result->arms[i].placement].name);
            doc_column(table, DOC_NUMBER, "kept");
        }
    for (const struct row *row;
         (row = rows_next(&r->analysis->rows, r->idle, r->metric->name, &at));)
        add_line(r, row, table);
}

void retention_add_to_doc(const struct analysis *analysis, struct doc *doc)
{
    const struct result *result = analysis->result;
    for (size_t i = 0; i < result->narms; i++) {
        const struct arm *arm = &result->arms[i];
        const struct retention r = {analysis, result, doc, arm, bench_retention_metric(arm->bench)};
        if (arm->is_baseline && arm->bench->gang && r.metric)
            add_team(&r);
    }
}
