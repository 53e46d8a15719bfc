/* What the machine explains of a figure's history: by how much its canaries moved meanwhile. */
#ifndef CONTEND_VERDICT_RUNS_HISTORY_MOVED_H
#define CONTEND_VERDICT_RUNS_HISTORY_MOVED_H

#include "harness/verdict/runs/history.h"

/*
 * The first canary that moved over the same runs, in the same direction and by enough to explain
 * it; *ratio: by how much. NULL: none did. How a canary is described, by steps or as a drift, does
 * not matter: its runs are asked.
 */
const struct history_series *history_moved_at(const struct history *history,
                                              const struct history_series *series,
                                              const struct change *change, double *ratio);
/* Of the series' drift: the first third of its runs against the last. */
const struct history_series *history_moved_along(const struct history *history,
                                                 const struct history_series *series,
                                                 double *ratio);

/* By how much it became worse, as a logarithm: below 0, better. */
double history_worsening(const struct history_series *series, double ratio);

#endif
