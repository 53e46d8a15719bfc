/* How long, and how often, the arms of a run are measured. Pure. */
#ifndef CONTEND_ENGINE_TIMES_H
#define CONTEND_ENGINE_TIMES_H

#include "harness/engine/setup.h"

/* Sets config, rounds and expected_s of the setup, after its arms were added. */
void times_set(const struct run_options *options, struct run_setup *setup);

/*
 * Controls: additional arms that show the state of the machine itself. They run the benchmarks
 * `canary` and `gpu_canary`, if the program has them, once a round each.
 */

/*
 * Appends the controls after the planned arms. There are none if the user wants none, in an ab, in
 * a job of several ranks (all ranks would have to take part), and of a benchmark that the run
 * measures anyway. gpu_canary has one worker for each GPU that the arms use.
 */
int controls_add(const struct bench *const *benches, const struct run_options *options,
                 const struct topo *topo, struct result *result, struct err *err);

/* The controls' time in a round, s, for estimates. */
double controls_seconds(const struct result *result);

/* Load beside the workers of all arms: a background benchmark, or the one that applies doses. */

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
