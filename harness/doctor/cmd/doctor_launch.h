/* A job that is started to be measured, with all that it starts; it ends when we do. */
#ifndef CONTEND_DOCTOR_CMD_DOCTOR_LAUNCH_H
#define CONTEND_DOCTOR_CMD_DOCTOR_LAUNCH_H

#include <stdbool.h>

#include "harness/doctor/check/cure.h"
#include "harness/lib/base/err.h"
#include "harness/lib/sys/process.h"

/* Zeroed = none. */
struct doctor_launch {
    struct process process; /* ours, above the job: who ends it when we are killed */
};

/* A shell runs the line; cure: what is set for it, or NULL. It prints to that descriptor. */
int doctor_launch_begin(const char *line, struct cure *cure, int output_fd,
                        struct doctor_launch *launch, struct err *err);

bool doctor_launch_runs(const struct doctor_launch *launch);

/* SIGTERM, and SIGKILL for who is there some seconds later. */
void doctor_launch_end(struct doctor_launch *launch);

#endif
