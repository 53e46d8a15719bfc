/* How long, and how often, the arms of a run are measured. Pure. */
#ifndef CONTEND_ENGINE_RUN_TIMES_H
#define CONTEND_ENGINE_RUN_TIMES_H

#include "harness/engine/run/setup.h"

/* Into config, rounds and expected_s of the setup, whose arms are there. */
void times_set(const struct run_options *options, struct run_setup *setup);

#endif
