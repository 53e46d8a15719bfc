/* How much of their speed ranks keep under a background load. */
#ifndef CONTEND_SHOW_RESULT_RETENTION_H
#define CONTEND_SHOW_RESULT_RETENTION_H

#include "harness/rows/analysis.h"
#include "harness/show/doc/doc.h"

/*
 * Where the run has rows of `retention`: for each idle team a table with one line a size (or
 * whatever the keys are), and for each placement under load the value and the share that was kept.
 */
void retention_add_to_doc(const struct analysis *analysis, struct doc *doc);

#endif
