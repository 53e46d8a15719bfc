/*
 * The command that `contend comms` watches, as if nobody did: it has our stdin, stdout and process
 * group, gets the signals that are sent to us, and goes on where we are killed.
 */
#ifndef CONTEND_COMMS_CMD_COMMS_CHILD_H
#define CONTEND_COMMS_CMD_COMMS_CHILD_H

#include <stdbool.h>

#include "harness/lib/base/err.h"

/* Its exit code, as a shell gives it, when it has ended; without *started after a line that says
 * why. < 0: there was no process for it. */
int comms_child_run(char **argv, bool *started, struct err *err);

#endif
