/* `contend run --dry-run`: the plans and the expected time, with nothing started. */
#ifndef CONTEND_CMD_SESSION_RUN_DRY_H
#define CONTEND_CMD_SESSION_RUN_DRY_H

#include <stdbool.h>

#include "harness/engine/run/setup.h"

/* Prints to stdout. Returns the exit code. */
int run_dry_print(const struct run_setup *setup, bool json);

#endif
