#include "harness/show/result.h"

#include <math.h>
#include <string.h>

#include "harness/lib/text.h"
#include "harness/record/format.h"
#include "harness/show/grid.h"
#include "harness/verdict/advice.h"

enum { TRANSPOSED_MOST = 8 }; /* most columns of a transposed table */

/* The state while the metrics of one arm are added. */
struct scan {
    const struct result *result;
    const struct arm *arm;
    struct doc *doc;
    struct doc_table *table; /* the last one, if further metrics may extend it; or NULL */
    bool transposed;
    unsigned column_dim; /* dimension along that table; place[n]: the places on it */
    size_t n;
    struct dims place[GRID_COLUMNS];
    const char *corner;
    char singles[1000]; /* values without a table */
};

/*
 * Formats parts of the key `at`: with `common` those that are the same in all keys, else those that
 * differ. Omits parts that the title names.
 */
static const char *format_parts(const struct scan *scan, const struct dims *at,
                                const struct dims *all, size_t nall, bool common)
{
    char name[DIMS_KEY_MAX], value[DIMS_KEY_MAX];
    const char *buf = "";
    for (unsigned part = 0; part < at->n; part++) {
        const struct dims only = dims_only(at, at->of[part].dim);
        bool same = true;
        for (size_t i = 0; i < nall; i++)
            same = same && dims_has(&all[i], at->of[part].dim) && dims_agree(&all[i], &only);
        dims_part(scan->arm->bench, at, part, name, value);
        if (same == common && !number_in_title(scan->result, scan->arm, name))
            str_add(&buf, ", ", "%s %s", name, value);
    }
    return buf;
}

/* "latency, ns"; only the name if the numbers carry their unit, or have none. */
static const char *name_grid(const struct grid *grid)
{
    const char *unit = number_unit(grid->metric->unit);
    return str_fmt("%s%s%s", grid->metric->name, unit[0] ? ", " : "", unit);
}

/* The name above the first column: "latency, ns, dir h2d / size". Without the metric, only what all
 * keys share: "dir h2d / size". */
static const char *name_corner(const struct scan *scan, const struct grid *grid, bool with_metric)
{
    const char *text = with_metric ? name_grid(grid) : "";
    const char *rest = format_parts(scan, &grid->line[0], grid->line, grid->nlines, true);
    if (rest[0])
        str_add(&text, ", ", "%s", rest);
    str_add(&text, " / ", "%s", grid->name);
    return text;
}

static const char *name_line(const struct scan *scan, const struct grid *grid, size_t line)
{
    return grid->nlines == 1 ? name_grid(grid)
                             : str_fmt("  %s", format_parts(scan, &grid->line[line], grid->line,
                                                            grid->nlines, false));
}

static int larger(int a, int b)
{
    return a > b ? a : b;
}

/* True if the table fits into 80 columns. */
static bool fits_width(const struct scan *scan, const struct grid *grid)
{
    int label = 0, width = 0;
    for (size_t line = 0; line < grid->nlines; line++)
        label = larger(label, (int)strlen(name_line(scan, grid, line)));
    for (size_t column = 0; column < grid->ncolumns; column++) {
        int widest = larger(DOC_NUMBER_LEAST, (int)strlen(grid_column(grid, column)));
        for (size_t line = 0; line < grid->nlines; line++)
            widest = larger(widest, (int)strlen(grid_format(grid, line, column)));
        width += 1 + widest;
    }
    return label + width <= TEXT_WIDTH;
}

/* True if the grid has the same places as the last table. */
static bool same_places(const struct scan *scan, const struct grid *grid)
{
    bool same = scan->table && scan->column_dim == grid->column_dim && scan->n == grid->ncolumns;
    for (size_t i = 0; i < grid->ncolumns && same; i++)
        same = !dims_compare(&scan->place[i], &grid->column[i]);
    return same;
}

static void begin(struct scan *scan, const struct grid *grid, bool transposed, const char *corner)
{
    scan->table = doc_table(scan->doc);
    scan->transposed = transposed;
    scan->column_dim = grid->column_dim;
    scan->n = grid->ncolumns;
    memcpy(scan->place, grid->column, sizeof(scan->place));
    scan->corner = corner;
    doc_column(scan->table, DOC_LABEL, "%s", corner);
}

/* Adds the grid as lines; extends the last table if that has one line per metric, too. */
static void add_lines(struct scan *scan, const struct grid *grid)
{
    const char *text = name_corner(scan, grid, grid->nlines > 1);
    bool extends = grid->nlines == 1 && same_places(scan, grid) && !scan->transposed &&
                   strcmp(scan->corner, text) == 0;
    if (!extends) {
        begin(scan, grid, false, text);
        for (size_t i = 0; i < grid->ncolumns; i++)
            doc_column(scan->table, DOC_NUMBER, "%s", grid_column(grid, i));
    }
    for (size_t line = 0; line < grid->nlines; line++) {
        text = name_line(scan, grid, line);
        doc_row(scan->table, DOC_PLAIN);
        doc_cell(scan->table, "%s", text);
        for (size_t i = 0; i < grid->ncolumns; i++)
            doc_cell(scan->table, "%s", grid_format(grid, line, i));
    }
}

