/*
 * Findings as Prometheus' text format, for node_exporter's textfile collector. The collector may
 * read at any time, so the caller writes FILE.prom.tmp and then renames it.
 *
 *   contend_check{id,subject,metric}                      of each check that judged: 0 for FAIL,
 *                                                         SLOWER and ERROR, otherwise 1
 *   contend_check_info{id,subject,metric,cause,outcome}   1, of each check with an outcome, also
 *                                                         if it judged nothing (SKIP, UNCLEAR)
 *   contend_value{id,subject,metric,unit}                 of each check with a number
 *   contend_bound{id,subject,metric,unit,bound="low"|"high"}  the bounds of that number
 *
 * If several checks have the same id, subject and metric, the second has repeat="2" and so on: the
 * collector refuses a file with two equal series. Alert on contend_check == 0, which stays one
 * series for every outcome; contend_check_info{outcome="WARN"} are the warnings.
 *
 * Source: prometheus.io/docs/instrumenting/exposition_formats, version 0.0.4.
 */
#ifndef CONTEND_SHOW_PROMETHEUS_H
#define CONTEND_SHOW_PROMETHEUS_H

#include <stdio.h>
#include <time.h>

#include "harness/lib/finding.h"

/*
 * `labels` are added to every series: names and values in turn, NULL after the last. Names match
 * [a-zA-Z_][a-zA-Z0-9_]*. NULL = none.
 */
void prometheus_print(const struct findings *findings, const char *const labels[], FILE *out);

/*
 * Prints the verdict of all checks: contend_verdict is 0 for FAIL, for ERROR and if nothing was
 * judged, otherwise 1. contend_verdict_timestamp_seconds is its time, so that an alert can catch a
 * check that no longer runs.
 */
void prometheus_print_verdict(enum finding_outcome outcome, time_t when, const char *const labels[],
                              FILE *out);

#endif
