/*
 * Findings as Prometheus' text format, for node_exporter's textfile collector. The caller writes
 * the file whole: as FILE.prom.tmp, then renamed, since the collector may read at any time.
 *
 *   contend_check{id,subject,metric}                      of each that judged: 0 where it is FAIL,
 *                                                         SLOWER or ERROR, otherwise 1
 *   contend_check_info{id,subject,metric,cause,outcome}   1, of each with an outcome: also of those
 *                                                         that judged nothing (SKIP, UNCLEAR)
 *   contend_value{id,subject,metric,unit}                 of each with a number
 *   contend_bound{id,subject,metric,unit,bound="low"|"high"}  what that number is held against
 *
 * Of several that are alike (same id, subject, metric) the second has repeat="2" and so on: equal
 * series would have the collector refuse the whole file. Alert on contend_check == 0, which stays
 * one series whatever the outcome is; contend_check_info{outcome="WARN"} are the warnings.
 *
 * Source: prometheus.io/docs/instrumenting/exposition_formats, version 0.0.4.
 */
#ifndef CONTEND_SHOW_REPORT_PROMETHEUS_H
#define CONTEND_SHOW_REPORT_PROMETHEUS_H

#include <stdio.h>
#include <time.h>

#include "harness/contract/finding.h"

/*
 * `labels`: of every series, name and value in turns, NULL behind the last; names are
 * [a-zA-Z_][a-zA-Z0-9_]*. NULL = none.
 */
void prometheus_print(const struct findings *findings, const char *const labels[], FILE *out);

/*
 * The whole: contend_verdict, 0 where it is FAIL or ERROR or nothing was judged, otherwise 1, and
 * contend_verdict_timestamp_seconds, when that was: a check that runs no more is as bad as one that
 * fails.
 */
void prometheus_print_verdict(enum finding_outcome outcome, time_t when, const char *const labels[],
                              FILE *out);

#endif
