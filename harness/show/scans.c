#include "harness/show/scans.h"

#include <string.h>

#include "harness/lib/str.h"
#include "harness/lib/text.h"
#include "harness/record/format.h"
#include "harness/record/grid.h"
#include "harness/record/number.h"

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

/* True for teams under a load: retention.c shows them beside the team without the load. */
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
