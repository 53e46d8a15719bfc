#include "bench/incidents/incidents.h"

#define INCIDENT(name) &incident_##name,
const struct incident *const incident_registry[] = {INCIDENTS(INCIDENT) NULL};
#undef INCIDENT
