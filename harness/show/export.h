/*
 * Findings as JUnit XML, which CI systems show as tests.
 *
 * Each finding with an outcome is a test case. PASS, SAME and FASTER pass. FAIL and SLOWER are
 * failures whose type is the outcome. ERROR is an error. SKIP, MISSING and UNCLEAR are skipped.
 * JUnit has nothing for WARN: such findings pass, and the suite's system-out has their text.
 *
 * Source: the schema of Ant's JUnit task as Windy Road wrote it down
 * (github.com/windyroad/JUnit-Schema). It has output only for a whole suite. Jenkins, GitLab and
 * others accept a superset of it.
 */
#ifndef CONTEND_SHOW_EXPORT_H
#define CONTEND_SHOW_EXPORT_H

#include <stdio.h>
#include <time.h>

#include "harness/lib/err.h"
#include "harness/lib/finding.h"

/*
 * Prints one suite, "contend.SUITE", with this host and the current time. Tests are named by
 * subject, id and metric; equal names are numbered. -EIO: `out` has a write error.
 */
int junit_print(const char *suite, const struct findings *findings, FILE *out, struct err *err);

/*
 * As junit_print. If `inconclusive` is not NULL, it is the reason why the whole is inconclusive,
 * and an error "verdict" with it follows the findings: readers of JUnit count skipped tests as
 * good. Errors: also -ENOMEM.
 */
int junit_print_verdict(const char *suite, const struct findings *findings,
                        const char *inconclusive, FILE *out, struct err *err);

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
