/* What a machine has, as several files of rules count it. Pure. */
#ifndef CONTEND_VALIDATE_RULES_COUNT_H
#define CONTEND_VALIDATE_RULES_COUNT_H

#include "harness/machine/facts.h"
#include "harness/validate/rules/limit.h"

/* NaN: the bus cannot be read. */
double count_devices(const struct facts *facts, enum facts_kind kind);

/* For struct number; the unit is any of the machine. */
double count_gpus_of_driver(const struct unit *unit);
double count_cpus_of_machine(const struct unit *unit);

#endif
