/* The findings of `contend doctor`, as JSON. */
#ifndef CONTEND_DOCTOR_DOCTOR_JSON_H
#define CONTEND_DOCTOR_DOCTOR_JSON_H

#include <jansson.h>

#include "harness/doctor/checks/check.h"
#include "harness/doctor/checks/live.h"
#include "harness/doctor/metric.h"

/*
 * {"schema": 1, "contend", "watched_s", "own_cpu_share", "unread", "processes": [{"pid", "parent",
 * "name", "threads", "cpu_s", "wait_s", "cpus"}], "findings": [...]}: findings as in all output,
 * with "check" (its number), "cost" (a share of 1, or null), "gain", "gain_most",
 * "gain_at_least" and "pids".
 * NULL: out of memory. The caller owns it.
 */
json_t *doctor_to_json(const struct view *view, const struct diagnosis *diagnosis,
                       const char *unread);

/*
 * The value of "verify": {"tried", "command", "verdict": "proven"|"none"|"unclear", "gain", "low",
 * "high", "before", "after", "unit", "kept", "pairs": [{"before", "after"}], "others": [{"pid",
 * "name", "uid", "cpus_before", "cpus_after"}]}; "tried" and "verdict" are null if nothing was
 * tried. NULL: out of memory. The caller owns it.
 */
json_t *trial_to_json(const struct trial *trial);

/*
 * Reads the foreground workers of a plan that `contend place --json` wrote; free .workers, also
 * after an error. The file's name is borrowed. -EINVAL: the message says what is wrong.
 */
int doctor_plan_read(const char *file, struct view_plan *plan, struct err *err);

/* Workers right now (check/live.h), as JSON. */

/*
 * {"schema": 1, "contend", "interval_s", "cpus", "busy", "steal", "load", "pressure",
 * "own_cpu_share", "workers": [{"pid", "name", "processes", "threads", "oncpu", "queue", "blocked",
 * "because", "migrations", "throttled", "gpu_busy", "cpus", "used": {"CPU": share}}]}. oncpu, queue
 * and blocked are in CPUs: seconds per second; null = unknown. NULL: out of memory. The caller owns
 * it.
 */
json_t *live_to_json(const struct live *live);

#endif
