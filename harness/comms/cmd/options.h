/* What `contend comms` takes. The core has it, too, for help and completion. */
#ifndef CONTEND_COMMS_CMD_OPTIONS_H
#define CONTEND_COMMS_CMD_OPTIONS_H

#include "harness/cmd/common/cmd.h"

struct comms_args {
    const char *read, *out, *attach;
    double seconds;
    bool all, json, no_timing, copies;
};

#endif
