#include "harness/show/grid.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/lib/text.h"
#include "harness/record/format.h"

enum {
    PAIRS_MOST = 24, /* rows in a table of pairs, which is mostly half empty */
    GRID_SPLITS = 8  /* most smaller grids that a grid is split into */
};

/* Index of `at` in the list, to which it is added if new; `most` if the list is full. */
static size_t place_of(struct dims *list, size_t *n, size_t most, const struct dims *at)
{
    for (size_t i = 0; i < *n; i++)
        if (dims_compare(&list[i], at) == 0)
            return i;
    if (*n == most)
        return most;
    list[*n] = *at;
    return (*n)++;
}

/* Lists the distinct positions of the rows along a dimension. Returns their number, or most + 1 if
 * there are more than `most`. */
static size_t list_values(const struct grid *grid, unsigned dim, struct dims *list, size_t most)
{
    size_t n = 0;
    for (size_t i = 0; i < grid->n; i++) {
        const struct dims at = dims_only(&grid->row[i]->shown, dim);
        if (at.n && place_of(list, &n, most, &at) == most)
            return most + 1;
    }
    return n;
}

/* Columns are the dimension with the most values, or the last of several that have as many. */
static void choose_columns(struct grid *grid)
{
    size_t most = 0;
    const struct dims *first = &grid->row[0]->dims;
    grid->fits = first->n > 0;
    for (unsigned part = 0; part < first->n; part++) {
        size_t n = list_values(grid, first->of[part].dim, grid->column, GRID_COLUMNS);
        if (n >= most)
            grid->column_dim = first->of[part].dim;
        most = n > most ? n : most;
    }
    grid->name = dim_name(grid->row[0]->arm->bench, grid->column_dim);
}

bool grid_is_pair(const struct row *row)
{
    const struct bench *bench = row->arm->bench;
    return row->dims.n == 2 && dim_kind(bench, row->dims.of[0].dim) == DIM_PAIR &&
           dim_kind(bench, row->dims.of[1].dim) == DIM_PAIR;
}

double grid_number(const struct grid *grid, size_t column)
{
    return dims_number(grid->row[0]->arm->bench, &grid->column[column], grid->column_dim);
}

const char *grid_column(const struct grid *grid, size_t column)
{
    const struct bench *bench = grid->row[0]->arm->bench;
    double number = grid_number(grid, column);
    if (dim_kind(bench, grid->column_dim) == DIM_BYTES && !isnan(number))
        return number_format_bytes(number);
    return dims_value(bench, &grid->column[column], grid->column_dim);
}

/* Sorts columns that are numbers, as the first row may lack some. Labels keep their order. */
static void sort_columns(struct grid *grid)
{
    for (size_t i = 0; i < grid->ncolumns; i++)
        if (isnan(grid_number(grid, i)))
            return;
    for (size_t i = 1; i < grid->ncolumns; i++)
        for (size_t at = i; at > 0 && grid_number(grid, at - 1) > grid_number(grid, at); at--) {
            struct dims swapped = grid->column[at];
            grid->column[at] = grid->column[at - 1];
            grid->column[at - 1] = swapped;
        }
}

/* Fills columns and lines. `fits` is false if the arrays have no room for all of them. */
static void find_axes(struct grid *grid)
{
    if (grid->n < 2 || (grid_is_pair(grid->row[0]) && grid->n > PAIRS_MOST))
        return;
    choose_columns(grid);
    for (size_t i = 0; i < grid->n && grid->fits; i++) {
        const struct dims column = dims_only(&grid->row[i]->shown, grid->column_dim);
        const struct dims line = dims_without(&grid->row[i]->shown, grid->column_dim);
        grid->fits =
            column.n &&
            place_of(grid->column, &grid->ncolumns, GRID_COLUMNS, &column) < GRID_COLUMNS &&
            place_of(grid->line, &grid->nlines, GRID_LINES, &line) < GRID_LINES;
    }
    sort_columns(grid);
}

const char *grid_format_row(const struct grid *grid, const struct row *row, bool with_unit)
{
    if (row_is_unresolved(row))
        return "not resolved";
    const char *why = row_doubt(row, grid->rounds), *bound = number_bound(why);
    return str_fmt("%s%s%s", bound, number_format(row->median, grid->metric->unit, with_unit),
                   why[0] && !bound[0] ? "~" : "");
}

