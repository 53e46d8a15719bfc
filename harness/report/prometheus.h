/*
 * Findings as Prometheus' text format, for node_exporter's textfile collector. The caller writes
 * the file whole: as FILE.prom.tmp, then renamed, since the collector may read at any time.
 *
 *   contend_check{id,subject,cause,metric,outcome}        of each with an outcome: 1 where it is
 *                                                         PASS, SAME or FASTER, otherwise 0
 *   contend_value{id,subject,metric,unit}                 of each with a number
 *   contend_bound{id,subject,metric,unit,bound="low"|"high"}  what that number is held against
 *
 * Of several that are alike (same id, subject, metric) the second has repeat="2" and so on: equal
 * series would have the collector refuse the whole file. Alert on outcome=~"FAIL|ERROR|SLOWER".
 *
 * Source: prometheus.io/docs/instrumenting/exposition_formats, version 0.0.4.
 */
#ifndef CONTEND_REPORT_PROMETHEUS_H
#define CONTEND_REPORT_PROMETHEUS_H

#include <stdio.h>

#include "harness/core/finding.h"

/*
 * `labels`: of every series, name and value in turns, NULL behind the last; names are
 * [a-zA-Z_][a-zA-Z0-9_]*. NULL = none.
 */
void prometheus_print(const struct findings *findings, const char *const labels[], FILE *out);

#endif
