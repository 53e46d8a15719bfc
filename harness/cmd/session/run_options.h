/* The options of `contend run`, `bench`, `ab`, `tune` and `predict`. */
#ifndef CONTEND_CMD_SESSION_RUN_OPTIONS_H
#define CONTEND_CMD_SESSION_RUN_OPTIONS_H

#include <stdbool.h>

#include "harness/engine/setup.h"
#include "harness/lib/opt.h"

/* Tables for a struct run_options. */
extern const struct opt run_option_table[], bench_option_table[], ab_option_table[],
    tune_option_table[], predict_option_table[];

/* What a run will do, before it starts: `contend run --dry-run`, and whether it can begin. */
enum { RUN_DRY_REASON = 200 };

/* True if this machine can run no arm of it; `reason` says why. */
bool run_dry_is_nothing(const struct run_setup *setup, const struct run_options *options,
                        char reason[static RUN_DRY_REASON]);

/*
 * Prints the plan and the expected time to stdout. If this machine can run no arm, logs a warning
 * and sets the expected time to 0. Returns the exit code.
 */
int run_dry_print(struct run_setup *setup, const struct run_options *options);

#endif
