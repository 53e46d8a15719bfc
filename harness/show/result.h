/* A result of any kind, as read back from its directory. */
#ifndef CONTEND_SHOW_RESULT_H
#define CONTEND_SHOW_RESULT_H

#include "harness/record/analysis.h"
#include "harness/show/doc.h"
#include "harness/show/json/recorded.h"
#include "harness/verdict/incidents.h"
#include "harness/verdict/verdict.h"

/* Adds the title and the tables; for an ab those of its variants. */
void result_add_tables(const struct recorded *recorded, struct doc *doc);

/* Adds the verdict and its command, the tables (for an ab the comparisons), and other findings. */
void result_add_to_doc(const struct recorded *recorded, struct doc *doc);

/* Adds the path of the result, and the version that measured it. */
void result_add_source(const struct recorded *recorded, const char *path, struct doc *doc);

/* Prints everything as GitHub's Markdown. */
void result_print_markdown(const struct recorded *recorded, const char *path, FILE *out);

/* A tune as tables: the search, and its fresh rounds. */
void tune_add_to_doc(const struct analysis *analysis, struct doc *doc);

/* The outcomes of several scenarios. */
void collection_add_to_doc(const struct collection *collection, struct doc *doc);

/* Prints the outcomes at 80 columns. */
void collection_print(const struct collection *collection, FILE *out, bool color);

/* The outcomes of incidents, as blocks. */

/* Adds the verdict and a table with a line per incident; for a single one its report instead. */
void incidents_add_to_doc(const struct incident_outcome *all, size_t n, struct doc *doc);

#endif
