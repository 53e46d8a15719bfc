/*
 * Findings as JUnit XML, which CI systems show as tests.
 *
 * Each finding with an outcome is a test case: PASS, SAME and FASTER pass; FAIL and SLOWER are a
 * failure, of the type that is the outcome; ERROR is an error; SKIP and MISSING are skipped. JUnit
 * has nothing between: WARN and UNCLEAR pass, and stand in the suite's system-out, a line each.
 *
 * Source: the schema of Ant's JUnit task as Windy Road wrote it down
 * (github.com/windyroad/JUnit-Schema), which has output for a whole suite only; what Jenkins,
 * GitLab and others accept contains it.
 */
#ifndef CONTEND_SHOW_REPORT_JUNIT_H
#define CONTEND_SHOW_REPORT_JUNIT_H

#include <stdio.h>

#include "harness/contract/finding.h"
#include "harness/lib/base/err.h"

/*
 * One suite, "contend.SUITE", as of this host and now. Its tests are called by subject, id and
 * metric; equal ones are numbered. -EIO: it could not be written.
 */
int junit_print(const char *suite, const struct findings *findings, FILE *out, struct err *err);

/*
 * With an error "verdict" behind them where the whole is inconclusive, for that reason; NULL = it
 * is not. Readers of JUnit take what is skipped for good. Errors: also -ENOMEM.
 */
int junit_print_verdict(const char *suite, const struct findings *findings,
                        const char *inconclusive, FILE *out, struct err *err);

#endif
