/* Published incidents; one file each, and one line here. */
#ifndef CONTEND_BENCH_INCIDENTS_INCIDENTS_H
#define CONTEND_BENCH_INCIDENTS_INCIDENTS_H

#include "harness/engine/contract/scenario.h"

/* The parts of a scenario with a single part. */
#define INCIDENT_PART(...) ((const struct scenario_part[]){{__VA_ARGS__}, {.foreground = NULL}})

/* Ends with NULL. */
extern const struct incident *const incident_registry[];

#endif
