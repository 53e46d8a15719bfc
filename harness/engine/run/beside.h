/* What runs beside the workers of all arms: a background load, or what gives them a dose. */
#ifndef CONTEND_ENGINE_RUN_BESIDE_H
#define CONTEND_ENGINE_RUN_BESIDE_H

#include "harness/engine/run/setup.h"

/* The user's load, or else the scenario's; none with --dose. *workers: how many of them. */
int beside_set_background(const struct bench *const *benches, const struct run_options *options,
                          struct run_setup *setup, unsigned *workers, struct err *err);

/* --dose, of all arms; of an arrangement, which gives each its own, the first of the list. */
int beside_parse_dose(const struct run_options *options, struct dose *dose, struct err *err);

/* The background is what gives doses, where an arm has one. */
int beside_set_dose(const struct bench *const *benches, struct result *result, struct err *err);

#endif
