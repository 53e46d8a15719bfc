/* Findings as GitHub's Markdown: the comment of a pull request, a job's summary. */
#ifndef CONTEND_SHOW_REPORT_MARKDOWN_H
#define CONTEND_SHOW_REPORT_MARKDOWN_H

#include <stdio.h>

#include "harness/contract/finding.h"

/*
 * A list: what is said of the whole first, then of subjects. A finding with an outcome begins with
 * it; commands are blocks to copy.
 */
void markdown_print_findings(const struct findings *findings, FILE *out);

/* One of them, as a line of a list. */
void markdown_print_finding(const struct finding *finding, FILE *out);

/* One of the whole as a paragraph, behind an empty line. */
void markdown_print_sentence(const struct finding *finding, FILE *out);

#endif
