/* Published incidents; one file each, and one line here. */
#ifndef CONTEND_BENCH_INCIDENTS_INCIDENTS_H
#define CONTEND_BENCH_INCIDENTS_INCIDENTS_H

#include "harness/engine/contract/incident.h"

/* The parts of a scenario with a single part. */
#define INCIDENT_PART(...) ((const struct scenario_part[]){{__VA_ARGS__}, {.foreground = NULL}})

/* clang-format off */
#define INCIDENTS(INCIDENT) \
    INCIDENT(thread_per_cpu) \
    INCIDENT(cpuset_team) \
    INCIDENT(quota_team) \
    INCIDENT(quota_serving) \
    INCIDENT(spin_barrier) \
    INCIDENT(spin_two_vcpus) \
    INCIDENT(weight_load) \
    INCIDENT(unbound_ranks) \
    INCIDENT(shared_core) \
    INCIDENT(loader_mask) \
    INCIDENT(interpreter_lock) \
    INCIDENT(thread_loaders) \
    INCIDENT(cpu_not_disk) \
    INCIDENT(spin_for_gpu) \
    INCIDENT(steal) \
    INCIDENT(harmful_cure)
/* clang-format on */

#define INCIDENT(name) extern const struct incident incident_##name;
INCIDENTS(INCIDENT)
#undef INCIDENT

/* Ends with NULL. */
extern const struct incident *const incident_registry[];

#endif
