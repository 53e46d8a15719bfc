/* Findings and comparisons as GitHub's Markdown: the comment of a pull request, a job's summary. */
#ifndef CONTEND_SHOW_REPORT_MARKDOWN_H
#define CONTEND_SHOW_REPORT_MARKDOWN_H

#include <stdio.h>

#include "harness/contract/finding.h"
#include "harness/verdict/pairs/comparison.h"

/*
 * A list: what is said of the whole first, then of subjects. A finding with an outcome begins with
 * it; commands are blocks to copy.
 */
void markdown_print_findings(const struct findings *findings, FILE *out);

/* One of them, as a line of a list. */
void markdown_print_finding(const struct finding *finding, FILE *out);

/* A command as a block to copy, below a line of a list. */
void markdown_print_command(const char *command, FILE *out);

/*
 * The verdict in a sentence, a table of the metrics that gate, the worst first, and folded below it
 * the other metrics and the findings, which may be NULL. The verdict is that of the findings, where
 * one of them judges the whole. GitHub takes comments of 65,536 characters: of a long table the end
 * is left out, and says how much.
 */
void markdown_print_comparisons(const struct comparisons *comparisons,
                                const struct findings *findings, FILE *out);

#endif
