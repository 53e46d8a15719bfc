/*
 * The values of one metric of a scan as a table: one dimension along the columns, the rest down the
 * lines. Those that fit no table fall into smaller ones.
 */
#ifndef CONTEND_ROWS_GRID_H
#define CONTEND_ROWS_GRID_H

#include <stdbool.h>
#include <stddef.h>

#include "harness/rows/row.h"

enum {
    GRID_LINES = 12,
    GRID_COLUMNS = 128,
};

/* Some or all rows of one metric of an arm. */
struct grid {
    const struct bench_metric *metric;
    const struct arm_rounds *rounds; /* borrowed: of its arm */
    size_t n;
    const struct row **row; /* owned */
    bool fits;              /* one table has all of them */
    unsigned across;        /* the dimension along its columns */
    const char *name;       /* of that */
    size_t ncolumns, nlines;
    struct dims column[GRID_COLUMNS]; /* where they stand along it */
    struct dims line[GRID_LINES];     /* the rest */
};

/* All rows of the metric; NULL: out of memory. */
struct grid *grid_make(const struct rows *rows, const struct arm *arm,
                       const struct arm_rounds *rounds, const struct bench_metric *metric);

void grid_free(struct grid *grid);

/*
 * The row's value as number_format writes it, with "~" behind it where its benchmark doubts it, or
 * "<=" or ">=" in front where it is a bound. Returns buf.
 */
char *grid_say(const struct grid *grid, const struct row *row, bool with_unit, char *buf,
               size_t size);

/* NULL: none is there. */
const struct row *grid_at(const struct grid *grid, size_t line, size_t column);

/* The same of the value at a line and a column; "-" where there is none. */
const char *grid_format(const struct grid *grid, size_t line, size_t column, char *buf,
                        size_t size);

/* Where a column stands, NaN of a label; and as text, a size as people write it. Returns buf. */
double grid_number(const struct grid *grid, size_t column);
const char *grid_column(const struct grid *grid, size_t column, char *buf, size_t size);

/* Whether the row is that of two CPUs. */
bool grid_is_pair(const struct row *row);

/*
 * Calls `what` with the grid, or where it makes no table with the smaller ones that it falls into.
 * 0 or -ENOMEM.
 */
int grid_visit(struct grid *grid, void (*what)(void *arg, struct grid *grid), void *arg);

/* Its rows by their medians, ascending. */
void grid_sort(struct grid *grid);

#endif
