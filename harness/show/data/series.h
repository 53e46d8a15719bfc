/* Lines through the values of a benchmark: points along one part of the keys, a line each rest. */
#ifndef CONTEND_SHOW_DATA_SERIES_H
#define CONTEND_SHOW_DATA_SERIES_H

#include "harness/rows/key.h"
#include "harness/show/data/dat.h"

struct series_point {
    double x;
    const struct row *row;
};

struct series {
    const struct arm *arm;
    char key[VALUE_KEY_MAX]; /* without the part along the axis */
    size_t n, capacity;
    struct series_point *points; /* owned, by that part; x is it, or the axis's metric */
    bool drawn;                  /* the rest is for who draws */
    size_t panel, name;
};

struct series_list {
    size_t n, capacity;
    struct series *series; /* owned, in the order of the rows */
};

/* All rows of the figure's metric that stand on its horizontal axis. Free also after an error:
 * -ENODATA, -ENOMEM. */
int series_make(const struct figure_data *data, struct series_list *list, struct err *err);
void series_free(struct series_list *list);

/*
 * Takes a key apart: `own` is what tells lines, or bars, apart where the figure says so, else all
 * of it, and `rest` what is left.
 */
void series_split(const struct bench_figure *figure, const char *key,
                  char own[static VALUE_KEY_MAX], char rest[static VALUE_KEY_MAX]);

#endif
