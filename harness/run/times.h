/* How long, and how often, the arms of a run are measured. Pure. */
#ifndef CONTEND_RUN_TIMES_H
#define CONTEND_RUN_TIMES_H

#include "harness/run/setup.h"

/* Into config, rounds and expected_s of the setup, whose arms are there. */
void times_set(const struct run_options *options, struct run_setup *setup);

#endif
