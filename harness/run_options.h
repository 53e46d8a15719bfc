/* What `contend run` and `contend bench` can be told on their command line. */
#ifndef CONTEND_RUN_OPTIONS_H
#define CONTEND_RUN_OPTIONS_H

#include "harness/core/opt.h"
#include "harness/run_setup.h"

/* Into a struct run_options. */
extern const struct opt run_option_table[];

#endif
