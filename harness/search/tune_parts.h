/* What the files of a tune have in common. */
#ifndef CONTEND_SEARCH_TUNE_PARTS_H
#define CONTEND_SEARCH_TUNE_PARTS_H

#include "harness/search/tune.h"

/* Of the time, what the search may take. */
#define TUNE_SEARCH_SHARE 0.6
/* Fresh rounds: their range is an interval from five on (stats.h), and enough is enough. */
enum { TUNE_FRESH_LEAST = 5, TUNE_FRESH_MOST = 15 };

/* Ends the search: its arms rest, and those of the fresh rounds are added. */
int tune_begin_fresh(struct tune *tune, struct result *result, struct err *err);

/* What the arm took in its last round; 0 where it had none. */
double tune_took_s(const struct result *result, size_t arm);

/* What a fresh round takes at least: of `none`, and of one other setting as the search saw them. */
double tune_pair_s(const struct tune *tune, const struct result *result);

/* The time of a tune that has room for enough fresh rounds. */
double tune_time_for_fresh(const struct tune *tune);

#endif
