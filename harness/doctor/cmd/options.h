/* What `contend doctor` and `contend top` take. The core has it, too, for help and completion. */
#ifndef CONTEND_DOCTOR_CMD_OPTIONS_H
#define CONTEND_DOCTOR_CMD_OPTIONS_H

#include "harness/cmd/common/cmd.h"
#include "harness/doctor/cmd/doctor_apply.h"
#include "harness/doctor/cmd/doctor_verify.h"

struct doctor_args {
    struct opt_texts pids;
    bool all, gpu_procs, json, markdown, list, apply, undo;
    struct doctor_apply_options applied;
    struct doctor_verify_options verify;
    double watch_s;
    const char *root;
};

struct top_args {
    struct opt_texts pids;
    bool all, gpu_procs, once, json;
    double interval_s;
    int64_t count;
};

cmd_main top_main;

#endif
