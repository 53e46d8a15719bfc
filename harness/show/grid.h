/*
 * The values of one metric of a scan as a table: one dimension gives the columns, the other
 * dimensions give the lines. A grid that fits no table is split into smaller grids.
 */
#ifndef CONTEND_SHOW_GRID_H
#define CONTEND_SHOW_GRID_H

#include <stdbool.h>
#include <stddef.h>

#include "harness/record/row.h"

enum {
    GRID_LINES = 12,
    GRID_COLUMNS = 128,
};

/* Some or all rows of one metric of an arm. */
struct grid {
    const struct bench_metric *metric;
    const struct arm_rounds *rounds; /* borrowed: rounds of the arm */
    size_t n;
    const struct row **row; /* owned */
    bool fits;              /* one table holds all rows */
    unsigned column_dim;    /* the dimension of the columns */
    const char *name;       /* of `column_dim` */
    size_t ncolumns, nlines;
    struct dims column[GRID_COLUMNS]; /* position along `column_dim` */
    struct dims line[GRID_LINES];     /* position along the other dimensions */
};

/* All rows of the metric that have a value or are not resolved, without those that `hide_zeros`
 * hides. NULL: out of memory. Free with grid_free. */
struct grid *grid_make(const struct rows *rows, const struct arm *arm,
                       const struct arm_rounds *rounds, const struct bench_metric *metric);

void grid_free(struct grid *grid);

/*
 * The row's median as number_format writes it. "~" follows if the benchmark doubts the value; "<="
 * or ">=" precedes a bound.
 */
const char *grid_format_row(const struct grid *grid, const struct row *row, bool with_unit);

/* grid_format_row without unit for a line and a column; a literal "-", not buf, for none. */
const char *grid_format(const struct grid *grid, size_t line, size_t column);

/* The position of a column as a number, NaN for a label; and as text, with sizes such as "64 KiB".
 * grid_column returns buf. */
double grid_number(const struct grid *grid, size_t column);
const char *grid_column(const struct grid *grid, size_t column);

/* Whether the row is about a pair of CPUs. */
bool grid_is_pair(const struct row *row);

/*
 * Calls `what` with the grid or, if the grid must be split, with each smaller grid. A grid that is
 * neither a table nor divisible is passed whole, with `fits` false. 0 or -ENOMEM.
 */
int grid_visit(struct grid *grid, void (*what)(void *arg, struct grid *grid), void *arg);

/* Sorts its rows by median, ascending, and leaves out those that are not resolved. */
void grid_sort(struct grid *grid);

#endif
