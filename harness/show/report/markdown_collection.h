/* Several scenarios as Markdown: the short form of their page, for a pull request. */
#ifndef CONTEND_SHOW_REPORT_MARKDOWN_COLLECTION_H
#define CONTEND_SHOW_REPORT_MARKDOWN_COLLECTION_H

#include <stdio.h>

#include "harness/verdict/odd/collection.h"

/* How they ended, then a table with a line each: what it says, or why there is nothing. */
void markdown_print_collection(const struct collection *collection, const char *path, FILE *out);

#endif
