/* Options of `contend doctor`. The core program has them too, for help and completion. */
#ifndef CONTEND_DOCTOR_OPTIONS_H
#define CONTEND_DOCTOR_OPTIONS_H

#include "harness/cmd/common/cmd.h"
#include "harness/doctor/doctor_apply.h"
#include "harness/doctor/doctor_verify.h"

struct doctor_args {
    struct opt_texts pids;
    bool all, gpu_procs, json, markdown, list, apply, undo, live;
    int64_t looks; /* updates; 0 = until the user ends it */
    struct doctor_apply_options applied;
    struct doctor_verify_options verify;
    double look_s;    /* 0 = the default */
    const char *plan; /* file; NULL = none to keep */
    const char *root;
};

/* `contend doctor --live`. Returns the exit code. */
int doctor_live(const struct doctor_args *args);

#endif
