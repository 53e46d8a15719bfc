/*
 * The values of one metric of a scan as a table: one part of their keys along the columns, the rest
 * down the lines. Those whose keys fit no table fall into smaller ones.
 */
#ifndef CONTEND_ROWS_GRID_H
#define CONTEND_ROWS_GRID_H

#include <stdbool.h>
#include <stddef.h>

#include "harness/rows/key.h"

enum {
    GRID_LINES = 12,
    GRID_COLUMNS = 128,
    GRID_SPLITS = 8 /* smaller tables that one falls into */
};

/* Some or all rows of one metric of an arm. */
struct grid {
    const struct bench_metric *metric;
    const struct arm_rounds *rounds; /* borrowed: of its arm */
    size_t n;
    const struct row **row;     /* owned */
    char across[VALUE_KEY_MAX]; /* the part of the keys along the columns; "" = no table fits */
    size_t ncolumns, nlines;
    char column[GRID_COLUMNS][VALUE_KEY_MAX]; /* values of that part */
    char line[GRID_LINES][VALUE_KEY_MAX];     /* the rest of the keys */
};

/* All rows of the metric; NULL: out of memory. */
struct grid *grid_make(const struct rows *rows, const struct arm *arm,
                       const struct arm_rounds *rounds, const struct bench_metric *metric);

/* Those whose keys have that value; NULL: out of memory. */
struct grid *grid_take(const struct grid *whole, const char *part, const char *value);

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

/* Of two CPUs: keys "a=..;b=..". */
bool grid_is_pair(const struct row *row);

/* The values of a part of the keys, in the order of the rows; GRID_SPLITS + 1: too many. */
size_t grid_values(const struct grid *grid, const char *part, char (*values)[VALUE_KEY_MAX]);

/*
 * The part to split a grid without a table by, and its values, of which there are as many; 0 where
 * it has a table, needs none, or is best told as a whole.
 */
size_t grid_split(const struct grid *grid, char part[static VALUE_KEY_MAX],
                  char (*values)[VALUE_KEY_MAX]);

#endif
