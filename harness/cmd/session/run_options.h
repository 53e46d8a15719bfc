/* The options of `contend run`, `bench`, `ab` and `tune`. */
#ifndef CONTEND_CMD_SESSION_RUN_OPTIONS_H
#define CONTEND_CMD_SESSION_RUN_OPTIONS_H

#include "harness/engine/setup.h"
#include "harness/lib/opt.h"

/* Tables for a struct run_options. */
extern const struct opt run_option_table[], bench_option_table[], ab_option_table[],
    tune_option_table[];

#endif
