/* Findings with every outcome and with hostile text, for tests of code that prints findings. */
#ifndef CONTEND_TESTS_LIB_FIXTURE_FINDINGS_H
#define CONTEND_TESTS_LIB_FIXTURE_FINDINGS_H

#include <stdio.h>

#include "harness/lib/finding.h"

/* Text that would end its enclosing construct in each output format: quotes, ends of sections,
 * bytes that are not UTF-8. */
extern const char fixture_hostile[];

/* A check of that id and outcome with all fields set, a value of 2.5 GB/s and a low of 3. */
struct finding fixture_check(const char *id, enum finding_outcome outcome);

/* One check for each outcome, OUTCOME_NONE first; its id is the outcome's name. Free with
 * findings_free. */
struct findings fixture_all_outcomes(void);

/* The first finding of that id; NULL if there is none. */
const struct finding *fixture_finding(const struct findings *findings, const char *id);

/* The text that `print` writes. The caller frees it. */
char *fixture_printed(void (*print)(const struct findings *findings, FILE *out),
                      const struct findings *findings);

#endif
