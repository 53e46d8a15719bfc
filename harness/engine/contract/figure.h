/*
 * Figures of a benchmark's values, as data: harness/show/figures/ writes and draws them. A figure
 * shows one metric over one or two dimensions of its values. Lines and bars have a value axis. A
 * heat map shows values as colours; both its axes are dimensions. Dots show several metrics, one
 * per panel, of units that should be alike, such as GPUs.
 */
#ifndef CONTEND_ENGINE_CONTRACT_FIGURE_H
#define CONTEND_ENGINE_CONTRACT_FIGURE_H

#include <stdbool.h>

#include "harness/engine/contract/dims.h"

enum figure_kind { FIGURE_LINES, FIGURE_BARS, FIGURE_HEAT, FIGURE_DOTS };

/* Unit printed at each tick of an axis: "10 kB/s", "1 us". In a heat map the unit of the y axis
 * applies to the cells. */
enum figure_ticks {
    FIGURE_TICKS_NUMBERS,
    FIGURE_TICKS_GBPS,
    FIGURE_TICKS_US,
    FIGURE_TICKS_BYTES,
};

/* Longest name (also a file name); most dimensions that distinguish lines or bars. */
enum { FIGURE_NAME_MAX = 48, FIGURE_SERIES = 3 };

struct figure_axis {
    const char *label; /* with the unit: "latency of a load (ns)" */
    unsigned dim;      /* 0 on the value axis of lines and bars */
    /* The fields below are for lines. */
    const char *metric;      /* points stand at this metric's values, joined in order of `dim`;
                                NULL: they stand at their `dim` */
    bool log;                /* log scale; false = linear */
    bool bytes;              /* "64 KiB" for 65536 */
    double from;             /* a linear scale includes it; also drawn as a line unless 0 */
    enum figure_ticks ticks; /* of an axis with a log scale */
};

/* Values of another metric, marked on the horizontal axis of lines: "reported L1 48 KiB". */
struct figure_mark {
    const char *metric; /* NULL ends the table */
    const char *text;
    unsigned dim;       /* the text continues with the value's position along this; 0 = does not */
    const char *before; /* precedes that position, "L" */
    bool solid;         /* solid line; false = dotted */
};

/* A panel of dots: a line for each point of the dimensions `lines`, a dot on it for each unit. */
struct figure_panel {
    const char *metric; /* NULL ends the table */
    const char *label;  /* of its axis, with the unit */
    unsigned lines[FIGURE_SERIES];
    const struct dims *only; /* as in struct bench_figure */
    bool log;
};

struct bench_figure {
    const char *name; /* [a-z0-9_]+, unique over all benchmarks; NULL ends the table */
    enum figure_kind kind;
    const char *metric;
    const struct dims *only; /* shows only the values at this point of these dimensions; or NULL */
    const char *title;       /* what it shows */
    const char *how;         /* how it was measured; NULL for lines: names the transport */
    const char *note;        /* for the footnote, or NULL */
    struct figure_axis x, y;

    /*
     * For lines and bars: the dimensions that distinguish the lines of a panel, or the bars of a
     * group. The remaining dimensions select the panel. If empty, all dimensions distinguish lines,
     * in one panel.
     */
    unsigned series[FIGURE_SERIES];

    /* For lines: marks on the horizontal axis, or NULL; on linear axes, a cross on each line. */
    const struct figure_mark *marks;
    bool steps; /* a histogram: a value covers all x since the point before */
    struct {
        const char *metric; /* its value at the line's dimensions is the cross's x; NULL = none */
        const char *text;
        double rise; /* expected height, relative to the line's first value */
    } cross;

    /* For heat maps. */
    const char *colours; /* label of the colours, with the unit */
    bool symmetric;      /* a value holds for both orders of its pair */
    bool separate_axes;  /* the axes list different members; false: both list the members of both */
    unsigned split;      /* each of the first `nsplits` labels of this dimension has its own lines;
                            0 = none */
    unsigned nsplits;    /* for dots: 2, each with its own mark */
    double range[2];     /* the colours cover at least this range; 0, 0 = that of the values */
    int digits;          /* decimals of a number in a cell */

    /* For dots: x.dim distinguishes units, x.label names a unit. */
    const struct figure_panel *panels; /* up to eight; panels without a value are left out */
};

#endif
