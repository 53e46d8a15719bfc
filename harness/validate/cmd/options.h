/* What `contend validate` and `contend baseline` take. The core has it, too, for help and
 * completion.
 */
#ifndef CONTEND_VALIDATE_CMD_OPTIONS_H
#define CONTEND_VALIDATE_CMD_OPTIONS_H

#include "harness/cmd/common/cmd.h"
#include "harness/validate/cmd/validate_outputs.h"

/* The names of enum probes_level; ends with NULL. */
extern const char *const validate_levels[];

struct validate_args {
    int level;
    double max_time_s;
    const char *only, *require, *expect, *waivers, *root;
    const char *baseline, *plots;
    bool no_measure, strict, all, list, markdown, json, results;
    struct validate_outputs outputs;
};

struct baseline_options {
    const char *out;
};

cmd_main baseline_main;

#endif
