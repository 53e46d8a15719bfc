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

#endif
