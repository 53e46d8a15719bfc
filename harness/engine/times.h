/* How long, and how often, the arms of a run are measured. Pure. */
#ifndef CONTEND_ENGINE_TIMES_H
#define CONTEND_ENGINE_TIMES_H

#include "harness/engine/setup.h"

/* Sets config, rounds and expected_s of the setup, after its arms were added. */
void times_set(const struct run_options *options, struct run_setup *setup);

#endif
