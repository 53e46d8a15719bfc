/* Workers right now (check/live.h), as JSON. */
#ifndef CONTEND_DOCTOR_LIVE_H
#define CONTEND_DOCTOR_LIVE_H

#include <jansson.h>

#include "harness/doctor/checks/live.h"

/*
 * {"schema": 1, "contend", "interval_s", "cpus", "busy", "steal", "load", "pressure",
 * "own_cpu_share", "workers": [{"pid", "name", "processes", "threads", "oncpu", "queue", "blocked",
 * "because", "migrations", "throttled", "gpu_busy", "cpus", "used": {"CPU": share}}]}. oncpu, queue
 * and blocked are in CPUs: seconds per second; null = unknown. NULL: out of memory. The caller owns
 * it.
 */
json_t *live_to_json(const struct live *live);

#endif
