/* Throughput over the number of cores per worker, as a table. */
#ifndef CONTEND_SHOW_RESULT_SIZING_H
#define CONTEND_SHOW_RESULT_SIZING_H

#include "harness/rows/analysis.h"
#include "harness/show/doc/doc.h"

void sizing_add_to_doc(const struct analysis *analysis, struct doc *doc);

#endif
