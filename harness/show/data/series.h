/* Lines through the values of a benchmark: points along one dimension, a line each rest. */
#ifndef CONTEND_SHOW_DATA_SERIES_H
#define CONTEND_SHOW_DATA_SERIES_H

#include "harness/rows/say.h"
#include "harness/show/data/dat.h"

struct series_point {
    double x;
    const struct row *row;
};

struct series {
    const struct arm *arm;
    struct dims dims; /* without the dimension along the axis */
    size_t n, capacity;
    struct series_point *points; /* owned, by that; x is it, or the axis's metric */
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
 * Takes apart where values stand: `own` is what tells lines, or bars, apart where the figure says
 * so, else all of it, and `rest` what is left. What all that is shown has in common is in neither.
 */
void series_split(const struct bench_figure *figure, const struct dims *at, struct dims *own,
                  struct dims *rest);

#endif
