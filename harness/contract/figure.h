/*
 * Figures of a benchmark's values, as data: harness/show/figures/ writes and draws them. A figure
 * shows one metric, over one or two of the dimensions of its values. Lines and bars stand on a
 * value axis; of a heat map the colours are the values, and both axes dimensions. Dots show several
 * metrics, a panel each, of units that should be alike, such as GPUs.
 */
#ifndef CONTEND_CONTRACT_FIGURE_H
#define CONTEND_CONTRACT_FIGURE_H

#include <stdbool.h>

#include "harness/contract/dims.h"

enum figure_kind { FIGURE_LINES, FIGURE_BARS, FIGURE_HEAT, FIGURE_DOTS };

/* The unit that an axis counts, printed at each of its ticks: "10 kB/s", "1 us". In a heat map it
 * is that of the y axis, and stands in the cells. */
enum figure_ticks {
    FIGURE_TICKS_NUMBERS,
    FIGURE_TICKS_GBPS,
    FIGURE_TICKS_US,
    FIGURE_TICKS_BYTES,
};

/* Limits names, which are those of files, and what tells lines or bars apart. */
enum { FIGURE_NAME_MAX = 48, FIGURE_SERIES = 3 };

struct figure_axis {
    const char *label; /* with the unit: "latency of a load (ns)" */
    unsigned dim;      /* 0 on the value axis of lines and bars */
    /* The rest is of lines. */
    const char *metric;      /* or NULL: points stand where this metric is, and follow each other by
                                dimension */
    bool log;                /* the scale, else linear */
    bool bytes;              /* "64 KiB" for 65536 */
    double from;             /* a linear scale holds it; drawn as a line where it is not 0 */
    enum figure_ticks ticks; /* of an axis with a log scale */
};

/* Values of another metric that are marked on the horizontal axis of lines: "reported L1 48 KiB".
 */
struct figure_mark {
    const char *metric; /* NULL ends the table */
    const char *text;
    unsigned dim;       /* the text goes on with where it stands along this; 0 = does not */
    const char *before; /* and with this in front of that, "L" */
    bool solid;         /* the line, else it is dotted */
};

/*
 * A panel of dots: a line for each place along the dimensions `lines`, and on it a dot for each
 * unit.
 */
struct figure_panel {
    const char *metric; /* NULL ends the table */
    const char *label;  /* of its axis, with the unit */
    unsigned lines[FIGURE_SERIES];
    const struct dims *only; /* as that of the figure */
    bool log;
};

struct bench_figure {
    const char *name; /* [a-z0-9_]+, no other benchmark's; NULL ends the table */
    enum figure_kind kind;
    const char *metric;
    const struct dims *only; /* left out is what stands elsewhere along these; or NULL */
    const char *title;       /* what it shows */
    const char *how;         /* how that was measured; of lines NULL: over which transport */
    const char *note;        /* for the footnote, or NULL */
    struct figure_axis x, y;

    /*
     * For lines and bars: the dimensions that distinguish lines, or the bars of one place. The
     * others are the panel of a line. None: all of them do, in one panel.
     */
    unsigned series[FIGURE_SERIES];

    /*
     * For lines: marks on the horizontal axis, or NULL; and, on linear axes, a cross on each line
     * at a metric.
     */
    const struct figure_mark *marks;
    bool steps; /* a value is of all x from the point before it on: a histogram */
    struct {
        const char *metric; /* where on the horizontal axis, at the line's place; NULL = none */
        const char *text;
        double rise; /* it is about so many times as high as the line's first value */
    } cross;

    /* For heat maps. */
    const char *colours; /* label of the colours, with the unit */
    bool symmetric;      /* a value stands for either order of its pair */
    bool apart;          /* the axes are of different things, else both have all members */
    unsigned split;   /* a dimension whose first `nsplits` labels have lines of their own; or 0 */
    unsigned nsplits; /* of dots two, which have marks of their own */
    double range[2];  /* the colours reach at least from, and to; 0, 0 = the values' own */
    int digits;       /* behind the point of a number in a cell */

    /* For dots: x.dim distinguishes units, and x.label is the name of one. */
    const struct figure_panel *panels; /* up to eight; those without a value are left out */
};

#endif
