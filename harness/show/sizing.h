/* Throughput over the number of cores per worker, as a table. */
#ifndef CONTEND_SHOW_SIZING_H
#define CONTEND_SHOW_SIZING_H

#include "harness/record/analysis.h"
#include "harness/show/doc.h"

void sizing_add_to_doc(const struct analysis *analysis, struct doc *doc);

#endif