/* Names the column "latency", "p99", "us" in three lines, for collective_latency. */
static void add_transposed_column(struct scan *scan, const struct grid *grid, size_t line)
{
    const char *unit = number_unit(grid->metric->unit), *name = grid->metric->name;
    const char *bench = scan->arm->bench->name;
    size_t column = scan->table ? scan->table->ncolumns : 0, length = strlen(bench);
    if (strncmp(name, bench, length) == 0 && name[length] == '_')
        name += length + 1;
    char *which =
        str_fmt("%s", format_parts(scan, &grid->line[line], grid->line, grid->nlines, false));
    for (char *at = which; (at = strstr(at, ", ")); at++)
        memmove(at, at + 1, strlen(at)), at[0] = '\n';
    doc_column(scan->table, DOC_NUMBER, "%s%s%s%s%s", name, which[0] ? "\n" : "", which,
               unit[0] ? "\n" : "", unit);
    for (size_t i = 0; i < grid->ncolumns; i++)
        doc_put(scan->table, i, column, grid_format(grid, line, i));
}

/* True if the grid's columns can extend the last table, because that is transposed, too. */
static bool extends_transposed(const struct scan *scan, const struct grid *grid)
{
    const char *corner = name_corner(scan, grid, false);
    return scan->transposed && same_places(scan, grid) && strcmp(scan->corner, corner) == 0 &&
           scan->table->ncolumns + grid->nlines <= TRANSPOSED_MOST;
}

static void add_transposed(struct scan *scan, const struct grid *grid)
{
    const char *text;
    if (!extends_transposed(scan, grid)) {
        text = name_corner(scan, grid, false);
        begin(scan, grid, true, text);
        for (size_t i = 0; i < grid->ncolumns; i++)
            doc_put(scan->table, i, 0, grid_column(grid, i));
    }
    for (size_t line = 0; line < grid->nlines; line++)
        add_transposed_column(scan, grid, line);
}

/* "2-38" for a pair, else "layout same, threads 2", without parts that the title names. */
static const char *format_place(const struct scan *scan, const struct row *row)
{
    if (grid_is_pair(row))
        return str_fmt("%.0f-%.0f", row->dims.of[0].at, row->dims.of[1].at);
    return format_parts(scan, &row->dims, NULL, 0, true);
}

static void add_range(const struct scan *scan, struct grid *grid)
{
    const char *unit = grid->metric->unit;
    const size_t all = grid->n;
    grid_sort(grid);
    if (grid->n < all)
        doc_text(scan->doc, "%s: %zu of %zu values not resolved", grid->metric->name, all - grid->n,
                 all);
    if (!grid->n)
        return;
    const struct row *first = grid->row[0], *last = grid->row[grid->n - 1];
    double median = (grid->row[(grid->n - 1) / 2]->median + grid->row[grid->n / 2]->median) / 2;
    doc_text(scan->doc, "%s: %zu %s, %s (%s) .. %s median .. %s (%s)", grid->metric->name, grid->n,
             grid_is_pair(first) ? "pairs" : "values", grid_format_row(grid, first, true),
             format_place(scan, first), number_format(median, unit, true),
             grid_format_row(grid, last, true), format_place(scan, last));
}

static void note_single(struct scan *scan, const struct grid *grid)
{
    const char *name = format_place(scan, grid->row[0]);
    text_append(scan->singles, sizeof(scan->singles), "; ", "%s %s%s%s%s", grid->metric->name,
                grid_format_row(grid, grid->row[0], true), name[0] ? " (" : "", name,
                name[0] ? ")" : "");
}

static void add_one(void *arg, struct grid *grid)
{
    struct scan *scan = arg;
    if (grid->n == 1)
        note_single(scan, grid);
    else if (!grid->fits && grid->n) {
        add_range(scan, grid);
        scan->table = NULL;
    } else if (grid->n && !extends_transposed(scan, grid) &&
               (fits_width(scan, grid) || grid->nlines >= grid->ncolumns))
        add_lines(scan, grid);
    else if (grid->n)
        add_transposed(scan, grid);
}

static void add_arm(struct scan *scan, const struct analysis *analysis, size_t arm)
{
    const struct bench_metric *metric = scan->arm->bench->metrics;
    const char *what = format_arm(scan->result, scan->arm, NULL);
    doc_heading(scan->doc, "%s%s%s", scan->arm->bench->name, what[0] ? ", " : "", what);
    for (; metric && metric->name; metric++) {
        if (metric->hidden)
            continue;
        struct grid *grid =
            grid_make(&analysis->rows, scan->arm, &analysis->rounds.arms[arm], metric);
        scan->doc->failed = scan->doc->failed || !grid || grid_visit(grid, add_one, scan);
        grid_free(grid);
    }
    if (scan->singles[0])
        doc_text(scan->doc, "%s", scan->singles);
}

/* True for teams under a load: scans.c shows them beside the team without the load. */
static bool is_shown_by_retention(const struct rows *rows, const struct arm *arm)
{
    size_t at = 0;
    return bench_retention_metric(arm->bench) && rows_next(rows, arm, "retention", &at);
}

void scans_add_to_doc(const struct analysis *analysis, struct doc *doc)
{
    for (size_t i = 0; i < analysis->result->narms; i++) {
        const struct arm *arm = &analysis->result->arms[i];
        struct scan scan = {.result = analysis->result, .arm = arm, .doc = doc};
        if (arm->bench->scan && analysis->rounds.arms[i].n &&
            !is_shown_by_retention(&analysis->rows, arm))
            add_arm(&scan, analysis, i);
    }
}

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
