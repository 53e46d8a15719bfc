/* A result of any kind, as read back from its directory. */
#ifndef CONTEND_SHOW_RESULT_H
#define CONTEND_SHOW_RESULT_H

#include "harness/show/doc.h"
#include "harness/show/json/recorded.h"

/* Adds the title and the tables; for an ab those of its variants. */
void result_add_tables(const struct recorded *recorded, struct doc *doc);

/* Adds the verdict and its command, the tables (for an ab the comparisons), and other findings. */
void result_add_to_doc(const struct recorded *recorded, struct doc *doc);

/* Adds the path of the result, and the version that measured it. */
void result_add_source(const struct recorded *recorded, const char *path, struct doc *doc);

/* Prints everything as GitHub's Markdown. */
void result_print_markdown(const struct recorded *recorded, const char *path, FILE *out);

#endif
