/*
 * Whether a figure moves over the runs of one machine.
 *
 * The trend is the median of the slopes of all pairs of runs (Theil 1950, Sen 1968) of the
 * logarithms, which more than a quarter of the runs may be off without moving; what it makes of the
 * first run until the last one is the change. Its spread is that of a least-squares slope of
 * independent values, and their spread, from run to run, comes from all machines with two runs or
 * more: differences of neighbours in time, which drift itself hardly changes. Where fewer than
 * DRIFT_PAIRS of such differences are there, it is the prior of 4.2%. Pure.
 */
#ifndef CONTEND_VALIDATE_FLEET_DRIFT_H
#define CONTEND_VALIDATE_FLEET_DRIFT_H

#include "harness/validate/fleet/fleet.h"

#define DRIFT_PRIOR 0.042
enum { DRIFT_RUNS = 4, DRIFT_RUNS_MOST = 64, DRIFT_PAIRS = 30 };

/* Change of the logarithm from the first run to the last one; n >= 2, at most DRIFT_RUNS_MOST. */
double drift_change(const double *logarithms, size_t n);

/* Standard deviation of that change, where that of a run is 1. */
double drift_spread(size_t n);

/* From run to run, of one figure of the fleet; `scratch` has room for all of its values. */
double drift_noise(const struct fleet *fleet, uint32_t metric, double *scratch);

#endif
