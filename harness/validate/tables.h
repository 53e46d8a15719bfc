/* The result of `contend validate`, and its rules, as blocks for a person to read. */
#ifndef CONTEND_VALIDATE_TABLES_H
#define CONTEND_VALIDATE_TABLES_H

#include "harness/show/doc.h"
#include "harness/validate/json.h"
#include "harness/validate/judge.h"

/*
 * Adds the verdict and the command for the worst finding; a table of findings that failed, could
 * not run or warn, worst first; and, folded, the others. Findings must be sorted (rules_sort).
 */
void validation_add_to_doc(const struct validation *validation, struct doc *doc);

/*
 * The verdict in one line. Where it is FAIL or ERROR, the worst finding, and how many more are as
 * bad: "FAIL: CPUs: 2 of the 1000 that are expected; 1 more". Findings must be sorted.
 */
const char *validation_format_brief(const struct validation *validation);

/* Adds every rule, with a table per kind. */
void validation_add_rules_to_doc(struct doc *doc);

/* A judged fleet as blocks: the verdict, then odd machines, worst first. */

/* Most machines, and most offences per machine, that are listed; the rest is only counted. */
enum { FLEET_LINES = 200, FLEET_OFFENCES = 3 };

void fleet_add_to_doc(const struct fleet_judgement *judgement, struct doc *doc);

/* Adds bounds, made from `machines` machines and written to `path`, and machines left out. */
void bounds_add_to_doc(const struct bounds *bounds, size_t machines, const char *path,
                       struct doc *doc);

#endif
