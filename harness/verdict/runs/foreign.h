/*
 * Results of other benchmarks, as values of two sides, compared by the rule of runs (evidence.h).
 * show/json/foreign_read.h reads them. Pure.
 *
 * A run is one file, or one line of a file of lines. Such files have neither rounds nor an
 * interval: a metric with a single run on a side is UNCLEAR, however large the change is.
 */
#ifndef CONTEND_VERDICT_RUNS_FOREIGN_H
#define CONTEND_VERDICT_RUNS_FOREIGN_H

#include "harness/verdict/comparison.h"

enum { FOREIGN_SIDES = 2 }; /* base, new */

/* Texts are borrowed; they live as long as text of str_fmt. */
struct foreign_value {
    int side;                               /* 0 = base, 1 = new */
    size_t run, order;                      /* of the side; of all values as read */
    const char *node, *arm, *metric, *unit; /* "" = not said */
    const char *better;                     /* "higher", "lower"; "" = unknown: no verdict */
    bool gating;
    double value;       /* counts if it is above 0 and finite */
    const char *reason; /* why the run has no value; "" = none is given */
};

/* Zeroed = empty. */
struct foreign {
    const char *tool; /* "nccl-tests"; NULL = nothing was read */
    size_t n, capacity;
    struct foreign_value *all; /* owned */
    size_t runs[FOREIGN_SIDES];
    const char *node[FOREIGN_SIDES]; /* the first of a side; NULL = none */
    bool by_node;                    /* a side has several: values are paired by node */
};

/* Sorts the values, and appends a comparison for each pair in the order as read. -ENOMEM only. */
int foreign_compare(struct foreign *foreign, double threshold, struct comparisons *comparisons,
                    struct err *err);

/* What a person has to know beside the verdicts: that single values decide nothing, that nodes
 * differ, and that these files do not say what else does. */
void foreign_advise(const struct foreign *foreign, const struct comparisons *comparisons,
                    struct findings *findings);

void foreign_free(struct foreign *foreign);

#endif
