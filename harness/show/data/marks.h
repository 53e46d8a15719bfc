/* Marks on the horizontal axis of lines: where, what they say, and where there is room for that. */
#ifndef CONTEND_SHOW_DATA_MARKS_H
#define CONTEND_SHOW_DATA_MARKS_H

#include "harness/show/data/dat.h"

enum { MARKS_MOST = 16, MARK_TEXT = 64 };

/* By ascending value. Zeroed = empty. */
struct marks {
    size_t n;
    struct mark {
        double value;
        bool solid;
        char text[MARK_TEXT];
        /* Where it stands, in shares of the plot's width; for marks.c. */
        double at, from, to; /* the line; its text */
        bool left;           /* the text ends at the line, else it begins there */
        int row;             /* of the text, from 0: the line reaches up to it */
    } mark[MARKS_MOST];
};

/* Left out where there is no room. */
void marks_add(struct marks *marks, double value, bool solid, const char *text);

/* Adds those of data->figure. */
void marks_collect(const struct figure_data *data, const struct arm *arm, struct marks *marks);

/*
 * Writes the block of those that lie between the ends of the axis: `row` of the text is 0 the
 * lowest, and it goes to the left of its mark or to the right.
 */
void marks_put(const struct marks *marks, bool is_log, const double ends[static 2], FILE *out);

#endif
