/* A tune as tables: the search, and its fresh rounds. */
#ifndef CONTEND_SHOW_TUNE_H
#define CONTEND_SHOW_TUNE_H

#include "harness/record/analysis.h"
#include "harness/show/doc.h"

void tune_add_to_doc(const struct analysis *analysis, struct doc *doc);

#endif
