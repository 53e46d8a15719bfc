/* A result as Markdown: the short form of its report, for a pull request. */
#ifndef CONTEND_SHOW_REPORT_MARKDOWN_RESULT_H
#define CONTEND_SHOW_REPORT_MARKDOWN_RESULT_H

#include <stdio.h>

#include "harness/store/read/recorded.h"

/* What it comes to, a table of the placements, and folded below it findings and provenance. */
void markdown_print_result(const struct recorded *recorded, const char *path, FILE *out);

#endif
