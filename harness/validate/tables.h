/* The result of `contend validate`, and its rules, as blocks for a person to read. */
#ifndef CONTEND_VALIDATE_TABLES_H
#define CONTEND_VALIDATE_TABLES_H

#include "harness/show/doc.h"
#include "harness/validate/json.h"

/*
 * Adds the verdict and the command for the worst finding; a table of findings that failed, could
 * not run or warn, worst first; and, folded, the others. Findings must be sorted (rules_sort).
 */
void validation_add_to_doc(const struct validation *validation, struct doc *doc);

/* certificate.c: what a terminal shows only with all details, and a page always. */
void certificate_add_machine(const struct validation *validation, struct doc *doc);
void certificate_add_numbers(const struct findings *numbers, struct doc *doc);
void certificate_add_measured(const struct facts *facts, struct doc *doc);

/* Adds every rule, with a table per kind. */
void validation_add_rules_to_doc(struct doc *doc);

#endif
