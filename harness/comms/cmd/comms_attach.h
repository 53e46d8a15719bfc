/* `contend comms --attach PID` and `--all`: a job that runs, by NCCL's RAS service. */
#ifndef CONTEND_COMMS_CMD_COMMS_ATTACH_H
#define CONTEND_COMMS_CMD_COMMS_ATTACH_H

#include <stdbool.h>

struct comms_attach_args {
    const char *pid; /* of a process of the job, or NULL = whatever the service tells of */
    double seconds;  /* between two looks */
    bool json;
};

/* Returns the exit code: 1 where something is wrong with the job. */
int comms_attach(const struct comms_attach_args *args);

#endif
