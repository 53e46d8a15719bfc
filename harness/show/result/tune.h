/* A tune as tables: the search, and its fresh rounds. */
#ifndef CONTEND_SHOW_RESULT_TUNE_H
#define CONTEND_SHOW_RESULT_TUNE_H

#include "harness/rows/analysis.h"
#include "harness/show/doc/doc.h"

void tune_add_to_doc(const struct analysis *analysis, struct doc *doc);

#endif
