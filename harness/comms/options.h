/* The options of `contend comms`. The core links them too, for help and completion. */
#ifndef CONTEND_COMMS_OPTIONS_H
#define CONTEND_COMMS_OPTIONS_H

#include "harness/cmd/common/cmd.h"

struct comms_args {
    const char *read, *out;
    double last_s; /* 0 = all */
    bool json, no_timing, verbose;
};

#endif
