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

#include "harness/lib/err.h"
#include "harness/validate/bounds.h"
#include "harness/validate/rules/machine.h"
#include "harness/validate/rules/rules.h"

enum { BOUNDS_SCHEMA_VERSION = 1 };

/* Creates the file; -EEXIST if it exists. Errors name the path. */
int bounds_file_write(const char *path, const struct bounds *bounds, time_t made, struct err *err);

/*
 * Errors: those of reading, and -EINVAL with file and line: invalid JSON, another schema, a name
 * that is unknown or occurs twice, not a number, no unit, lower above upper, or a figure that
 * occurs twice. Free with bounds_free, also after an error.
 */
int bounds_file_read(const char *path, struct bounds *bounds, struct err *err);

/* A file of waivers: [{"rule": "nvlinks", "unit": "GPU 2", "reason": "12 by design", "until":
 * "2026-12-31"}]. Without a unit, a waiver is for all units. */

/*
 * Free *waivers with waivers_free, also after an error. -EINVAL says what is wrong, by file and
 * line; also -ENOMEM, and errors of reading.
 */
int waivers_read(const char *path, struct waivers *waivers, struct err *err);
void waivers_free(struct waivers *waivers);

/*
 * A file for a kind of machine: what the machine has and how fast it should be, each with a source.
 *
 *   {"schema": "contend-machine", "schema_version": 1, "about": "H100 SXM5, 80 GB", "gpus": true,
 *    "expect": "nvswitches=4",
 *    "facts": [
 *      {"fact": "gpu_name", "has": "H100 80GB HBM3", "source": "nvidia-smi"},
 *      {"fact": "nvlinks", "least": 18, "gpus": 2, "source": "data sheet"},
 *      {"measured": "gpu_copy", "metric": "copy_bandwidth", "key": "dir=h2d;with=alone",
 *       "least": 50, "unit": "GB/s", "source": "results/h100-vm"}]}
 *
 * A fact has a text (has) or a number (least, most or both). "gpus" of a fact: it applies to
 * machines with at least that many GPUs. "gpus" of the file: true if the machine's name gives the
 * number of GPUs, as in 8xh100-sxm; otherwise `expect` gives it.
 */
enum { MACHINE_SCHEMA_VERSION = 1 };

/* Splits "8xh100-sxm" into 8 and "h100-sxm"; without such a number, 0 and `name` itself. */
unsigned machine_name_split(const char *name, const char **file);

/*
 * Reads the file for a machine with `gpus` GPUs; the caller sets kind->name. -EINVAL says what is
 * wrong, by file and line: no such fact or measurement, neither text nor number, no source, or a
 * number of GPUs that is missing or not allowed. Also -ENOMEM, and errors of reading.
 */
int machine_file_read(const char *path, unsigned gpus, struct machine_kind *kind, struct err *err);

#endif
