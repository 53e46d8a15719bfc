/*
 * Bounds as a file: JSON with a line a figure, sorted, which a person can read, change and keep
 * in a repository.
 *
 *   {"schema": "contend-bounds", "schema_version": 1, "kind": "2 x ..., 8 x NVIDIA H200",
 *    "machines": 98, "made": "2026-11-22T13:00:00Z", "how": "...",
 *    "left_out": [{"machine": "node17", "reason": "..."}],
 *    "bounds": [{"metric": "device_bandwidth", "reference": 4020, "lower": 3618, "upper": 4467,
 *                "unit": "GB/s", "better": "higher", "required": true, "spread": 0.012,
 *                "machines": 98, "scenario": ..., and the other columns of rows.csv}]}
 *
 * lower and upper may be null, or not there: no bound. spread, machines and required too: unknown,
 * and false. kind "": of any kind.
 */
#ifndef CONTEND_VALIDATE_FILES_BOUNDS_FILE_H
#define CONTEND_VALIDATE_FILES_BOUNDS_FILE_H

#include <time.h>

#include "harness/validate/fleet/bounds.h"

enum { BOUNDS_SCHEMA_VERSION = 1 };

/* Makes the file, which must not be there yet: -EEXIST. Errors name the path. */
int bounds_file_write(const char *path, const struct bounds *bounds, time_t made, struct err *err);

/*
 * Errors: what reading gives, and -EINVAL with file and line: no JSON, another schema, a name that
 * is not known or stands twice, what is no number, no unit, bounds the wrong way round, a figure
 * that is there twice. Free with bounds_free, also after an error.
 */
int bounds_file_read(const char *path, struct bounds *bounds, struct err *err);

#endif
