/* Marks on the horizontal axis of a line chart, with texts that do not overlap. */
#ifndef CONTEND_SHOW_FIGURES_MARKS_H
#define CONTEND_SHOW_FIGURES_MARKS_H

#include "harness/show/figures/dat.h"

enum { MARKS_MOST = 16, MARK_TEXT = 64 };

/* Sorted by ascending value. Zeroed = empty. */
struct marks {
    size_t n;
    struct mark {
        double value;
        bool solid;
        char text[MARK_TEXT];
        /* For marks.c: positions as shares of the plot's width. */
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
