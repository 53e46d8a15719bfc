/* Lines through the values of a benchmark: the points of a line differ along one dimension only. */
#ifndef CONTEND_SHOW_FIGURES_SERIES_H
#define CONTEND_SHOW_FIGURES_SERIES_H

#include "harness/record/format.h"
#include "harness/show/figures/dat.h"

struct series_point {
    double x;
    const struct row *row;
};

struct series {
    const struct arm *arm;
    struct dims dims; /* without the dimension of the x axis */
    size_t n, capacity;
    struct series_point *points; /* owned, sorted by that dimension; x: it, or the axis's metric */
    bool drawn;                  /* this and the rest: for the drawing code */
    size_t panel, name;
};

struct series_list {
    size_t n, capacity;
    struct series *series; /* owned, in the order of the rows */
};

/* Takes all rows of the figure's metric that have a value on its horizontal axis. Call series_free
 * after an error, too: -ENODATA, -ENOMEM. */
int series_make(const struct figure_data *data, struct series_list *list, struct err *err);
void series_free(struct series_list *list);

/*
 * Splits the dimensions of a value. `own` gets those that distinguish lines or bars:
 * figure->series, or all if that is empty. `rest` gets the others. Those that figure->only fixes
 * are in neither.
 */
void series_split(const struct bench_figure *figure, const struct dims *at, struct dims *own,
                  struct dims *rest);

#endif
