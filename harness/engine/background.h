/* Load beside the workers of all arms: a background benchmark, or the one that applies doses. */
#ifndef CONTEND_ENGINE_BACKGROUND_H
#define CONTEND_ENGINE_BACKGROUND_H

#include "harness/engine/setup.h"

/* Sets the background: the user's, else the scenario's; none with --dose. *workers: its number of
 * workers, unchanged if there is no background. */
int background_set(const struct bench *const *benches, const struct run_options *options,
                   struct run_setup *setup, unsigned *workers, struct err *err);

/* Parses --dose for all arms. With options->arrange, where each arm has its own dose, *dose is the
 * first of the list. */
int background_parse_dose(const struct run_options *options, struct dose *dose, struct err *err);

/* If an arm has a dose, sets the benchmark that applies doses as the background. */
int background_set_dose(const struct bench *const *benches, struct result *result, struct err *err);

/* -ENOTSUP: a dose of h2d, and the run has no GPU; after its device is chosen. */
int background_check_dose(const struct dose *dose, const struct result *result, struct err *err);

#endif
