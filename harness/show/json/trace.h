/*
 * An arm's first round as events of a trace that chrome://tracing and ui.perfetto.dev show: the
 * "Trace Event Format" of Chromium, complete events (ph X) and names (ph M), times in microseconds.
 *
 * Process 0 is the run, with one event per arm; 1 + N is worker N; TRACE_BACKGROUND + N is
 * background worker N. Thread 0 of a worker shows its steps, with their stages inside. Thread 1 + T
 * shows the CPUs that thread T of its team was sampled on (engine/contract/device.h), each up
 * to the next sample or for 20 ms. The stages of a step are drawn in sequence; each is the sum over
 * the iterations or blocks of the step.
 */
#ifndef CONTEND_SHOW_JSON_TRACE_H
#define CONTEND_SHOW_JSON_TRACE_H

#include <stdint.h>

#include "harness/engine/result.h"

enum { TRACE_BACKGROUND = 100000, TRACE_VISITS = 1 << 15 };

/*
 * Objects with a comma and a newline between them, none at the ends; times count from origin_ns.
 * The caller frees the text; NULL: no memory. Shows at most TRACE_VISITS CPU samples of a worker.
 */
char *trace_events(const struct result *result, const struct arm *arm,
                   const struct observation *observation, uint64_t origin_ns);

#endif
