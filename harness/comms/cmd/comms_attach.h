/* `contend comms --attach PID` and `--all`: a job that runs, by NCCL's RAS service. */
#ifndef CONTEND_COMMS_CMD_COMMS_ATTACH_H
#define CONTEND_COMMS_CMD_COMMS_ATTACH_H

#include "harness/comms/cmd/options.h"

/* Returns the exit code: 1 where something is wrong with the job. */
int comms_attach(const struct comms_args *args);

#endif
