/*
 * An arm's first round as events of a trace that chrome://tracing and ui.perfetto.dev show: the
 * "Trace Event Format" of Chromium, complete events (ph X) and names (ph M), times in microseconds.
 *
 * Process 0 is the run, with an event an arm; 1 + N is worker N, TRACE_BACKGROUND + N one behind
 * them. Of a worker thread 0 has its steps, with their stages inside, and thread 1 + T which CPU
 * thread T of its team was seen on (contract/cpu_samples.h), up to its next mark or for 20 ms.
 * Stages of a step are drawn one behind the other, in their order: of several iterations or blocks
 * their sums.
 */
#ifndef CONTEND_STORE_FORMS_TRACE_H
#define CONTEND_STORE_FORMS_TRACE_H

#include <stdint.h>

#include "harness/engine/arms/result.h"

enum { TRACE_BACKGROUND = 100000, TRACE_VISITS = 1 << 15 };

/*
 * Objects with a comma and a newline between them, none at the ends; times count from origin_ns.
 * The caller frees it; NULL: no memory. At most TRACE_VISITS marks of a worker are told.
 */
char *trace_events(const struct result *result, const struct arm *arm,
                   const struct observation *observation, uint64_t origin_ns);

#endif
