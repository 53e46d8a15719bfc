/* The throughput that each placement keeps under each dose of contention, as a table. */
#ifndef CONTEND_SHOW_DOSING_H
#define CONTEND_SHOW_DOSING_H

#include "harness/record/analysis.h"
#include "harness/show/doc.h"

void dosing_add_to_doc(const struct analysis *analysis, struct doc *doc);

#endif
