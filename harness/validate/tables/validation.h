/* The result of `contend validate`, and its rules, as blocks that a person reads. */
#ifndef CONTEND_VALIDATE_TABLES_VALIDATION_H
#define CONTEND_VALIDATE_TABLES_VALIDATION_H

#include "harness/show/doc/doc.h"
#include "harness/validate/json/validation.h"

/*
 * The verdict and the command for the worst that was found; a table of what failed, could not run
 * or warns, worst first; folded, what passed and what does not apply. Sorted findings (rules_sort).
 */
void validation_add_to_doc(const struct validation *validation, struct doc *doc);

/* Every rule, a table for each kind. */
void validation_add_rules_to_doc(struct doc *doc);

#endif
