/* Findings with every outcome and hostile text, for the tests of those who print them. */
#ifndef CONTEND_TESTS_LIB_FIXTURE_FINDINGS_H
#define CONTEND_TESTS_LIB_FIXTURE_FINDINGS_H

#include <stdio.h>

#include "harness/contract/finding.h"

/* Text that closes what encloses it, in each form: quotes, ends of sections, bytes that are no
 * text. */
extern const char fixture_hostile[];

/* A check of that id and outcome with all fields filled, and a value of 2.5 GB/s with a low of 3.
 */
struct finding fixture_check(const char *id, enum finding_outcome outcome);

/* A check of each outcome, OUTCOME_NONE first, of the outcome's name. Free with findings_free. */
struct findings fixture_all_outcomes(void);

/* The text that `print` writes; free it. */
char *fixture_printed(void (*print)(const struct findings *findings, FILE *out),
                      const struct findings *findings);

#endif
