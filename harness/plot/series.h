/* Lines through the values of scans: points along one part of the keys, a line for each rest. */
#ifndef CONTEND_PLOT_SERIES_H
#define CONTEND_PLOT_SERIES_H

#include "harness/plot/dat.h"
#include "harness/rows/key.h"

struct series_point {
    double x; /* the part of the key that is the axis */
    const struct row *row;
};

struct series {
    const struct arm *arm;
    char key[VALUE_KEY_MAX]; /* without the axis */
    size_t n, capacity;
    struct series_point *points; /* owned, by ascending x */
};

struct series_list {
    size_t n, capacity;
    struct series *series; /* owned, in the order of the rows */
};

/* All rows of `metric` whose key has a number called `axis`. Free also after an error: -ENOMEM. */
int series_make(const struct figure_data *data, const char *metric, const char *axis,
                struct series_list *list, struct err *err);
void series_free(struct series_list *list);

/* The value of another metric, of the same arm, at the same key as this point; NaN = none. */
double series_other(const struct figure_data *data, const struct series *series,
                    const struct series_point *point, const char *metric);

/* Blocks of a .dat file: number and name of the first n lines; x, median, ci_low, ci_high of one.
 */
void series_put_names(const struct figure_data *data, const struct series_list *list, size_t n,
                      FILE *out);
void series_put_points(const struct series *series, FILE *out);

#endif
