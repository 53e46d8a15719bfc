/* A sizing in JSON: its curves, and what is enough. */
#ifndef CONTEND_STORE_FORMS_SIZING_H
#define CONTEND_STORE_FORMS_SIZING_H

#include <jansson.h>

#include "harness/rows/analysis.h"

/*
 * {"workers", "points": [{"cores", "alone", "all", "predicted", "error"}], "knee", "enough",
 * "knee_all", "enough_all", "median_error", "worst_error"}: rates of all workers together, counts
 * of cores; what is unknown is null. NULL: no memory. The caller owns the result.
 */
json_t *sizing_to_json(const struct analysis *analysis);

#endif
