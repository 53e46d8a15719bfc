/* A GPU's health as JSON, as in `contend info --json` and in run.json. */
#ifndef CONTEND_STORE_JSON_HEALTH_H
#define CONTEND_STORE_JSON_HEALTH_H

#include <jansson.h>

#include "harness/machine/gpu/health.h"

/*
 * {"pcie": {"generation", "generation_link", "generation_gpu", "width", "width_max"},
 *  "nvlink": {"links", "active", "version"},
 *  "ecc": {"on", "on_after_reset", "corrected", "uncorrected", "corrected_life",
 *          "uncorrected_life"},
 *  "memory": {"rows_corrected", "rows_uncorrected", "rows_pending", "rows_failed",
 *             "pages_pending"},
 *  "persistence", "compute_mode",
 *  "mig": {"on", "on_after_reset", "count", "instances": [{"name", "uuid"}]},
 *  "processes": {"count", "list": [{"pid", "name", "memory_bytes"}]},
 *  "clock_mhz", "clock_max_mhz", "memory_clock_mhz", "power_w", "power_limit_w",
 *  "power_limit_default_w", "temperature_c",
 *  "findings": as findings_to_json, of `subject`}
 * Unknown is null; null alone for NULL. NULL: no memory. The caller owns the result.
 */
json_t *gpu_health_to_json(const struct gpu_health *health, const char *subject);

#endif
