/* The findings of `contend validate` on a terminal, and its rules explained. */
#ifndef CONTEND_VALIDATE_TABLES_VALIDATION_H
#define CONTEND_VALIDATE_TABLES_VALIDATION_H

#include <stdbool.h>
#include <stdio.h>

#include "harness/contract/finding.h"
#include "harness/validate/rules/rules.h"

/*
 * What fails, could not run or warns, worst first, each with its class and action; what does not
 * apply by its reason, what passes by its kind, or with `all` one by one; the last line is the
 * verdict. Sorted findings (rules_sort).
 */
void validation_print(const struct findings *findings, const struct rules_verdict *verdict,
                      bool all, FILE *out, bool color);

/* Every rule: for people, and as a table in Markdown. */
void validation_print_rules(FILE *out);
void validation_print_rules_markdown(FILE *out);

#endif
