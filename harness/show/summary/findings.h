/* Findings on a terminal: the one printer of them. */
#ifndef CONTEND_SHOW_SUMMARY_FINDINGS_H
#define CONTEND_SHOW_SUMMARY_FINDINGS_H

#include <stdbool.h>
#include <stdio.h>

#include "harness/contract/finding.h"
#include "harness/plan/placement/plan.h"

/* Before the table: doubts about the whole run, each with an empty line behind it. */
void findings_print_first(const struct findings *findings, FILE *out, bool color);

/*
 * Behind the table. First what else is said of the whole, each behind an empty line, with its
 * command; then, behind one empty line, what is said of a subject: "- SUBJECT: SENTENCE", with ~
 * for a doubt and ! for what is bad. Nothing where there is none.
 */
void findings_print(const struct findings *findings, FILE *out, bool color);

/* What stands above all else: of the whole doubts, the first of the others, and what has a command.
 */
bool findings_leads(const struct findings *findings, size_t i);

/* Those, with an empty line in between; or the rest: without `all` no details, and the first doubts
 * alone, with the number of the others. */
void findings_print_some(const struct findings *findings, bool leading, bool all, FILE *out,
                         bool color);

/* So what is odd about a plan (plan_check). */
int findings_print_plan(const struct topo *topo, const struct plan *plan, FILE *out,
                        struct err *err);

#endif