/* The row at a line and a column; NULL = none. */
static const struct row *grid_at(const struct grid *grid, size_t line, size_t column)
{
    for (size_t i = 0; i < grid->n; i++) {
        const struct dims along = dims_only(&grid->row[i]->shown, grid->column_dim);
        const struct dims rest = dims_without(&grid->row[i]->shown, grid->column_dim);
        if (!dims_compare(&along, &grid->column[column]) && !dims_compare(&rest, &grid->line[line]))
            return grid->row[i];
    }
    return NULL;
}

const char *grid_format(const struct grid *grid, size_t line, size_t column)
{
    const struct row *row = grid_at(grid, line, column);
    return row ? grid_format_row(grid, row, false) : "-";
}

static struct grid *new_grid(const struct bench_metric *metric, const struct arm_rounds *rounds,
                             size_t room)
{
    struct grid *grid = calloc(1, sizeof(*grid));
    if (!grid)
        return NULL;
    grid->metric = metric;
    grid->rounds = rounds;
    grid->row = calloc(room + 1, sizeof(const struct row *));
    if (grid->row)
        return grid;
    free(grid);
    return NULL;
}

struct grid *grid_make(const struct rows *rows, const struct arm *arm,
                       const struct arm_rounds *rounds, const struct bench_metric *metric)
{
    struct grid *grid = new_grid(metric, rounds, rows->n);
    if (!grid)
        return NULL;
    for (size_t i = 0; i < rows->n; i++) {
        const struct row *row = &rows->row[i];
        bool shown = metric->hide_zeros ? row->max > 0 : !isnan(row->median);
        if (row->arm == arm && !strcmp(row->metric, metric->name) &&
            (shown || row_is_unresolved(row)))
            grid->row[grid->n++] = row;
    }
    find_axes(grid);
    return grid;
}

/* A grid of the rows at that position; NULL: out of memory. */
static struct grid *grid_select(const struct grid *full, const struct dims *at)
{
    struct grid *some = new_grid(full->metric, full->rounds, full->n);
    if (!some)
        return NULL;
    for (size_t i = 0; i < full->n; i++)
        if (dims_has(&full->row[i]->shown, at->of[0].dim) && dims_agree(&full->row[i]->shown, at))
            some->row[some->n++] = full->row[i];
    find_axes(some);
    return some;
}

void grid_free(struct grid *grid)
{
    if (grid)
        free(grid->row);
    free(grid);
}

static bool all_have(const struct grid *grid, unsigned dim)
{
    for (size_t i = 0; i < grid->n; i++)
        if (!dims_has(&grid->row[i]->dims, dim))
            return false;
    return true;
}

/*
 * Lists the positions at which to split a grid that has no table; returns their number. 0: the grid
 * has a table, is a single row, consists of CPU pairs, or nothing divides it. If the rows differ in
 * their dimensions, the first dimension that all of them have splits the grid. Otherwise the
 * dimension with the fewest values does, for few tables.
 */
static size_t split(const struct grid *grid, struct dims *values)
{
    size_t least = GRID_SPLITS + 1;
    unsigned by = 0;
    bool mixed = false;
    if (grid->n < 2 || grid->fits || grid_is_pair(grid->row[0]))
        return 0;
    const struct dims *first = &grid->row[0]->dims;
    for (unsigned part = 0; part < first->n; part++)
        mixed = mixed || !all_have(grid, first->of[part].dim);
    for (unsigned part = 0; part < first->n; part++) {
        unsigned dim = first->of[part].dim;
        size_t n = all_have(grid, dim) ? list_values(grid, dim, values, GRID_SPLITS) : 0;
        if (n < 2 || n >= least)
            continue;
        by = dim;
        least = mixed ? 0 : n;
    }
    return least <= GRID_SPLITS ? list_values(grid, by, values, GRID_SPLITS) : 0;
}

int grid_visit(struct grid *grid, void (*what)(void *arg, struct grid *grid), void *arg)
{
    struct dims parts[GRID_SPLITS];
    size_t n = split(grid, parts);
    int rc = 0;
    if (n == 0)
        what(arg, grid);
    for (size_t i = 0; i < n && !rc; i++) {
        struct grid *some = grid_select(grid, &parts[i]);
        rc = some ? grid_visit(some, what, arg) : -ENOMEM;
        grid_free(some);
    }
    return rc;
}

static int compare_rows(const void *a, const void *b)
{
    double x = (*(const struct row *const *)a)->median, y = (*(const struct row *const *)b)->median;
    return (x > y) - (x < y);
}

void grid_sort(struct grid *grid)
{
    size_t n = 0;
    for (size_t i = 0; i < grid->n; i++)
        if (!isnan(grid->row[i]->median))
            grid->row[n++] = grid->row[i];
    grid->n = n;
    qsort(grid->row, grid->n, sizeof(const struct row *), compare_rows);
}
