/* How much of their speed ranks keep under a background load, as tables. */
#ifndef CONTEND_SHOW_RETENTION_H
#define CONTEND_SHOW_RETENTION_H

#include "harness/record/analysis.h"
#include "harness/show/doc.h"

/*
 * For a run with rows of `retention`: for each idle team (the ranks without the load) a table with
 * one line per size or other key, and per placement under load the value and the share kept.
 */
void retention_add_to_doc(const struct analysis *analysis, struct doc *doc);

#endif
