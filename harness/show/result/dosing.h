/* The throughput that each placement keeps under each dose of contention, as a table. */
#ifndef CONTEND_SHOW_RESULT_DOSING_H
#define CONTEND_SHOW_RESULT_DOSING_H

#include "harness/rows/analysis.h"
#include "harness/show/doc/doc.h"

void dosing_add_to_doc(const struct analysis *analysis, struct doc *doc);

#endif
