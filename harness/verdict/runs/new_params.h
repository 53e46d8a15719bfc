/*
 * Parameters of benchmarks that some runs have and others, of another version of contend, lack:
 * rows in which such a parameter is at its default are of the same as rows without it. Pure.
 */
#ifndef CONTEND_VERDICT_RUNS_NEW_PARAMS_H
#define CONTEND_VERDICT_RUNS_NEW_PARAMS_H

#include "harness/verdict/runs/pairing.h"

/*
 * Sets the params by which rows are paired, as pairing.h has them: without the parameters that
 * other runs of the benchmark lack, where they are at their default. Of a parameter that this
 * version does not have either, its only value counts as that. The rows of a run are neighbours.
 * -ENOMEM only.
 */
int new_params_leave_out(struct pairing *pairing, struct err *err);

/*
 * "base lacks 'step' of fake: compared where new has its default, 0.01; ...", of base and new as
 * `sides` calls them; "" = none. Returns buf.
 */
char *new_params_say(const struct pairing *pairing, const struct pairing_runs sides[PAIRING_SIDES],
                     char *buf, size_t size);

/*
 * The params column without what this version has by default, for series over versions and fleets:
 * runs without a parameter are of the same as those that have its default. `opts`: of the
 * benchmark, NULL = not known. Returns buf.
 */
char *new_params_without_defaults(const struct opt *opts, const char *params, char *buf,
                                  size_t size);

#endif
