/*
 * fingerprint.json, which `contend run fingerprint` writes and `compare` reads.
 *
 * {"schema": "contend-fingerprint", "schema_version": 1, "version", "host", "started",
 *  "machine": {"key", "kind", "cpu_model", "cpus", "gpu_model", "gpus"},
 *  "values": [{"part", "name", "kind": "rate" | "retention", "unit", "better": "higher" | "lower",
 *              "value", "low", "high", "rounds"}],
 *  "absent": [{"part", "name", "kind", "unit", "better", "reason"}]}
 */
#ifndef CONTEND_SHOW_JSON_FINGERPRINT_H
#define CONTEND_SHOW_JSON_FINGERPRINT_H

#include <jansson.h>

#include "harness/lib/err.h"
#include "harness/verdict/runs/fingerprint.h"

#define FINGERPRINT_NAME "fingerprint.json"

/* NULL: no memory. The caller owns it. */
json_t *fingerprint_to_json(const struct fingerprint *print, const char *version);

/* -EINVAL: it has another schema, or a newer version of it. */
int fingerprint_from_json(const json_t *json, struct fingerprint *print, struct err *err);

/* Whether the path is such a file, or a directory with one. */
bool fingerprint_is_at(const char *path);

/* Reads it; errors name the path. */
int fingerprint_read(const char *path, struct fingerprint *print, struct err *err);

/*
 * {"verdict": "same" | "another" | null, "text", "distance",
 *  "parts": [{"part", "values", "distance"}], the farthest first,
 *  "values": [{"part", "name", "unit", "a", "b", "ratio", "units"}]}: ratio is b relative to a,
 * above 1 is better; a value that one side lacks is null. NULL: no memory.
 */
json_t *fingerprint_distance_to_json(const struct fingerprint_distance *distance);

/* {"machines": [{"path", "host", "median": its distance from the median machine, as above}]}, the
 * farthest first. */
json_t *fingerprint_fleet_to_json(const struct fingerprint_machine *all, size_t n);

#endif
