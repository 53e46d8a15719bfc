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

/* Marks on the horizontal axis of a line chart, with texts that do not overlap. */
enum { MARKS_MOST = 16, MARK_TEXT = 64 };

/* Sorted by ascending value. Zeroed = empty. */
struct marks {
    size_t n;
    struct mark {
        double value;
        bool solid;
        char text[MARK_TEXT];
        /* For series.c: positions as shares of the plot's width. */
        double at, from, to; /* of the line; of the text */
        bool left;           /* the text ends at the line, else begins there */
        int row;             /* of the text, 0 = lowest; the line reaches up to it */
    } mark[MARKS_MOST];
};

/* Drops the mark if there is no room. */
void marks_add(struct marks *marks, double value, bool solid, const char *text);

/* Adds the marks of data->figure, with the values of `arm`. */
void marks_collect(const struct figure_data *data, const struct arm *arm, struct marks *marks);

/*
 * Writes the block "marks" with the marks between the ends of the axis. `row` of a text is 0 for
 * the lowest row; the text goes to the left or the right of its mark.
 */
void marks_put(const struct marks *marks, bool is_log, const double ends[static 2], FILE *out);

#endif
