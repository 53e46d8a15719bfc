/* Facts of a run before anything starts: `contend run --dry-run`, and whether a run can
 * begin. */
#ifndef CONTEND_CMD_SESSION_RUN_DRY_H
#define CONTEND_CMD_SESSION_RUN_DRY_H

#include <stdbool.h>

#include "harness/engine/run/setup.h"

enum { RUN_DRY_REASON = 200 };

/* Whether this machine can run nothing of it, and why. */
bool run_dry_is_nothing(const struct run_setup *setup, const struct run_options *options,
                        char reason[static RUN_DRY_REASON]);

/*
 * Prints to stdout, after a warning where this machine can measure nothing of it, which takes no
 * time. Returns the exit code.
 */
int run_dry_print(struct run_setup *setup, const struct run_options *options);

#endif
