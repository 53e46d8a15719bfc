/* `contend run --dry-run`: the plans and the expected time, with nothing started. */
#ifndef CONTEND_CMD_SESSION_RUN_DRY_H
#define CONTEND_CMD_SESSION_RUN_DRY_H

#include "harness/engine/run/setup.h"

/*
 * Prints to stdout, after a warning where this machine can measure nothing of it, which takes no
 * time. Returns the exit code.
 */
int run_dry_print(struct run_setup *setup, const struct run_options *options);

#endif
