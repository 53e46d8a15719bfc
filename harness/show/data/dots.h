/*
 * Figures of dots, as plots/dot_chart.gp reads them: panels, in each lines from the top to the
 * bottom, and on each line dots.
 *
 *   struct dots dots = {0};
 *   unsigned panel = dots_add_panel(&dots, &(struct dots_panel){"rate (TFLOP/s)"});
 *   size_t line = dots_add_line(&dots, panel, "fp64");
 *   dots_add(&dots, line, &(struct dot){.at = 61, .low = 60, .high = 62});  again and again
 *   dots_put(&dots, out), dots_free(&dots);
 */
#ifndef CONTEND_SHOW_DATA_DOTS_H
#define CONTEND_SHOW_DATA_DOTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

enum { DOTS_PANELS = 8, DOTS_KEY = 20, DOTS_NAME = 40, DOTS_TEXT = 96 };

struct dots_panel {
    const char *label;        /* of its axis, with the unit; borrowed */
    bool log;                 /* the scale, else it begins at 0 */
    double mark;              /* the axis holds it, and it is drawn as a line; 0 = none */
    char right[2][DOTS_NAME]; /* what the texts at the right are; "": they say it themselves */
    unsigned nlines;          /* from here on for dots.c */
    double low, high;
};

enum dot_mark {
    DOT_CIRCLE,
    DOT_DIAMOND,
    DOT_ROUND,  /* of a single round, small */
    DOT_MEDIAN, /* with its interval */
    DOT_MARKS
};

struct dot {
    size_t line;
    double at, low, high; /* the interval; NaN = none */
    double above;         /* the middle of its line, at most 0.5 of the way to the next one */
    unsigned colour;      /* of dots.ncolours */
    enum dot_mark mark;
};

/* Zeroed = empty. */
struct dots {
    unsigned npanels;
    struct dots_panel panels[DOTS_PANELS];
    size_t nlines, lines_capacity, nkeys;
    struct dots_line {
        unsigned panel, place; /* place: from the top, 0 first */
        char label[DOTS_NAME];
        char text[2][DOTS_TEXT]; /* at its right, one below the other; or why it has no dots */
        bool absent;             /* the first text is that */
        double least[DOT_MARKS], most[DOT_MARKS]; /* of its dots; least > most: of none */
    } * lines;                                    /* owned */
    unsigned ncolours;
    struct dots_key {
        int colour; /* -1 = white */
        enum dot_mark mark;
        char text[DOTS_TEXT];
    } keys[DOTS_KEY];
    size_t n, capacity;
    struct dot *dot; /* owned */
};

/* Returns its number; DOTS_PANELS: no room. */
unsigned dots_add_panel(struct dots *dots, const struct dots_panel *panel);

/* Returns its number; SIZE_MAX: out of memory. */
size_t dots_add_line(struct dots *dots, unsigned panel, const char *label);

/* Left out where there is no room. */
void dots_add_key(struct dots *dots, int colour, enum dot_mark mark, const char *text);

/* False: out of memory. */
bool dots_add(struct dots *dots, const struct dot *dot);

/* Columns of the heading, and what stands in them with all other blocks. */
#define DOTS_COLUMNS "panels colours keys name_length text_length has_two"
void dots_put(struct dots *dots, FILE *out);
void dots_free(struct dots *dots);

/* 0.0037, 5.80, 61.3, 4270: never with an exponent. Returns buf. */
char *dots_format(double value, char *buf, size_t size);

#endif
