/* JSON that single commands print. NULL: no memory. The caller owns what is returned. */
#ifndef CONTEND_SHOW_JSON_FORMS_H
#define CONTEND_SHOW_JSON_FORMS_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "harness/lib/err.h"
#include "harness/machine/topo.h"
#include "harness/record/analysis.h"
#include "harness/record/fingerprint.h"
#include "harness/verdict/runs/history.h"
#include "harness/verdict/symmetry.h"
#include "harness/verdict/verdict.h"

/*
 * {"host", "command", "started", "scenarios": [{"scenario", "status", "says": text | null,
 * "rounds", "rounds_planned", "took_s", "doubts", "bad", "rows": what `contend run --json` prints
 * for it | null}]}. `rows` is NULL, or has one entry per scenario, and is only read.
 */
json_t *collection_to_json(const struct collection *collection, json_t *const *rows);

/*
 * {"machine": key, "runs": [{"started", "run_id", "commit"}], "figures": [{"arm", "params",
 *  "metric", "unit", "better", "canary": bool, "runs": [number of the run, from 0], "values": [],
 *  "changes": [{"run", "ratio", "low", "high", "before", "after"}]}],
 *  "findings": as findings_to_json}
 * Call history_judge first.
 */
json_t *history_to_json(const struct history *history, const char *machine,
                        const struct findings *findings);

/*
 * [{"bench", "placement", "params", "metric", "unit", "better", "of": "gpu"|"rank"|"pair", "key",
 *   "units", "verdict": "none"|"alike"|"odd"|"two"|"split", "typical", "spread",
 *   "odd": [{"of", "id", "other", "pci_bdf", "value", "ratio", "z"}]}]
 * One object per comparison, with "power_limited": true if that is so; [] for NULL.
 */
json_t *symmetry_to_json(const struct symmetry *symmetry, const struct topo *topo);

/*
 * {"workers", "points": [{"cores", "alone", "all", "predicted", "error"}], "knee", "enough",
 * "knee_all", "enough_all", "median_error", "worst_error"}: rates are of all workers together; knee
 * and enough are numbers of cores; unknown is null.
 */
json_t *sizing_to_json(const struct analysis *analysis);

/*
 * {"unit", "one", "beta", "gamma", "gpu_share", "cells": [{"workers", "placement", "profile": bool,
 * "bound": bool, "rate", "low", "high", "limit", "times_one", "line", "measured", "error"}],
 * "drift", "verified", "inside", "bounds", "bounds_held", "median_error", "worst_error"}, as in
 * verdict/runs/predict.h: rates are of all workers together; of a bound, `rate` is the most.
 */
json_t *prediction_to_json(const struct analysis *analysis);

/*
 * {"kind", "workers", "curves": [{"placement", "points": [{"dose", "held", "rate", "retention",
 * "low", "high", "p99"}]}]}: doses are levels as dose_parse reads them; rates are of all workers
 * together; retention, and p99 of step times, are relative to no dose.
 */
json_t *dosing_to_json(const struct analysis *analysis);

/*
 * [{"setting", "fresh", "recommended", "placement", "workers", "threads", "passive", "rounds",
 * "rate", "unit", "reference", "of_best", "speed_up", "low", "high", "reason"}]: of_best is the
 * share of the leader's rate in the search; speed_up, low and high are of fresh rounds, relative to
 * the reference. Unknown is null.
 */
json_t *tune_to_json(const struct analysis *analysis);

struct list_entry {
    const char *name, *summary; /* borrowed */
    bool asked;                 /* it was checked whether it can run here */
    char not_here[300];         /* why it cannot run here; "" = it can */
};

struct list {
    const char *kind; /* "scenarios" */
    size_t n, capacity;
    struct list_entry *entries;
};

/* Adds "KIND": [{"name", "summary", "not_here": text | null}]; entries that were not `asked` have
 * no "not_here". */
void list_add_json(json_t *object, const struct list *lists, size_t n);

/*
 * fingerprint.json, which `contend run fingerprint` writes and `compare` reads.
 *
 * {"schema": "contend-fingerprint", "schema_version": 1, "version", "host", "started",
 *  "machine": {"key", "kind", "cpu_model", "cpus", "gpu_model", "gpus"},
 *  "values": [{"part", "name", "kind": "rate" | "retention", "unit", "better": "higher" | "lower",
 *              "value", "low", "high", "rounds"}],
 *  "absent": [{"part", "name", "kind", "unit", "better", "reason"}]}
 */

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
