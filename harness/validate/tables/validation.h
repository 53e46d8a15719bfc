/* The result of `contend validate`, and its rules, as blocks for a person to read. */
#ifndef CONTEND_VALIDATE_TABLES_VALIDATION_H
#define CONTEND_VALIDATE_TABLES_VALIDATION_H

#include "harness/show/doc/doc.h"
#include "harness/validate/json/validation.h"

/*
 * Adds the verdict and the command for the worst finding; a table of findings that failed, could
 * not run or warn, worst first; and, folded, the others. Findings must be sorted (rules_sort).
 */
void validation_add_to_doc(const struct validation *validation, struct doc *doc);

/* Adds every rule, with a table per kind. */
void validation_add_rules_to_doc(struct doc *doc);

#endif
