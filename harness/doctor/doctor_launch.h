/* Starts a job to measure it. The job and its descendants end when contend does. */
#ifndef CONTEND_DOCTOR_DOCTOR_LAUNCH_H
#define CONTEND_DOCTOR_DOCTOR_LAUNCH_H

#include <stdbool.h>

#include "harness/doctor/checks/env_changes.h"
#include "harness/lib/err.h"
#include "harness/lib/sys/process.h"

/* Zeroed = none. */
struct doctor_launch {
    struct process process; /* parent of the job: ends the job if contend is killed */
};

/* Runs `line` in a shell, with the settings of `env_changes` (or NULL). Output goes to `output_fd`.
 */
int doctor_launch_begin(const char *line, struct env_changes *env_changes, int output_fd,
                        struct doctor_launch *launch, struct err *err);

bool doctor_launch_runs(const struct doctor_launch *launch);

/* Sends SIGTERM to the job and its descendants, and SIGKILL 3 s later. */
void doctor_launch_end(struct doctor_launch *launch);

#endif
