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

/* A run of placements as tables, the worst placement first. */

/*
 * Adds a title; a table for each block (blocks.h), followed by its solo runs and by the metrics
 * that its arms emitted beside steps; a table over numbers of workers; and the values of scans.
 */
void run_add_to_doc(const struct analysis *analysis, struct doc *doc);

/* Tables of scans. */

/*
 * Adds a heading for each arm of a scan, and a table for each metric: one dimension along the
 * columns, the others down the lines. A table too wide for 80 columns is turned: the dimension goes
 * down the lines, and metrics with the same places share the table. If a metric has too many keys
 * for a table, such as pairs of CPUs, a sentence gives its least, median and largest value, and the
 * keys of the extremes.
 */
void scans_add_to_doc(const struct analysis *analysis, struct doc *doc);

/* How much of their speed ranks keep under a background load, as tables. */

/*
 * For a run with rows of `retention`: for each idle team (the ranks without the load) a table with
 * one line per size or other key, and per placement under load the value and the share kept.
 */
void retention_add_to_doc(const struct analysis *analysis, struct doc *doc);

#endif
