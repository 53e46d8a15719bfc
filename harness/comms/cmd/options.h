/* The options of `contend comms`. The core links them too, for help and completion. */
#ifndef CONTEND_COMMS_CMD_OPTIONS_H
#define CONTEND_COMMS_CMD_OPTIONS_H

#include "harness/cmd/common/cmd.h"

struct comms_args {
    const char *read, *out, *attach;
    double seconds;
    bool all, json, no_timing, copies, verbose;
};

/* `contend comms --attach PID` and `--all`: a job that runs, by NCCL's RAS service. Returns the
 * exit code: 1 where something is wrong with the job. */
int comms_attach(const struct comms_args *args);

#endif
