/* The settings of a tune as tables and JSON show them, live or read back: what is on record of the
 * arms is enough. Pure apart from allocation. */
#ifndef CONTEND_VERDICT_SEARCH_TUNE_LINES_H
#define CONTEND_VERDICT_SEARCH_TUNE_LINES_H

#include <stdbool.h>
#include <stddef.h>

#include "harness/rows/analysis.h"

struct tune_line {
    size_t arm;
    const char *name; /* of the setting */
    bool fresh;
    double rate; /* median of its rounds; NaN = it has none */
    /* Throughput, paired by round: of the search a share of the leader's, of fresh rounds relative
     * to none. */
    struct paired_ratio against;
    bool is_reference; /* that is what the others are held against */
    bool recommended;  /* verdict/advice/recommend.h */
};

struct tune_lines {
    size_t n;
    struct tune_line *all; /* owned; those of the search first, then the fresh; the best last */
};

/* Free with tune_lines_free, also after an error: -ENOMEM only. */
int tune_lines_make(const struct analysis *analysis, struct tune_lines *lines, struct err *err);
void tune_lines_free(struct tune_lines *lines);

#endif
