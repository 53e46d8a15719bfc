/*
 * A file of bounds: JSON with a line per figure, sorted, so that a person can read it, change it,
 * and keep it in a repository.
 *
 *   {"schema": "contend-bounds", "schema_version": 1, "kind": "2 x ..., 8 x NVIDIA H200",
 *    "machines": 98, "made": "2026-11-22T13:00:00Z", "how": "...",
 *    "left_out": [{"machine": "node17", "reason": "..."}],
 *    "bounds": [{"metric": "device_bandwidth", "reference": 4020, "lower": 3618, "upper": 4467,
 *                "unit": "GB/s", "better": "higher", "required": true, "spread": 0.012,
 *                "machines": 98, "scenario": ..., and the other columns of rows.csv}]}
 *
 * lower and upper may be null or missing: no bound. spread and machines may be missing: unknown; a
 * missing required is false. kind "" means any kind.
 */
#ifndef CONTEND_VALIDATE_FILES_H
#define CONTEND_VALIDATE_FILES_H

#include <time.h>

#include "harness/validate/bounds.h"

enum { BOUNDS_SCHEMA_VERSION = 1 };

/* Creates the file; -EEXIST if it exists. Errors name the path. */
int bounds_file_write(const char *path, const struct bounds *bounds, time_t made, struct err *err);

/*
 * Errors: those of reading, and -EINVAL with file and line: invalid JSON, another schema, a name
 * that is unknown or occurs twice, not a number, no unit, lower above upper, or a figure that
 * occurs twice. Free with bounds_free, also after an error.
 */
int bounds_file_read(const char *path, struct bounds *bounds, struct err *err);

#endif
