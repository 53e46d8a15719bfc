/*
 * Differences that are none, whatever share of the figure they are. Pure.
 */
#ifndef CONTEND_VERDICT_PAIRS_FLOOR_H
#define CONTEND_VERDICT_PAIRS_FLOOR_H

#include "harness/contract/bench.h"

/*
 * In the metric's unit: of times what the clock and its calls cost (METHOD 5), and for a metric
 * that says so the difference that is none between equal units (`least` of struct bench_metric).
 */
double floor_of(const struct bench *bench, const char *metric, const char *unit);

#endif
