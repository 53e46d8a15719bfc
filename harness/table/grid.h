/*
 * The values of one metric of a scan as a table: one part of their keys along the columns, the rest
 * down the lines. Families whose keys fit no table fall into smaller ones.
 */
#ifndef CONTEND_TABLE_GRID_H
#define CONTEND_TABLE_GRID_H

#include <stdbool.h>
#include <stddef.h>

#include "harness/rows/key.h"

enum { FAMILY_LINES = 12, FAMILY_COLUMNS = 128 };

/* Some or all rows of one metric of an arm. */
struct family {
    const struct bench_metric *metric;
    size_t n;
    const struct row **row;     /* owned */
    char across[VALUE_KEY_MAX]; /* the part of the keys along the columns; "" = no table fits */
    size_t ncolumns, nlines;
    char column[FAMILY_COLUMNS][VALUE_KEY_MAX]; /* values of that part */
    char line[FAMILY_LINES][VALUE_KEY_MAX];     /* the rest of the keys */
};

/* All rows of the metric; NULL: out of memory. */
struct family *family_make(const struct rows *rows, const struct arm *arm,
                           const struct bench_metric *metric);

/* Those whose keys have that value; NULL: out of memory. */
struct family *family_take(const struct family *whole, const char *part, const char *value);

void family_free(struct family *family);

/* The value at a line and a column; NaN where there is none. */
double family_value(const struct family *family, size_t line, size_t column);

/* Of two CPUs: keys "a=..;b=..". */
bool family_is_pair(const struct row *row);

/* The part to split a family without a table by; false where it has one, or needs none. */
bool family_find_split(const struct family *family, char part[static VALUE_KEY_MAX]);

/* The i-th value of a part, in the order of the rows; false behind the last. */
bool family_split_value(const struct family *family, const char *part, size_t i,
                        char value[static VALUE_KEY_MAX]);

#endif
