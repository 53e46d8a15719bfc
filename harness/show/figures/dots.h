/*
 * Figures of dots, in the .dat form that plots/dot_chart.gp reads: panels with lines from top to
 * bottom, and dots on each line.
 *
 *   struct dots dots = {0};
 *   unsigned panel = dots_add_panel(&dots, &(struct dots_panel){"rate (TFLOP/s)"});
 *   size_t line = dots_add_line(&dots, panel, "fp64");
 *   dots_add(&dots, line, &(struct dot){.at = 61, .low = 60, .high = 62});  for each dot
 *   dots_put(&dots, out), dots_free(&dots);
 */
#ifndef CONTEND_SHOW_FIGURES_DOTS_H
#define CONTEND_SHOW_FIGURES_DOTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

enum { DOTS_PANELS = 8, DOTS_KEY = 20, DOTS_NAME = 40, DOTS_TEXT = 96 };

struct dots_panel {
    const char *label;    /* of the axis, with the unit; borrowed */
    bool log;             /* logarithmic scale, else linear from 0 */
    double mark;          /* a line is drawn here, within the axis; 0 = none */
    const char *right[2]; /* headings of the texts at the right; NULL = none */
    unsigned nlines;      /* this and the rest: filled by dots.c */
    double low, high;
};

enum dot_mark {
    DOT_CIRCLE,
    DOT_DIAMOND,
    DOT_ROUND,  /* one round, small */
    DOT_MEDIAN, /* a median with its interval */
    DOT_MARKS
};

struct dot {
    size_t line;
    double at, low, high; /* the interval; NaN = none */
    double above;         /* offset upward from the line's middle, at most 0.5 line heights */
    unsigned colour;      /* of dots.ncolours */
    enum dot_mark mark;
};

/* Zeroed = empty. */
struct dots {
    unsigned npanels;
    struct dots_panel panels[DOTS_PANELS];
    size_t nlines, lines_capacity, nkeys;
    struct dots_line {
        unsigned panel, place;       /* place: 0 = the top line */
        const char *label, *text[2]; /* borrowed; text: at the right, one above the other */
        bool absent;                 /* text[0] says why the line has no dots */
        double least[DOT_MARKS], most[DOT_MARKS]; /* of its dots, by mark; least > most: none */
    } * lines;                                    /* owned */
    unsigned ncolours;
    struct dots_key {
        int colour; /* -1 = white */
        enum dot_mark mark;
        const char *text; /* borrowed */
    } keys[DOTS_KEY];
    size_t n, capacity;
    struct dot *dot; /* owned */
};

/* Returns the number of the panel; DOTS_PANELS: no room. */
unsigned dots_add_panel(struct dots *dots, const struct dots_panel *panel);

/* Returns the number of the line; SIZE_MAX: out of memory. */
size_t dots_add_line(struct dots *dots, unsigned panel, const char *label);

/* Drops the key if there is no room. */
void dots_add_key(struct dots *dots, int colour, enum dot_mark mark, const char *text);

/* False: out of memory. */
bool dots_add(struct dots *dots, const struct dot *dot);

/* Columns of the heading. dots_put writes their values and all further blocks. */
#define DOTS_COLUMNS "panels colours keys name_length text_length has_two"
void dots_put(struct dots *dots, FILE *out);
void dots_free(struct dots *dots);

/* "0.0037", "5.80", "61.3", "4270": never with an exponent. */
const char *dots_format(double value);

#endif
