/* A result that was read back, of whatever kind. */
#ifndef CONTEND_SHOW_RESULT_RESULT_H
#define CONTEND_SHOW_RESULT_RESULT_H

#include "harness/show/doc/doc.h"
#include "harness/store/read/recorded.h"

/* Title and tables; of an ab those of its variants. */
void result_add_tables(const struct recorded *recorded, struct doc *doc);

/* The verdict and what applies it, then the tables, of an ab its comparisons, then findings. */
void result_add_to_doc(const struct recorded *recorded, struct doc *doc);

/* Where it lies, and what measured it. */
void result_add_source(const struct recorded *recorded, const char *path, struct doc *doc);

/* All of it as GitHub's Markdown. */
void result_print_markdown(const struct recorded *recorded, const char *path, FILE *out);

#endif
